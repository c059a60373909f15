"""How long proving takes: whole `kgen check` processes, and each launcher's kernels in a warm process. No kernel is run.

    python benchmarks/prover.py [--runs N] [--spec TEXT] [--json FILE]

Of processes, `wall` is seconds from start to exit and `processor` what they and their children computed, with a new
cache and with a filled one, the least of some runs. With a new cache three processes work side by side, so leave the
machine to it. Those of launchers are processor seconds of the reading and the proofs, without Triton's front end; the
second check of their certificates, which `kgen check` leaves to another process, stands beside them. The last lines say
which of the aims are met.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import kgen
from kgen.algebra.sympy_check import refused
from kgen.cli import COLLECTED_AFTER
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
DEMO = "gqa8_fp8_page1"
KERNEL = 0.1
CHECKS = {"filled cache": 1.0, "new cache": 5.0}
"""The most seconds that each may take."""
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
    seconds, processor = [], []
    for cache in caches:
        start, before = time.perf_counter(), _children()
        subprocess.run(
            [sys.executable, "-m", "kgen", "check", str(path)],
            env={**os.environ, "KGEN_CACHE": cache},
            capture_output=True,
            check=True,
        )
        seconds.append(time.perf_counter() - start)
        processor.append(_children() - before)
    return {
        "spec": path.stem,
        "kgen check": what,
        "runs": len(seconds),
        "wall": min(seconds),
        "processor": min(processor),
    }


def _children() -> float:
    """Processor seconds of every process that was started and has ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def kernels(path: Path, runs: int) -> list[Row]:
    """The proofs of each launcher in each case, the quickest of some runs in this process."""
    plan = build(load(path), Templates())
    planned = list(launchers(plan, workshop(Templates())))
    text = raw_text(plan, Templates())
    rows: dict[int, Row] = {}
    prove_world = check.prove_world
    for _ in range(runs):
        numbers = iter(range(len(rows) + 1000))

        def timed(world, launcher, functions, whole=True):
            start = time.process_time()
            proof = prove_world(world, launcher, functions, whole=whole)
            seconds = time.process_time() - start
            unconfirmed = refused(proof.certificates)
            again = time.process_time() - start - seconds
            number = next(numbers)
            row = {
                "spec": path.stem,
                "launcher": launcher,
                "kernels": len(functions),
                "obligations": len(proof.obligations),
                "proved": sum(one.status == "proved" for one in proof.obligations),
                "certificates": len(proof.certificates) - len(unconfirmed),
                "seconds": seconds,
                "a kernel": seconds / len(functions),
                "second check": again,
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


def aims(figures: Row) -> Iterator[str]:
    """A line for each aim: met or not, and by what."""
    worst = max(figures["launchers"], key=lambda row: row["a kernel"])
    yield _aim("a kernel, warm", worst["a kernel"], KERNEL, f"{worst['spec']}, {worst['launcher']}")
    demo = {row["kgen check"]: row for row in figures["processes"] if row["spec"] == DEMO}
    for what, most in CHECKS.items():
        if what in demo:
            yield _aim(f"kgen check, {what}", demo[what]["wall"], most, DEMO)


def _aim(what: str, seconds: float, most: float, where: str) -> str:
    met = "met" if seconds < most else "NOT met"
    return f"aim {met}: {what} takes {seconds:.3f} s of {most} s ({where})"


def _print(rows: Sequence[Row]) -> None:
    print(*table(list(rows[0]), [list(row.values()) for row in rows]), sep="\n", end="\n\n")


def main() -> None:
    """Measures everything, prints tables, and with `--json` writes the same figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="of each process and each proof")
    parser.add_argument("--spec", default="", help="part of the name of the specs to look at")
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    gc.set_threshold(COLLECTED_AFTER)
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
    print(*aims(figures), sep="\n")
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
