"""Writes the tables of `docs/performance.md` from the receipts in `benchmarks/receipts/measured/`.

    PYTHONPATH=. python benchmarks/performance.py [--check]

It needs no GPU. With `--check` nothing is written, and the exit status is 1 if the document does
not match the receipts. Of several receipts of the same files on the same device the newest is shown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.side_by_side import REFUSED, notes, rows
from kgen.evidence.analysis import FALLBACK
from kgen.evidence.ledger import Entry, entries
from kgen.evidence.sources import stale

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "performance.md"
RECEIPTS = ROOT / "benchmarks" / "receipts" / "measured"
BEGIN, END = "<!-- tables: python benchmarks/performance.py -->", "<!-- end of tables -->"
NONE = "No run is recorded."
HEADER = ("shape", "file", "time", "ratio", "of read", "verdict")
ALIGNED = "|---|---|--:|--:|--:|---|"


def document(text: str, found: Sequence[Entry], root: Path) -> str:
    """The document with the tables of these receipts. Raises `ValueError` where it has no place for them."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{DOCUMENT.name} needs the lines {BEGIN!r} and {END!r}")
    return "\n".join([before + BEGIN, "", *tables(found, root), END + after])


def tables(found: Sequence[Entry], root: Path) -> Iterator[str]:
    """A section for each run that is shown; one sentence where none is."""
    shown = newest(found)
    if not shown:
        yield from (NONE, "")
    for entry in shown:
        yield from section(entry, root)


def newest(found: Iterable[Entry]) -> list[Entry]:
    """The last run of each set of files on each device. Raises `ValueError` for a file that is no such receipt."""
    last: dict[tuple[str, ...], Entry] = {}
    for entry in found:
        if entry.receipt is None or not hasattr(entry.receipt.record, "environment"):
            raise ValueError(f"{entry.path} is no receipt of a measuring run")
        record = entry.receipt.record
        files = (f"{one.role} {one.name}" for one in record.candidates)
        key = (record.problem.name, record.environment.device, *sorted(files))
        if key not in last or _when(last[key]) < _when(entry):
            last[key] = entry
    return sorted(last.values(), key=lambda one: (*_about(one), one.path.name))


def section(entry: Entry, root: Path) -> Iterator[str]:
    """The heading, the rows, and what a reader has to know of them."""
    receipt = json.loads(entry.text)
    record = receipt["record"]
    name, against = _about(entry)
    judged = receipt["decision"] is not None
    alone = not judged and _is_a_peer(_baseline(record))
    how = f"judged against {against}" if judged else "beside its peers"
    yield (
        f"### {entry.path.parent.name}: {_baseline(record)['name']}"
        if alone
        else f"### {name} {how}"
    )
    yield ""
    yield from _facts(record)
    for one in sorted(stale(entry.receipt, root)):
        yield f"- {one} computes something else now: its times are of the file as it was."
    if receipt["analysis"]["void"]:
        yield f"- The run is void, and nothing is concluded from it: {receipt['analysis']['void']}."
    yield ""
    yield from _table(receipt)
    yield ""
    if judged:
        yield f"Decision: {receipt['decision']['decision']}. {receipt['decision']['reason']}"
    elif alone:
        yield from _alone(record)
    else:
        yield "kgen's file beside its peers:"
        yield ""
        yield from (f"- {row.shape}: {row.verdict}" for row in rows(receipt))
    yield ""
    told = list(notes(record))
    if told:
        yield from ("Terms of the comparison:", "", *(f"- {one}" for one in told), "")


def _is_a_peer(candidate: Mapping[str, Any]) -> bool:
    """Whether a file is an adapter, and not one of kgen's that peers are put beside."""
    return candidate["file"].startswith("benchmarks/peers/")


def _baseline(record: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(one for one in record["candidates"] if one["role"] == "baseline")


def _alone(record: Mapping[str, Any]) -> Iterator[str]:
    """What a run is whose baseline is another's file: by which command it was made, and what stands beside it."""
    file, options = _baseline(record)["file"], record["settings"]["options"]
    peers = [one["name"] for one in record["candidates"] if one["role"] == "peer"]
    beside = f"Beside it: {', '.join(peers)}." if peers else "Nothing else was measured beside it."
    yield f"kgen has no file for this problem, `{options['problem']}`. {beside} The receipt is from"
    yield ""
    yield "```sh"
    yield f"python -m kgen.measure bench {file} --problem {options['problem']} --budget {options['budget']:g}"
    yield "```"


def _facts(record: Mapping[str, Any]) -> Iterator[str]:
    where, limits = record["environment"], record["limits"]
    clock = where["clocks"]["before"]["sm_mhz"]
    yield (
        f"- {where['device']}, driver {where['driver']}, SM clock {clock or 'unknown'} MHz before, torch "
        f"{where['torch']}, triton {where['triton']}, {record['started']}, seed {record['seed']}, "
        f"git {(record['source']['git'] or 'none')[:12]}."
    )
    reached = limits["read_bytes_per_s"]
    empty = limits["empty_launch_s"]
    yield (
        f"- A streaming read reached {f'{reached / 1e12:.2f} TB/s' if reached else '(not measured)'}; "
        f"an empty launch took {f'{empty * 1e6:.2f} us' if empty else '(not measured)'}."
    )


def _table(receipt: Mapping[str, Any]) -> Iterator[str]:
    record, analysis = receipt["record"], receipt["analysis"]
    yield f"| {' | '.join(HEADER)} |"
    yield ALIGNED
    for row in analysis["rows"]:
        yield f"| {' | '.join(_cells(record, row))} |"
    yield ""
    for one in analysis["aggregates"]:
        if one["to_baseline"] is not None:
            missing = f", without {', '.join(one['missing'])}" if one["missing"] else ""
            ratio = _ratio(one["to_baseline"])
            served = _served(analysis["rows"], one["candidate"])
            yield f"- Geometric mean of {one['candidate']}: {ratio}{missing}{served}; {one['word']}."


def _served(rows: Iterable[Mapping[str, Any]], candidate: str) -> str:
    """How many of the rows count as the baseline because the candidate's fallback serves them."""
    own = [row for row in rows if row["candidate"] == candidate]
    count = sum(FALLBACK in row["marks"] for row in own)
    return f", {count} of {len(own)} shapes by the fallback" if count else ""


def _cells(record: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[str]:
    seconds, read = row["seconds"], row["read_share"]
    yield row["shape"]
    yield (
        row["candidate"]
        if row["role"] == row["candidate"]
        else f"{row['candidate']} ({row['role']})"
    )
    yield "-" if seconds is None else f"{seconds * 1e6:.2f} us"
    yield _ratio(row["to_baseline"])
    yield "-" if read is None else f"{read:.0%}"
    refused = any(
        (one["candidate"], one["shape"]) == (row["candidate"], row["shape"])
        and one["message"].startswith(REFUSED)
        for one in record["failures"]
    )
    told = ["not offered"] if refused else [row["word"], *row["marks"], *row["flags"]]
    yield ", ".join(dict.fromkeys(told))


def _ratio(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "-"
    if found["low"] is None:
        return f"{found['point']:.3f}"
    return f"{found['point']:.3f} [{found['low']:.3f}, {found['high']:.3f}]"


def _about(entry: Entry) -> tuple[str, str]:
    """The problem, and what its file is judged against; nothing where it is only put beside others."""
    record = entry.receipt.record
    judged = record.of_role("candidate") is not None
    return record.problem.name, record.of_role("baseline").name if judged else ""


def _when(entry: Entry) -> tuple[str, str]:
    return entry.receipt.record.started, entry.path.name


def main() -> int:
    """Exit status 1 if the document does not match and is not to be written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    now = DOCUMENT.read_text()
    wanted = document(now, entries([RECEIPTS]) if RECEIPTS.is_dir() else [], ROOT)
    if check and now != wanted:
        print(
            f"{DOCUMENT.name} does not match the receipts: run PYTHONPATH=. python benchmarks/performance.py"
        )
        return 1
    if not check:
        DOCUMENT.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
