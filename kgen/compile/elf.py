"""Sections of the ELF file that a compiler made (cubin, hsaco), and the hash of its machine code."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

_SHT_NOBITS = 8
_CODE = (".text", ".nv.constant", ".nv.global.init", ".rodata")
"""What is executed and what it reads: instructions, constant banks, initialised memory, AMD's kernel descriptor."""


def code_sha256(elf: bytes) -> str:
    """The hash of machine code: of the contents of its sections, in hexadecimal.

    Names, symbols and lines are in other sections, so that a renamed kernel and a moved line change nothing.
    """
    state = hashlib.sha256()
    for name, content in sections(elf):
        if name.startswith(_CODE):
            kind = next(one for one in _CODE if name.startswith(one))
            state.update(f"{kind}:{len(content)}:".encode() + content)
    return state.hexdigest()


def headers(elf: bytes) -> list[tuple[int, ...]]:
    """Section headers of a 64-bit little-endian ELF file."""
    (start,) = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    return [struct.unpack_from("<IIQQQQIIQQ", elf, start + i * size) for i in range(count)]


def sections(elf: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and content of each section that the file holds."""
    found = headers(elf)
    (names,) = struct.unpack_from("<H", elf, 62)
    for header in found:
        if header[1] != _SHT_NOBITS:
            yield text(elf, found[names][4] + header[0]), elf[header[4] : header[4] + header[5]]


def text(elf: bytes, at: int) -> str:
    """The text that ends with a zero byte."""
    return elf[at : elf.index(b"\0", at)].decode()
