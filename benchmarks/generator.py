"""How long kgen itself takes: whole processes, many variants, plan checks, compiling. No kernel is run.

    python benchmarks/generator.py [--runs N] [--variants N] [--json FILE]

Times are wall-clock seconds on the machine it runs on; a process is timed from its start to its exit.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import kgen
from kgen.cli.bundle import files, write
from kgen.cli.table import table
from kgen.compile import compile_all, manifest_jobs
from kgen.devices import targets
from kgen.make import make
from kgen.plan.build import build
from kgen.plan.check import check
from kgen.plan.templates import Templates
from kgen.render.assemble import raw_text
from kgen.spec import load

ROOT = Path(__file__).resolve().parents[1]
SPECS = sorted((ROOT / "specs").rglob("*.yaml"))
SPEC = ROOT / "specs" / "attention" / "gqa8_fp8_page1.yaml"
SPACE: Mapping[str, Sequence[int]] = {
    "regimes.decode.tile.BLOCK_N": (32, 64, 128),
    "regimes.decode.launch.num_warps": (1, 2, 4, 8),
    "regimes.decode.launch.num_stages": (1, 2, 3, 4, 5),
    "regimes.decode.splits.waves": (1, 2, 3, 4),
    "regimes.decode.splits.min_chunk": (128, 256, 512, 1024, 2048),
}
"""Parameters of SPEC; their 1,200 combinations are its variants."""

LOADED = (
    "import sys; from kgen.cli import main\n"
    "try: main()\n"
    "except SystemExit: print(*sys.modules, file=sys.stderr)"
)
"""Runs `kgen`, then names every module that it loaded."""

Row = dict[str, Any]


def processes(runs: int) -> list[Row]:
    """`kgen --help` and `kgen render`, the latter with a new cache each time and with a filled one."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["render", str(SPEC), "-o", f"{folder}/out"]
        new = [f"{folder}/cache{number}" for number in range(runs)]
        return [
            _timed("kgen --help", ["--help"], [new[0]] * runs),
            _timed("kgen render, new cache", command, new),
            _timed("kgen render, filled cache", command, [new[0]] * runs),
        ]


def _timed(what: str, arguments: Sequence[str], caches: Iterable[str]) -> Row:
    seconds = []
    for cache in caches:
        start = time.perf_counter()
        _kgen(["-m", "kgen", *arguments], cache)
        seconds.append(time.perf_counter() - start)
    return {
        "process": what,
        "runs": len(seconds),
        "median": statistics.median(seconds),
        "least": min(seconds),
    }


def _kgen(arguments: Sequence[str], cache: str) -> str:
    """Runs Python with these arguments; returns stderr."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "KGEN_CACHE": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def imports() -> Row:
    """The modules that `kgen render` loads where everything is in the cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["-c", LOADED, "render", str(SPEC), "-o", f"{folder}/out"]
        _kgen(command, f"{folder}/cache")
        loaded = _kgen(command, f"{folder}/cache").split()
    packages = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    public = sorted(name for name in packages if not name.startswith("_"))
    return {"modules": len(loaded), "packages": public}


def variants(count: int) -> Row:
    """Spec to text, without formatting and without checks, for `count` variants in this process."""
    templates = Templates()
    combinations = itertools.islice(itertools.product(*SPACE.values()), count)
    seconds, texts = [], set()
    for values in combinations:
        overrides = [f"{key}={value}" for key, value in zip(SPACE, values)]
        start = time.perf_counter()
        plan = build(load(SPEC, overrides), templates)
        text = raw_text(plan, templates)
        seconds.append(time.perf_counter() - start)
        texts.add(text)
    return {
        "variants": len(seconds),
        "distinct": len(texts),
        "total": sum(seconds),
        "median": statistics.median(seconds),
        "most": max(seconds),
    }


def checks() -> list[Row]:
    """The plan checks of each spec, in this process; the first one also loads the prover."""
    rows = []
    for path in SPECS:
        plan = build(load(path), Templates())
        start = time.perf_counter()
        checked = check(plan)
        rows.append(
            {
                "spec": path.stem,
                "obligations": len(checked.obligations),
                "proved": sum(one.status == "proved" for one in checked.obligations),
                "seconds": time.perf_counter() - start,
            }
        )
    return rows


def compiling() -> list[Row]:
    """The compiler's time for each kernel and target of SPEC, two processes at a time, nothing recorded before."""
    with tempfile.TemporaryDirectory() as folder:
        made = make(load(SPEC), Templates())
        write(files(made, Path(folder)))
        jobs = manifest_jobs(made.manifest, Path(folder, "submission.py"), targets())
        results = compile_all(jobs, cache_dir=Path(folder, "cache"))
    return [
        {
            "kernel": job.function,
            "target": job.target,
            "status": resources.status,
            "seconds": resources.seconds,
        }
        for job, resources in zip(jobs, results, strict=True)
    ]


def _print(rows: Sequence[Row]) -> None:
    print(*table(list(rows[0]), [list(row.values()) for row in rows]), sep="\n", end="\n\n")


def main() -> None:
    """Measures everything, prints tables, and with `--json` writes the same figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7, help="of each process")
    parser.add_argument("--variants", type=int, default=1000)
    parser.add_argument("--json", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    figures: Row = {
        "kgen": kgen.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "processes": processes(chosen.runs),
        "imports": imports(),
        "variants": variants(chosen.variants),
        "checks": checks(),
        "compiling": compiling(),
    }
    print(f"kgen {figures['kgen']}, Python {figures['python']}, {figures['machine']}\n")
    _print(figures["processes"])
    loaded = figures["imports"]
    print(
        f"kgen render, filled cache, loads {loaded['modules']} modules; beside the standard library:"
    )
    print(f"  {', '.join(loaded['packages'])}\n")
    _print([figures["variants"]])
    _print(figures["checks"])
    _print(figures["compiling"])
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
