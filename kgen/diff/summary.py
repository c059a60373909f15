"""Many comparisons in a table and in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kgen.diff.model import FileDiff

STAT = ("file", "text", "keys", "substitutions", "+ lines", "- lines", "machine code")
"""What the columns of `stat_row` are."""


def stat_row(found: FileDiff) -> list[str | int | None]:
    """A line of the table of many files."""
    name, source = found.name or found.b.label, found.source
    if source is None:
        return [name, "only in " + ("A" if found.b is None else "B"), *[None] * 4, "-"]
    text = "differs" if source.differs else "same"
    return [
        name,
        text,
        None if found.spec is None else len(found.spec),
        len(source.constants) + len(source.renames) + len(source.functions),
        sum(len(hunk.added) * len(hunk.spots) for hunk in source.hunks),
        sum(len(hunk.removed) * len(hunk.spots) for hunk in source.hunks),
        found.consequence.machine if found.consequence else "-",
    ]


def summary(found: Sequence[FileDiff], failed: int = 0) -> str:
    """Such as `14 files, text differs in 2, machine code in none`."""
    both = [one for one in found if one.source is not None]
    text = sum(one.text_differs for one in both)
    machine = Counter(one.consequence.machine for one in both if one.consequence)
    parts = [f"text differs in {text or 'none'}", _machine_code(machine)]
    if keys := sum(bool(one.spec) for one in both):
        parts.append(f"spec in {keys}")
    for letter, side in (("A", "b"), ("B", "a")):
        if alone := sum(getattr(one, side) is None for one in found):
            parts.append(f"{alone} only in {letter}")
    if failed:
        parts.append(f"{failed} not compared")
    number = len(found) + failed
    return f"{number} file{'s' * (number != 1)}, {', '.join(parts)}"


def _machine_code(machine: Counter[str]) -> str:
    """In how many files it differs; what is not known is never counted as the same."""
    differs, unknown = machine["differs"], machine["unknown"]
    if not unknown:
        return f"machine code in {differs or 'none'}"
    return (
        f"machine code in {differs}, not known in {unknown}"
        if differs
        else f"machine code not known in {unknown}"
    )
