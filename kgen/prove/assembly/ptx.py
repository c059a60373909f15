"""PTX to control flow: which instructions touch global memory, and what orders them.

Instructions and their memory model are those of NVIDIA's "Parallel Thread Execution ISA", chapters
8 and 9.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgen.prove.assembly.flow import Builder, Flow, Kind, Step
from kgen.prove.assembly.registers import Registers

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{]*)\{")
_POINTER = re.compile(r"\.param\s+\.[ub]64\s+\.ptr\b[^,]*?([\w$]+)\s*(?:,|$)")
_THREADS = re.compile(r"\.reqntid\s+([\d,\s]+)")
_NO_STATEMENT = re.compile(r"^[ \t]*\.(?:loc|file|section|pragma)\b[^\n]*", re.M)
_COMMENT = re.compile(r"//[^\n]*")
_PART = re.compile(
    r"\s*(?:(?P<open>\{)|(?P<close>\})|(?P<label>[$%\w]+):(?!:)"
    r"|(?P<text>[^;{}]*(?:\{[^{}]*\}[^;{}]*)*);)"
)
_INSTRUCTION = re.compile(
    r"(?:(?P<guard>@!?%?[\w$]+)\s+)?(?P<opcode>[a-z][\w.:]*)\s*(?P<operands>.*)", re.S
)
_OPERAND = re.compile(r"\s*((?:\[[^\]]*\]|\{[^{}]*\}|[^,\[\]{}])+)\s*(?:,|$)")
_SPACES = ("shared", "local", "param", "const")
_WIDE = ("gpu", "sys")
_JUMPS = ("bra", "ret", "exit", "trap", "brx", "call")


def read_ptx(text: str) -> Flow:
    """The flow of a PTX module's only kernel. Raises ValueError for text with none or several."""
    text = _NO_STATEMENT.sub("", _COMMENT.sub("", text))
    entries = list(_ENTRY.finditer(text))
    if len(entries) != 1:
        raise ValueError(f"the PTX has {len(entries)} kernels, not one")
    (entry,) = entries
    reader = _Reader(entry)
    for line, scope, label, statement in _statements(text, entry.end()):
        reader.read(line, scope, label, statement)
    return reader.flow()


def _statements(text: str, start: int) -> Iterator[tuple[int, tuple[int, ...], str, str]]:
    """(line, scope, label, statement) of the body; one of the last two is empty."""
    line, position = text.count("\n", 0, start) + 1, start
    scope: tuple[int, ...] = ()
    scopes = 0
    while part := _PART.match(text, position):
        here = line + text.count("\n", position, part.start(part.lastgroup))
        if part["open"]:
            scopes += 1
            scope = (*scope, scopes)
        elif part["close"]:
            if not scope:
                return
            scope = scope[:-1]
        else:
            yield here, scope, part["label"] or "", (part["text"] or "").strip()
        line += text.count("\n", position, part.end())
        position = part.end()


class _Reader:
    """Two passes: definitions of registers first, because a loop uses what is defined below."""

    def __init__(self, entry: re.Match[str]):
        parameters = [one.strip() for one in entry[2].split(",")]
        pointers = {
            found[1]: position
            for position, one in enumerate(parameters)
            if (found := _POINTER.search(one)) is not None
        }
        threads = _THREADS.search(entry[3])
        self.threads = 1
        for size in threads[1].split(",") if threads else ():
            self.threads *= int(size)
        self.registers = Registers(pointers)
        self.builder = Builder(entry[1], completes=True)
        self.seen: list[tuple[int, tuple[int, ...], str, str]] = []
        self.labels: dict[str, list[tuple[int, ...]]] = {}

    def read(self, line: int, scope: tuple[int, ...], label: str, statement: str) -> None:
        """Takes one statement or label."""
        self.seen.append((line, scope, label, statement))
        if label:
            self.labels.setdefault(label, []).append(scope)
            return
        found = _INSTRUCTION.fullmatch(statement)
        operands = _operands(found["operands"]) if found is not None else ()
        if operands and not operands[0].startswith("["):
            self.registers.define(found["opcode"], operands)

    def flow(self) -> Flow:
        """The flow of everything that was read."""
        for line, scope, label, statement in self.seen:
            if label:
                self.builder.label(_scoped(label, scope))
            elif (found := _INSTRUCTION.fullmatch(statement)) is not None:
                text = " ".join(statement.split())
                self._step(
                    line, scope, text, found["opcode"], found["operands"], bool(found["guard"])
                )
        return self.builder.flow()

    def _step(
        self, line: int, scope: tuple[int, ...], text: str, opcode: str, rest: str, guarded: bool
    ) -> None:
        parts = opcode.split(".")
        if parts[0] in _JUMPS:
            self._jump(line, scope, text, parts, rest, guarded)
            return
        kind = self._kind(parts, rest)
        if kind is None:
            return
        operands = _operands(rest)
        address = _address(parts, operands)
        is_store = kind is Kind.STORE and parts[0] == "st"
        self.builder.add(
            Step(
                kind,
                line,
                text,
                parameter=self.registers.base(address),
                address=self.registers.number(address) if address else 0,
                value=self.registers.constant(operands[-1]) if is_store else "",
                semantics=frozenset(parts[1:]),
                certain=not guarded,
            )
        )

    def _jump(
        self,
        line: int,
        scope: tuple[int, ...],
        text: str,
        parts: list[str],
        rest: str,
        guarded: bool,
    ) -> None:
        if parts[0] == "bra":
            self.builder.jump(line, text, [self._target(rest.strip(), scope)], guarded)
        elif parts[0] == "brx":
            self.builder.problem = f"line {line}: {text} jumps to where a table says"
        elif parts[0] == "call":
            self.builder.add(Step(Kind.CALL, line, text))
        else:
            self.builder.add(Step(Kind.END, line, text, certain=not guarded))

    def _target(self, label: str, scope: tuple[int, ...]) -> str:
        """A label of the innermost scope around the jump that has one of this name."""
        declared = self.labels.get(label, ())
        for depth in range(len(scope), -1, -1):
            if scope[:depth] in declared:
                return _scoped(label, scope[:depth])
        return label

    def _kind(self, parts: list[str], rest: str) -> Kind | None:
        head, kinds = parts[0], parts[1:]
        elsewhere = any(one.startswith(_SPACES) for one in kinds)
        if head in ("ld", "ldu", "st", "atom", "red") and not elsewhere:
            return {"st": Kind.STORE, "atom": Kind.ATOMIC, "red": Kind.ATOMIC}.get(head, Kind.LOAD)
        if head == "cp" and "global" in kinds and "prefetch" not in kinds:
            to_global = any(one.startswith("shared") for one in kinds[kinds.index("global") :])
            return Kind.STORE if to_global else Kind.LOAD
        if head in ("bar", "barrier") and self._is_whole(kinds, rest):
            return Kind.BARRIER
        if head == "membar" and kinds[0] in ("gl", "sys"):
            return Kind.FENCE
        if head == "fence" and set(kinds) & {"acq_rel", "sc"} and set(kinds) & set(_WIDE):
            return Kind.FENCE
        return Kind.WAIT if parts[:2] == ["griddepcontrol", "wait"] else None

    def _is_whole(self, kinds: list[str], rest: str) -> bool:
        """Whether a barrier is for all threads: `arrive` waits for none, a count may omit some."""
        if {"warp", "cluster"} & set(kinds) or not {"sync", "red"} & set(kinds):
            return False
        counts = rest.split(",")[1:] if "sync" in kinds else rest.split(",")[2:-1]
        return all(one.strip() == str(self.threads) for one in counts)


def _scoped(label: str, scope: tuple[int, ...]) -> str:
    return label if not scope else f"{label}@{'.'.join(map(str, scope))}"


def _operands(rest: str) -> tuple[str, ...]:
    return tuple(found[1].strip() for found in _OPERAND.finditer(rest) if found[1].strip())


def _address(parts: list[str], operands: tuple[str, ...]) -> str:
    """The operand that is an address in global memory: a copy into shared memory has it second."""
    addresses = [one for one in operands if one.startswith("[")]
    spaces = [one for one in parts if one.startswith(("shared", "global"))]
    second = parts[0] == "cp" and spaces and spaces[0].startswith("shared")
    return next(iter(addresses[1:] if second else addresses), "")
