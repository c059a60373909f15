"""A comparison of two files as lines of text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kgen.diff.model import (
    Change,
    Compiled,
    FileDiff,
    FunctionChange,
    Hunk,
    Measured,
    Side,
    SourceDiff,
    Spot,
    Substitution,
    Waves,
)

_MACHINE = {
    "same": "the machine code is the same",
    "differs": "the machine code differs",
    "unknown": "whether the machine code differs is not known",
}


def head(found: FileDiff) -> Iterator[str]:
    """What is compared."""
    if found.name:
        yield f"== {found.name}"
    for letter, side in (("A", found.a), ("B", found.b)):
        yield f"{letter}  {_side(side)}"


def _side(side: Side | None) -> str:
    if side is None:
        return "(no such file)"
    return f"{side.label} ({side.note})" if side.note else side.label


def spec_lines(found: FileDiff) -> Iterator[str]:
    """The keys that differ."""
    if found.spec is None:
        if found.source is not None:
            yield "spec: not compared, for a file without its manifest says nothing of it"
    elif found.spec:
        yield "spec"
        for change in found.spec:
            yield f"  {_change(change)}"


def _change(change: Change) -> str:
    old, new = (
        _value(value) if there else "(not there)"
        for value, there in zip((change.old, change.new), change.present)
    )
    return f"{change.key}: {old} -> {new}"


def _value(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def source_lines(source: SourceDiff, hunks: Iterable[str]) -> Iterator[str]:
    """What differs in the text; `hunks` are its lines in the layout that is wanted."""
    if not source.differs:
        return
    yield (
        "source"
        if source.core_differs
        else "source (comments and layout only: the core is the same)"
    )
    for one in source.constants:
        yield f"  {one.name}: {one.old} -> {one.new}{_places(one)}"
    for one in source.renames:
        yield f"  renamed {one.old} -> {one.new}{_places(one)}"
    for one in source.functions:
        yield f"  {_function(one)}"
    yield from hunks
    if not source.explained:
        yield "  functions stand in another order, or lines are wrapped in another way"


def _places(one: Substitution) -> str:
    """Such as `  (3 places: launch_decode, warmup)`."""
    where = Counter(spot.function for spot in one.spots)
    number = len(one.spots)
    return f"  ({number} place{'s' * (number != 1)}: {', '.join(where)})"


def _function(one: FunctionChange) -> str:
    if one.kind == "renamed":
        return f"renamed {one.what} {one.old} -> {one.new}"
    return f"{one.kind} {one.what} {one.old or one.new}, {one.lines} lines"


def unified(hunks: Iterable[Hunk]) -> Iterator[str]:
    """Hunks one below the other."""
    for hunk in hunks:
        yield f"  @ {title(hunk)}"
        yield from (f"  - {line}".rstrip() for line in hunk.removed)
        yield from (f"  + {line}".rstrip() for line in hunk.added)


def title(hunk: Hunk) -> str:
    """Template line and place of a hunk, such as `norm/rms/kernel.py.j2:10 in rms_kernel (A 70, B 71)`."""
    first, *others = hunk.spots
    also = f", and in {', '.join(map(_spot, others))}" if others else ""
    comment = ", a comment" if hunk.comment else ""
    origin = "assembled by kgen" if hunk.template == "" else hunk.template
    if hunk.template and not hunk.added:
        origin += " of A"
    return f"{origin + ' ' if origin else ''}in {_spot(first)}{also}{comment}"


def _spot(spot: Spot) -> str:
    lines = [
        f"{letter} {line}" for letter, line in (("A", spot.a_line), ("B", spot.b_line)) if line
    ]
    return f"{spot.function} ({', '.join(lines)})"


def consequence_lines(found: FileDiff) -> Iterator[str]:
    """What the difference comes to."""
    if found.consequence is None or not found.text_differs:
        return
    consequence = found.consequence
    yield "consequence"
    yield f"  {_MACHINE[consequence.machine]}: {consequence.reason}"
    for one in consequence.kernels:
        yield f"  {_kernel(one)}"
    for wave in found.waves:
        yield f"  {_wave(wave)}"
    if found.measured or consequence.machine != "same":
        yield from (f"  {line}" for line in _measured(found.measured))


def _kernel(one: Compiled) -> str:
    name = one.new or one.old
    named = f"{name} ({one.signature})" if one.signature else name
    if not (one.old and one.new):
        side = "B" if one.new else "A"
        told = [f"only in {side}", *(f"{key} {_one_of(pair)}" for key, pair in one.numbers.items())]
    else:
        told = [f"{key} {_number(a)} -> {_number(b)}" for key, (a, b) in _numbers(one)]
    if any(status != "compiled" for status in one.status if status):
        told = [" -> ".join(status or "absent" for status in one.status)]
    return f"{named} for {one.target}: {', '.join(told) or 'other instructions, same resources'}"


def _numbers(one: Compiled) -> Iterator[tuple[str, Sequence[int | None]]]:
    yield from one.numbers.items()
    yield from one.instructions.items()


def _one_of(pair: Sequence[int | None]) -> str:
    return _number(next((value for value in pair if value is not None), None))


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _wave(one: Waves) -> str:
    old, new = ("unknown" if value is None else f"{value:.2f}" for value in one.waves)
    return f"{one.kernel} at {one.shape} on {one.device}: estimated waves {old} -> {new}"


def _measured(found: Sequence[Measured] | None) -> Iterator[str]:
    if found is None:
        return
    if not found:
        yield "measured: no receipt has both"
    for one in found:
        interval = f" [{one.low:.3f}, {one.high:.3f}]" if one.low is not None else ""
        basis = "one run" if len(one.receipts) == 1 else "two runs against one baseline"
        named = " and ".join(Path(path).stem[:12] for path in one.receipts)
        yield (
            f"measured on {one.device} at {one.shape}: B is {one.ratio:.3f}x{interval} as fast "
            f"({basis}, {named})"
        )
