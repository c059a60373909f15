"""Registers, stack and spills of an NVIDIA kernel, from ptxas's log and from the cubin itself."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from kgen.compile.elf import headers, sections, text

_EIATTR_REGCOUNT = 0x2F
_EIATTR_FRAME_SIZE = 0x11
_EIFMT_SVAL = 4
_SHT_SYMTAB = 2

_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")


def read_ptxas_log(log: str) -> dict[str, int] | None:
    """`registers`, `stack_bytes`, `spill_store_bytes` and `spill_load_bytes` a thread from the log
    of `ptxas -v`.

    None if the log has none of them: Triton prints no log when it takes a kernel from its cache.
    """
    frame, registers = _FRAME.search(log), _REGISTERS.search(log)
    if frame is None or registers is None:
        return None
    stack, stores, loads = map(int, frame.groups())
    return {
        "registers": int(registers[1]),
        "stack_bytes": stack,
        "spill_store_bytes": stores,
        "spill_load_bytes": loads,
    }


def read_cubin(cubin: bytes, kernel: str) -> dict[str, int]:
    """`registers` and `stack_bytes` a thread of `kernel`, from the `.nv.info` section of its cubin.

    The section holds records (u8 format, u8 attribute, u16 size); in those of format EIFMT_SVAL and
    size 8 stand a symbol's index and a value. Names of formats and attributes are those that
    `cuobjdump -elf` prints. Raises ValueError if the cubin has no such records.
    """
    found = {}
    for name, content in sections(cubin):
        if name == ".nv.info":
            for attribute, symbol, value in _values(content):
                if _symbol_name(cubin, symbol) == kernel:
                    found[attribute] = value
    if _EIATTR_REGCOUNT not in found or _EIATTR_FRAME_SIZE not in found:
        raise ValueError(f"the cubin's .nv.info says nothing about registers and stack of {kernel}")
    return {
        "registers": found[_EIATTR_REGCOUNT],
        "stack_bytes": found[_EIATTR_FRAME_SIZE],
    }


def _values(info: bytes) -> Iterator[tuple[int, int, int]]:
    """(attribute, symbol index, value) of each record that has this shape."""
    at = 0
    while at + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == _EIFMT_SVAL:
            if size == 8:
                yield (attribute, *struct.unpack_from("<II", info, at))
            at += size


def _symbol_name(elf: bytes, index: int) -> str:
    found = headers(elf)
    symbols = next(h for h in found if h[1] == _SHT_SYMTAB)
    (name,) = struct.unpack_from("<I", elf, symbols[4] + index * 24)
    return text(elf, found[symbols[6]][4] + name)
