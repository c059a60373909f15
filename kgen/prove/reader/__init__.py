"""From TTIR to memory accesses: what a kernel reads and writes, where, and under which conditions."""

from kgen.prove.reader.machine import Reader
from kgen.prove.reader.record import Access, Barrier, Event, Loop, Need, Obstacle, Reading

__all__ = ["Access", "Barrier", "Event", "Loop", "Need", "Obstacle", "Reader", "Reading"]
