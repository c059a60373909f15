"""AMD assembly to control flow: which instructions touch global memory, and what orders them.

What orders what on gfx942 is in LLVM's "User Guide for AMDGPU Backend", section "Memory Model
gfx942". Addresses are not followed: every access may be to any tensor.
"""

from __future__ import annotations

import re

from kgen.prove.assembly.flow import Builder, Flow, Kind, Step

_COMMENT = re.compile(r";[^\n]*")
_GLOBAL = re.compile(r"\s*\.globl\s+(\S+)")
_LABEL = re.compile(r"([.\w$]+):")
_ACCESS = re.compile(r"(?:global|buffer|flat|s_buffer|s)_(load|store|atomic)_")
_DRAINED = re.compile(r"vmcnt\(0\)")


def read_amdgcn(text: str) -> Flow:
    """The flow of the kernel of an AMD assembly file. Raises ValueError where it names none."""
    named = _GLOBAL.search(text)
    if named is None:
        raise ValueError("the assembly has no .globl line that names a kernel")
    builder = Builder(named[1], completes=False)
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        statement = _COMMENT.sub("", line).strip()
        label = _LABEL.match(statement)
        if label is not None:
            inside = inside or label[1] == named[1]
            builder.label(label[1])
        elif inside and statement.startswith((".section", ".end_amdgcn", ".amdgpu_metadata")):
            break
        elif inside and statement and not statement.startswith("."):
            _read(builder, number, statement)
    return builder.flow()


def _read(builder: Builder, line: int, statement: str) -> None:
    text = " ".join(statement.split())
    words = text.split()
    opcode = words[0]
    if opcode == "s_branch":
        builder.jump(line, text, [words[1]], conditional=False)
    elif opcode.startswith("s_cbranch"):
        builder.jump(line, text, [words[1]], conditional=True)
    elif opcode == "s_endpgm":
        builder.add(Step(Kind.END, line, text))
    elif opcode in ("s_setpc_b64", "s_swappc_b64"):
        builder.problem = f"line {line}: {text} jumps to where a register says"
    elif (kind := _kind(opcode, words)) is not None:
        builder.add(Step(kind, line, text, semantics=frozenset(words[1:])))


def _kind(opcode: str, words: list[str]) -> Kind | None:
    access = _ACCESS.match(opcode)
    if access is not None:
        return {"load": Kind.LOAD, "store": Kind.STORE, "atomic": Kind.ATOMIC}[access[1]]
    if opcode == "s_barrier":
        return Kind.BARRIER
    if opcode == "buffer_wbl2" and "sc1" in words:
        return Kind.RELEASE
    if opcode == "buffer_inv" and "sc1" in words:
        return Kind.ACQUIRE
    return Kind.DRAIN if opcode == "s_waitcnt" and _DRAINED.search(" ".join(words)) else None
