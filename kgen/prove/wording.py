"""What the prover left open, worded for a person: turns and lanes by plain names, and no more of an expression than is read."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONG = 40
"""Characters between the brackets of a call or an index that are read at a glance."""
SHORT = 24
"""Characters of one of its arguments."""
GIVEN = 80
"""Characters of a premise."""

_NAMES = (
    (re.compile(r"\b(\w+'?\.turn)\.\d+(?:\.\w+)?"), r"\1"),
    (re.compile(r"\blane\d+_\d+\b"), "lane"),
    (re.compile(r"<(?:\w+'?: )?([^<>]+?) \d+>"), r"<\1>"),
)
"""Names that only tell variables apart, and what a person calls them."""
_PREMISE = re.compile(rf", given .{{{GIVEN},}}? (in \d+ steps|is false at)")
_OPENS = re.compile(r"\w[(\[]")
_PAIRS = {"(": ")", "[": "]"}


def worded(text: str) -> str:
    """`text` with `split.turn.84.1023` as `split.turn` and `lane0_64` as `lane`, further ones numbered; without premises
    that nobody reads, and with `…` for what is long within the brackets of a call or an index.
    """
    for form, plain in _NAMES:
        text = _named(text, form, plain)
    return _brief(_PREMISE.sub(r", given what leads there, \1", text), LONG)


def _named(text: str, form: re.Pattern[str], plain: str) -> str:
    """Every name of a form by its plain one; further ones with the same plain name are numbered from 2."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for found in form.finditer(text):
        if found[0] not in names:
            name = found.expand(plain)
            counts[name] = counts.get(name, 0) + 1
            names[found[0]] = name if counts[name] == 1 else f"{name}{counts[name]}"
    return form.sub(lambda found: names[found[0]], text)


def _brief(text: str, most: int) -> str:
    """`text`, in which what calls and indices hold is shortened where it has more than `most` characters."""
    parts: list[str] = []
    at = 0
    while found := _OPENS.search(text, at):
        inner = found.end()
        end = _closing(text, inner - 1)
        parts.append(text[at:inner])
        if end is not None and end - inner > most:
            parts.append(", ".join(map(_argument, _arguments(text[inner:end]))))
        elif end is not None:
            parts.append(text[inner:end])
        at = inner if end is None else end
    return "".join(parts) + text[at:]


def _argument(text: str) -> str:
    """One argument of a call, `…` where it stays long without what its own calls hold."""
    short = _brief(text, 0) if len(text) > SHORT else text
    return short if len(short) <= SHORT else "…"


def _arguments(text: str) -> Iterator[str]:
    """What stands between the commas that are in no brackets."""
    start = depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _closing(text: str, opening: int) -> int | None:
    """Where the bracket at `opening` is closed; None where it is not."""
    waiting: list[str] = []
    for place in range(opening, len(text)):
        if text[place] in _PAIRS:
            waiting.append(_PAIRS[text[place]])
        elif waiting and text[place] == waiting[-1]:
            waiting.pop()
            if not waiting:
                return place
    return None
