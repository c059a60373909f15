"""Puts kgen's files of a family beside their peers, measured together on the GPU of this machine.

    python benchmarks/side_by_side.py attention|norm --out DIR [--bundle NAME] [--peer NAME] [--within SECONDS] [OPTION...]

Run it from the root of the checkout, with `.peers/` there (see `benchmarks/peers/README.md`). It needs torch, Triton,
numpy and scipy. Every bundle of the family is one measuring run with its receipt in DIR, and has its table; a summary of
all shapes follows. Further options go to `python -m kgen.measure bench`. Ratios are to kgen's file: above 1, the peer is
faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgen.cli.table import table

from kgen.evidence.analysis import FALLBACK

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers"
FAMILIES = ("attention", "norm")
REFUSED = "NotOffered:"
"""How the message of an adapter begins that does not do a shape: there it is no peer."""
MOST_TOLD = 240
"""Letters of a failure; the receipt has all of it."""


def adapters(family: str) -> dict[str, Path]:
    """The adapter files of a family by name."""
    return {file.stem: file for file in sorted((PEERS / family).glob("*.py"))}


def bundles(family: str) -> dict[str, Path]:
    """kgen's files of a family by name."""
    found = sorted((ROOT / "generated" / family).glob("*/manifest.json"))
    return {manifest.parent.name: manifest.parent for manifest in found}


def measured(
    bundle: Path, peers: Sequence[Path], out: Path, options: Sequence[str]
) -> dict[str, Any] | None:
    """The receipt of one measuring run of a bundle beside its peers; None where there is none."""
    known = set(out.glob("*.json"))
    command = [sys.executable, "-m", "kgen.measure", "bench", _named(bundle), "--out", str(out)]
    for peer in peers:
        command += ["--peer", _named(peer)]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    command += options
    # the report is in the receipt, and the table says what a reader wants of it
    subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.DEVNULL
    )
    made = [json.loads(file.read_text()) for file in set(out.glob("*.json")) - known]
    return next((one for one in made if one["kind"] == "receipt"), None)


def _named(file: Path) -> str:
    """The file from the root of the checkout, where the run is started."""
    return file.relative_to(ROOT).as_posix()


def side_by_side(receipt: Mapping[str, Any]) -> Iterator[str]:
    """A table with a row for each shape, the terms of each peer, and why one did not run."""
    record = receipt["record"]
    peers, baseline = peers_of(record), baseline_of(record)
    lines = []
    for row in rows(receipt):
        told = [_cell(one, name in row.refused) for name, one in row.peers.items()]
        lines.append([row.shape, _cell(row.own, False), *told, row.verdict])
    yield f"{record['problem']['name']} on {record['environment']['device']}: time of a call"
    yield ""
    yield from table(["shape", baseline, *(one["name"] for one in peers), "verdict"], lines)
    yield ""
    yield from notes(record)


def summary(receipts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A table of all shapes of several receipts: kgen's file and the fastest of its peers."""
    lines = []
    for receipt in receipts:
        problem = receipt["record"]["problem"]["name"]
        for row in rows(receipt):
            fastest = row.fastest()
            peer = "-" if fastest is None else f"{fastest['candidate']}, {_cell(fastest, False)}"
            lines.append([problem, row.shape, _cell(row.own, False), peer, row.verdict])
    yield from table(["problem", "shape", "kgen", "fastest peer", "verdict"], lines)


def notes(record: Mapping[str, Any]) -> Iterator[str]:
    """The terms of each peer, and why one has no time."""
    for one in peers_of(record):
        yield f"{one['name']}: {one['unavailable'] or one['terms']}"
        for failure in record["failures"]:
            if failure["candidate"] == one["name"]:
                at = failure["shape"] or "every shape"
                message = failure["message"].splitlines()[0]
                cut = message if len(message) <= MOST_TOLD else f"{message[:MOST_TOLD]}..."
                yield f"{one['name']} has no time at {at}: {cut}"


def peers_of(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The files that kgen's is put beside."""
    return [one for one in record["candidates"] if one["role"] == "peer"]


def baseline_of(record: Mapping[str, Any]) -> str:
    """The name of kgen's file."""
    return next(one["name"] for one in record["candidates"] if one["role"] == "baseline")


@dataclass(frozen=True)
class Row:
    """One shape: kgen's row of the analysis, those of its peers by name, and which of them do not do the shape at all."""

    shape: str
    own: Mapping[str, Any] | None
    peers: Mapping[str, Mapping[str, Any] | None]
    refused: frozenset[str]
    verdict: str

    def fastest(self) -> Mapping[str, Any] | None:
        """The fastest peer that nothing is held against."""
        timed = (one for one in self.peers.values() if one and one["seconds"] and not one["flags"])
        return min(timed, key=lambda one: one["seconds"], default=None)


def rows(receipt: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each shape of a receipt."""
    record = receipt["record"]
    cells = {(row["candidate"], row["shape"]): row for row in receipt["analysis"]["rows"]}
    for shape in (one["name"] for one in record["shapes"]):
        found = {one["name"]: cells.get((one["name"], shape)) for one in peers_of(record)}
        refused = frozenset(name for name in found if _why(record, name, shape).startswith(REFUSED))
        own = cells.get((baseline_of(record), shape))
        verdict = _verdict(receipt, own, {k: v for k, v in found.items() if k not in refused})
        yield Row(shape, own, found, refused, verdict)


def _why(record: Mapping[str, Any], name: str, shape: str) -> str:
    """Why a peer has no time at a shape, or ""."""
    messages = (
        one["message"]
        for one in record["failures"]
        if one["candidate"] == name and one["shape"] in ("", shape)
    )
    return next(messages, "")


def _cell(row: Mapping[str, Any] | None, refused: bool) -> str:
    """A time, the ratio to kgen's file, and what is held against the row."""
    if refused:
        return "not offered"
    if row is None or row["seconds"] is None:
        return "did not run"
    ratio = row["to_baseline"]
    told = f"{row['seconds'] * 1e6:.2f} us" + (f" ({ratio['point']:.2f})" if ratio else "")
    fallback = [FALLBACK] if FALLBACK in row["marks"] else []
    return ", ".join([told, *fallback, *row["flags"]])


def _verdict(
    receipt: Mapping[str, Any],
    own: Mapping[str, Any] | None,
    peers: Mapping[str, Mapping[str, Any] | None],
) -> str:
    """How kgen's file does beside all that are its peers here; nothing where one of them did not run."""
    if receipt["analysis"]["void"]:
        return "none: the run is void"
    if own is None or own["seconds"] is None:
        return "none: kgen's file did not run"
    absent = [name for name, row in peers.items() if row is None or row["seconds"] is None]
    if absent or not peers:
        return f"none: {', '.join(absent)} did not run" if absent else "none: it has no peer here"
    wrong = [name for name, row in peers.items() if row["flags"]]
    if wrong or own["flags"]:
        return f"none: flags at {', '.join([*wrong, *(['kgen'] if own['flags'] else [])])}"
    for word, text in (("faster", "behind"), ("inconclusive", "not distinguishable from")):
        named = [name for name, row in peers.items() if row["word"] == word]
        if named:
            return f"{text} {', '.join(named)}"
    ahead = all(row["word"] == "slower" for row in peers.values())
    return "ahead of all" if ahead else "none: no interval"


def main() -> int:
    """Exit status 0 if every bundle has its table, else 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("--out", type=Path, required=True, help="where receipts are written")
    parser.add_argument("--bundle", action="append", help="one of kgen's files; all by default")
    parser.add_argument("--peer", action="append", help="one of the adapters; all by default")
    parser.add_argument(
        "--within", type=float, default=float("inf"), help="seconds after which no bundle is begun"
    )
    chosen, options = parser.parse_known_args()
    offered = {"bundle": bundles(chosen.family), "peer": adapters(chosen.family)}
    for kind, there in offered.items():
        for name in getattr(chosen, kind) or ():
            if name not in there:
                parser.error(f"no {kind} is called {name!r}: there are {', '.join(there)}")
    peers = [offered["peer"][name] for name in chosen.peer or offered["peer"]]
    out = chosen.out.resolve()
    names, receipts = chosen.bundle or list(offered["bundle"]), []
    begin = time.monotonic()
    for name in names:
        if time.monotonic() - begin > chosen.within:
            print(f"{name} was not begun: {chosen.within:g} s are over", file=sys.stderr)
            continue
        receipt = measured(offered["bundle"][name], peers, out / name, options)
        if receipt is not None:
            receipts.append(receipt)
            print("\n".join(["", *side_by_side(receipt), ""]), flush=True)
    print("\n".join(summary(receipts)), flush=True)
    return 0 if len(receipts) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
