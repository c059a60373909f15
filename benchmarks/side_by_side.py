"""Puts kgen's files of a family beside their peers, measured together on the GPU of this machine.

    python benchmarks/side_by_side.py attention|norm --out DIR [--bundle NAME] [--peer NAME] [OPTION...]

Run it from the root of the checkout, with `.peers/` there (see `benchmarks/peers/README.md`). It needs torch, Triton,
numpy and scipy. Every bundle of the family is one measuring run with its receipt in DIR; further options go to
`python -m kgen.measure bench`. Ratios are to kgen's file: above 1, the peer is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kgen.cli.table import table

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers"
FAMILIES = ("attention", "norm")
REFUSED = "NotImplementedError"
"""What an adapter raises for a shape that the peer's kernels do not do: there it is no peer."""


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
    command = [sys.executable, "-m", "kgen.measure", "bench", str(bundle), "--out", str(out)]
    for peer in peers:
        command += ["--peer", str(peer)]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    subprocess.run([*command, *options], cwd=ROOT, env={**os.environ, "PYTHONPATH": path})
    made = [json.loads(file.read_text()) for file in set(out.glob("*.json")) - known]
    return next((one for one in made if one["kind"] == "receipt"), None)


def side_by_side(receipt: Mapping[str, Any]) -> Iterator[str]:
    """A table with a row for each shape, the terms of each peer, and why one did not run."""
    record, rows = receipt["record"], receipt["analysis"]["rows"]
    peers = [one for one in record["candidates"] if one["role"] == "peer"]
    baseline = next(one["name"] for one in record["candidates"] if one["role"] == "baseline")
    cells = {(row["candidate"], row["shape"]): row for row in rows}
    lines = []
    for shape in (one["name"] for one in record["shapes"]):
        found = {one["name"]: cells.get((one["name"], shape)) for one in peers}
        refused = {name for name in found if REFUSED in _why(record, name, shape)}
        own = cells.get((baseline, shape))
        told = [_cell(row, name in refused) for name, row in found.items()]
        verdict = _verdict(receipt, own, {k: v for k, v in found.items() if k not in refused})
        lines.append([shape, _cell(own, False), *told, verdict])
    yield f"{record['problem']['name']} on {record['environment']['device']}: time of a call"
    yield ""
    yield from table(["shape", baseline, *(one["name"] for one in peers), "verdict"], lines)
    yield ""
    for one in peers:
        yield f"{one['name']}: {one['unavailable'] or one['terms']}"
        for failure in record["failures"]:
            if failure["candidate"] == one["name"]:
                at = failure["shape"] or "every shape"
                yield f"{one['name']} has no time at {at}: {failure['message'].splitlines()[0]}"


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
    return ", ".join([told, *row["flags"]])


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
        return f"none: {', '.join(absent) or 'no peer'} did not run"
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
    chosen, options = parser.parse_known_args()
    offered = {"bundle": bundles(chosen.family), "peer": adapters(chosen.family)}
    for kind, there in offered.items():
        for name in getattr(chosen, kind) or ():
            if name not in there:
                parser.error(f"no {kind} is called {name!r}: there are {', '.join(there)}")
    peers = [offered["peer"][name] for name in chosen.peer or offered["peer"]]
    out = chosen.out.resolve()
    complete = True
    for name in chosen.bundle or offered["bundle"]:
        receipt = measured(offered["bundle"][name], peers, out / name, options)
        complete &= receipt is not None
        if receipt is not None:
            print("\n".join(["", *side_by_side(receipt), ""]), flush=True)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
