"""The levels of a comparison, one after the other: each is shown before the next, which takes longer, begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kgen.diff import source
from kgen.diff.keys import changes, literals
from kgen.diff.model import FileDiff, Measured, Side, Waves

if TYPE_CHECKING:
    from kgen.diff.consequence import Compiling
    from kgen.evidence.ledger import Entry


def between(name: str, a: Side | None, b: Side | None) -> FileDiff:
    """Spec and source."""
    if a is None or b is None:
        return FileDiff(name, a, b)
    return FileDiff(name, a, b, changes(a, b), source.compare(a, b, literals(a, b)))


def with_consequence(
    found: FileDiff, how: Compiling, receipts: Callable[[], Sequence[Entry] | None]
) -> FileDiff:
    """The same with what it comes to; `receipts` gives those of the ledger, or None where there is none."""
    if found.source is None:
        return found
    from kgen.diff.consequence import consequence

    core = found.source.core_differs
    done = replace(found, consequence=consequence(found.a, found.b, core, how))
    if not core:
        return done
    return replace(done, waves=_waves(found), measured=_measured(found, receipts()))


def _measured(found: FileDiff, receipts: Sequence[Entry] | None) -> tuple[Measured, ...] | None:
    """What receipts say; None where there are none, or nothing that computes intervals."""
    if receipts is None or find_spec("scipy") is None:
        return None
    from kgen.diff.measured import measured

    return measured(found.a, found.b, receipts)


def _waves(found: FileDiff) -> tuple[Waves, ...]:
    """Waves that differ; none are estimated without torch, which knows a family's workloads."""
    if find_spec("torch") is None:
        return ()
    from kgen.diff.waves import waves

    renamed = {one.old: one.new for one in found.source.functions if one.kind == "renamed"}
    return waves(found.a, found.b, renamed)
