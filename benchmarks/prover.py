"""How long proving takes: whole `kgen check` processes, and each launcher's kernels in a warm process. No kernel is run.

    python benchmarks/prover.py [--runs N] [--spec TEXT] [--json FILE]

Times of processes are wall-clock seconds from start to exit, with a new cache and with a filled one. Those of launchers
are processor seconds of the reading and the proofs alone: Triton's front end is timed once for the file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import kgen
from kgen.cli.table import table
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.prove import check
from kgen.prove.frontend import triton_version
from kgen.render.assemble import raw_text
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

ROOT = Path(__file__).resolve().parents[1]
SPECS = sorted((ROOT / "specs").rglob("*.yaml"))
Row = dict[str, Any]


def processes(path: Path, runs: int) -> list[Row]:
    """`kgen check` as a process: everything anew, and everything in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        new = [f"{folder}/cache{number}" for number in range(runs)]
        return [
            _timed(path, "new cache", new),
            _timed(path, "filled cache", [new[0]] * runs),
        ]


def _timed(path: Path, what: str, caches: Iterable[str]) -> Row:
    seconds = []
    for cache in caches:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "kgen", "check", str(path)],
            env={**os.environ, "KGEN_CACHE": cache},
            capture_output=True,
            check=True,
        )
        seconds.append(time.perf_counter() - start)
    return {
        "spec": path.stem,
        "kgen check": what,
        "runs": len(seconds),
        "median": statistics.median(seconds),
        "least": min(seconds),
    }


def kernels(path: Path, runs: int) -> list[Row]:
    """The proofs of each launcher in each case, the quickest of some runs in this process."""
    plan = build(load(path), Templates())
    planned = list(launchers(plan, workshop(Templates())))
    text = raw_text(plan, Templates())
    rows: dict[int, Row] = {}
    prove_world = check.prove_world
    for _ in range(runs):
        numbers = iter(range(len(rows) + 1000))

        def timed(world, launcher, functions):
            start = time.process_time()
            proof = prove_world(world, launcher, functions)
            seconds = time.process_time() - start
            number = next(numbers)
            row = {
                "spec": path.stem,
                "launcher": launcher,
                "kernels": len(functions),
                "obligations": len(proof.obligations),
                "proved": sum(one.status == "proved" for one in proof.obligations),
                "certificates": len(proof.certificates),
                "seconds": seconds,
            }
            if number not in rows or seconds < rows[number]["seconds"]:
                rows[number] = row
            return proof

        check.prove_world = timed
        try:
            check.prove(plan, planned, text)
        finally:
            check.prove_world = prove_world
    return list(rows.values())


def _print(rows: Sequence[Row]) -> None:
    print(*table(list(rows[0]), [list(row.values()) for row in rows]), sep="\n", end="\n\n")


def main() -> None:
    """Measures everything, prints tables, and with `--json` writes the same figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="of each process and each proof")
    parser.add_argument("--spec", default="", help="part of the name of the specs to look at")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    paths = [path for path in SPECS if chosen.spec in path.stem]
    figures: Row = {
        "kgen": kgen.__version__,
        "python": platform.python_version(),
        "triton": triton_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "processes": [row for path in paths for row in processes(path, chosen.runs)],
        "launchers": [row for path in paths for row in kernels(path, chosen.runs)],
    }
    versions = f"kgen {figures['kgen']}, Python {figures['python']}, Triton {figures['triton']}"
    print(f"{versions}, {figures['machine']}\n")
    _print(figures["processes"])
    _print(figures["launchers"])
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
