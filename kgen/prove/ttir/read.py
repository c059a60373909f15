"""TTIR text to operations: one line an operation, regions between braces."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kgen.prove.ttir.model import Block, Function, Operation, Region, TtirError, Type
from kgen.prove.ttir.text import Locations, bracketed, split, types

_RESULTS = re.compile(r"((?:%[\w$.-]+(?::\d+)?(?:, )?)+) = ")
_NAME = re.compile(r'"?([a-z_]\w*(?:\.\w+)+)"?')
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_BOUND = re.compile(r"%([\w$.-]+) = (?=%)")
_LABEL = re.compile(r"\^(\w+)(?:\((.*)\))?:")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class _Line:
    text: str
    location: str


def read(text: str, file: str) -> Function:
    """The kernel of a module. `file` is the path under which its source was compiled.

    Raises TtirError where the text has another form, or more than one function.
    """
    try:
        return _Reader(text, file).function()
    except (IndexError, ValueError) as error:
        raise TtirError(str(error)) from error


class _Reader:
    def __init__(self, text: str, file: str):
        self._locations = Locations(text, file)
        stripped = (
            self._locations.strip(line) for line in text.splitlines() if not line.startswith("#")
        )
        self._lines = [_Line(line.strip(), location) for line, location in stripped if line.strip()]
        self._at = 0
        self._count = 0

    def function(self) -> Function:
        heads = [i for i, line in enumerate(self._lines) if line.text.startswith("tt.func ")]
        if len(heads) != 1:
            names = [self._lines[i].text.split("(")[0] for i in heads]
            raise TtirError(f"the module has {len(heads)} functions, not one: {names}")
        self._at = heads[0]
        head = self._next().text
        found = re.match(r"tt\.func (?:public |private )?@([\w$.]+)\(", head)
        if not found or not head.endswith("{"):
            raise TtirError(f"a function does not begin as expected: {head[:80]}")
        end = bracketed(head, found.end() - 1)
        pairs = filter(None, split(head[found.end() : end - 1], ", "))
        return Function(found.group(1), tuple(map(_argument, pairs)), self._region(head)[0])

    def _next(self) -> _Line:
        if self._at >= len(self._lines):
            raise TtirError("the text ends within a region")
        self._at += 1
        return self._lines[self._at - 1]

    # Regions.

    def _region(self, head: str) -> tuple[Region, _Line]:
        """The blocks up to the closing brace, and the line that holds it."""
        blocks: list[Block] = []
        label, arguments, operations = "", (), []
        while True:
            line = self._next()
            if line.text.startswith("}"):
                blocks.append(Block(label, arguments, tuple(operations)))
                return tuple(blocks), line
            begun = _LABEL.match(line.text)
            if begun:
                if operations or label:
                    blocks.append(Block(label, arguments, tuple(operations)))
                pairs = split(begun.group(2) or "", ", ")
                label, operations = begun.group(1), []
                arguments = tuple(_argument(pair) for pair in pairs if pair)
            else:
                operations.append(self._operation(line))

    def _operation(self, line: _Line) -> Operation:
        number = self._count
        self._count += 1
        text, location, regions = line.text, line.location, []
        head = text
        while _opens(text):
            region, closing = self._region(text)
            regions.append(region)
            text, location = closing.text, closing.location or location
            head = head.removesuffix("{").removesuffix("(") + text.lstrip("})")
            head = head.replace(" else {", "").replace(" do {", "")
        return _made(head, line.text, tuple(regions), number, self._locations.line(location))


def _opens(text: str) -> bool:
    """Whether a region begins at the end of the line; `{` after a blank, for it may end an attribute."""
    return text.endswith("{")


def _argument(text: str) -> tuple[str, Type]:
    name, _, rest = text.partition(": ")
    found = types(rest.split(" {")[0])
    if len(found) != 1:
        raise TtirError(f"this is no parameter: {text[:80]}")
    return name.strip().removeprefix("%"), found[0]


# ---------------------------------------------------------------- one operation


def _made(head: str, text: str, regions: tuple[Region, ...], number: int, line: int) -> Operation:
    head = head.strip()
    results: tuple[str, ...] = ()
    found = _RESULTS.match(head)
    if found:
        results = tuple(name for part in found.group(1).split(", ") for name in _expanded(part))
        head = head[found.end() :]
    named = _NAME.match(head)
    if not named:
        raise TtirError(f"this is no operation: {text[:80]}")
    name, rest = named.group(1), head[named.end() :]
    if name == "arith.constant":
        return _constant(results, rest, text, number, line)
    if name == "scf.for":
        rest, regions = _for(rest, regions)
    elif name == "scf.while":
        rest, regions = _while(rest, regions)
    attributes, rest = _attributes(rest)
    successors, rest = _successors(rest)
    body, signature = _signature(rest)
    before, after = _sides(signature)
    return Operation(
        name=name,
        results=results,
        operands=tuple(value.removeprefix("%") for value in _VALUE.findall(body)),
        keywords=tuple(_keywords(body)),
        attributes=attributes,
        operand_types=before,
        result_types=after,
        regions=regions,
        successors=successors,
        number=number,
        line=line,
        text=text.rstrip(" {("),
    )


def _constant(results: tuple[str, ...], rest: str, text: str, number: int, line: int) -> Operation:
    """Its value is an attribute; a truth value names no type."""
    value, signature = _signature(rest.strip())
    given = types(signature) or (Type((), "i1"),)
    value = value.removeprefix("dense<").removesuffix(">") if value.startswith("dense") else value
    return Operation(
        "arith.constant", results, (), (), {"value": value}, (), given, (), (), number, line, text
    )


def _for(rest: str, regions: tuple[Region, ...]) -> tuple[str, tuple[Region, ...]]:
    """`%i = %lo to %hi step %s iter_args(%a = %x) -> (T) : i32` has the operands lo, hi, s and x.

    Its block binds i and a; its result types are those of what it carries.
    """
    names = _BOUND.findall(rest)
    operands, _, carried = _BOUND.sub("", rest).partition(" -> ")
    if not carried:
        operands, _, rest = operands.partition(" : ")
        index, attributes = _behind(rest)
        return f"{operands}{attributes} : () -> ()", _binding(regions, names, index)
    end = bracketed(carried, 0)
    index, attributes = _behind(carried[end:].strip().removeprefix(": "))
    head = f"{operands}{attributes} : () -> {carried[:end]}"
    return head, _binding(regions, names, (*index, *types(carried[:end])))


def _behind(text: str) -> tuple[tuple[Type, ...], str]:
    """The type of a loop's counter, and the attributes that follow it."""
    kind, brace, rest = text.strip().partition("{")
    return types(kind.strip() or "index"), f" {brace}{rest}" if brace else ""


def _while(rest: str, regions: tuple[Region, ...]) -> tuple[str, tuple[Region, ...]]:
    """`(%a = %x) : (T) -> (U)` has the operand x, and its first block binds a."""
    names = _BOUND.findall(rest)
    rest = _BOUND.sub("", rest)
    return rest, _binding(regions, names, _sides(_signature(rest)[1])[0])


def _binding(
    regions: tuple[Region, ...], names: list[str], given: tuple[Type, ...]
) -> tuple[Region, ...]:
    """The regions, where the first block of the first binds `names`."""
    (first, *others), *later = regions
    return ((Block(first.label, tuple(zip(names, given)), first.operations), *others), *later)


def _expanded(result: str) -> list[str]:
    """`%x:3` is three values, `x#0` to `x#2`."""
    name, _, count = result.removeprefix("%").partition(":")
    return [f"{name}#{index}" for index in range(int(count))] if count else [name]


def _attributes(rest: str) -> tuple[dict[str, str], str]:
    """The attribute dictionaries of an operation, taken out of the text."""
    found: dict[str, str] = {}
    for mark in ("<{", "{"):
        at = rest.find(mark)
        if at >= 0:
            end = bracketed(rest, at)
            inner = rest[at:end].strip("<>{}") if mark == "<{" else rest[at + 1 : end - 1]
            for entry in split(inner, ", "):
                key, _, value = entry.partition(" = ")
                found[key.strip()] = split(value, " : ")[0]
            rest = rest[:at] + rest[end:]
    return found, rest


def _successors(rest: str) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], str]:
    """The blocks of `cf.cond_br %c, ^bb1(%x : i32), ^bb2`, taken out of the text."""
    if "^" not in rest:
        return (), rest
    found = [part for part in split(rest, ", ") if part.startswith("^")]
    names = [re.match(r"\^(\w+)", part).group(1) for part in found]
    passed = [tuple(v.removeprefix("%") for v in _VALUE.findall(part)) for part in found]
    return tuple(zip(names, passed)), rest[: rest.index("^")]


def _signature(rest: str) -> tuple[str, str]:
    """The operands, and the types behind the last colon; a region's loop keeps its own types."""
    parts = split(rest, " : ")
    if len(parts) > 1:
        return " : ".join(parts[:-1]), parts[-1]
    body, *result = split(rest, " -> ")
    return body, f"() -> {result[0]}" if result else ""


def _sides(signature: str) -> tuple[tuple[Type, ...], tuple[Type, ...]]:
    """Types before and after an arrow; one list without it stands for both."""
    for arrow in (" -> ", " to "):
        sides = split(signature, arrow)
        if len(sides) == 2:
            return types(sides[0]), types(sides[1])
    found = types(signature)
    return found, found


def _keywords(body: str) -> list[str]:
    """Bare words: parts between commas that are a word, and the value of `name = word`."""
    found = []
    for part in split(body, ", "):
        word = part.split(" = ")[-1].strip()
        if _WORD.fullmatch(word):
            found.append(word)
    return found
