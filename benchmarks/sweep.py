"""How fast a sweep goes, part by part: space, pruning, estimates, rendering, compiling. No kernel is run.

    python benchmarks/sweep.py [--candidates N] [--compiled N] [--finished N] [--json FILE]

Rates are candidates a second of wall-clock time on the machine it runs on, in one process; compiling takes two more.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import kgen
from kgen.cli.table import table
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.render.assemble import draft
from kgen.spec import load
from kgen.sweep.compile_rank import compile_best
from kgen.sweep.cost import CostModel
from kgen.sweep.drive import Sweep
from kgen.sweep.executor import Crew
from kgen.sweep.field import Entrant, Field
from kgen.sweep.model import Ranked
from kgen.sweep.planned import Planner
from kgen.sweep.prune import Rules, prune
from kgen.sweep.rank import by_estimate, rank
from kgen.sweep.shapes import shapes
from kgen.sweep.space import Axes, axes, candidates
from kgen.sweep.state import Plan
from kgen.sweep.store import Store
from kgen.sweep.trial import Answer, File, Job, Place, Timing, Workload

ROOT = Path(__file__).resolve().parents[1]
SPEC = ROOT / "specs" / "attention" / "gqa8_fp8_page1.yaml"
AXES = (
    "decode.tile.BLOCK_N=16,32,64,128,256",
    "decode.launch.num_warps=1,2,4,8",
    "decode.launch.num_stages=1,2,3,4,5,6,7,8",
    "decode.splits.waves=1,2,3,4",
    "decode.splits.min_chunk=64,128,256,512",
    "decode.splits.max=16,32,64,128",
)
"""10,240 candidates of the demo's decode regime."""

T = TypeVar("T")
Row = dict[str, Any]


def timed(what: str, count: int, work: Callable[[], T]) -> tuple[Row, T]:
    """A row, and what `work` gave."""
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    return {"part": what, "candidates": count, "seconds": seconds, "rate": count / seconds}, result


def ranking(count: int) -> list[Row]:
    """Space, pruning and estimates of the first `count` candidates, and the three together."""
    spec, templates = load(SPEC), Templates()
    (one,) = axes(spec, templates, AXES)
    count = min(count, one.size)
    plan = build(spec, templates)
    asked = shapes(plan, one.regime)
    made, every = timed("space", count, lambda: list(islice(candidates(one), count)))
    pruned, left = timed(
        "rules, those that need no proof", count, lambda: prune(Rules(plan, one, templates), every)
    )
    estimated, ranked = timed(
        "estimates",
        len(left.survivors),
        lambda: _ranked(CostModel(plan, one, templates, asked), left.survivors, asked),
    )
    whole = sum(row["seconds"] for row in (made, pruned, estimated))
    together = {
        "part": "all three",
        "candidates": count,
        "seconds": whole,
        "rate": count / whole,
        "dropped": count - len(ranked),
    }
    return [made, pruned, estimated, together]


def _ranked(model: CostModel, survivors: Iterable, asked: Sequence) -> list[Ranked]:
    ranked = [model.ranked(candidate) for candidate in survivors]
    for shape in asked:
        by_estimate(ranked, shape.name)
    return ranked


def compiling(count: int) -> list[Row]:
    """Rendering, and compiling with an empty and a filled cache, for the `count` best of the spec's own space."""
    spec, templates = load(SPEC), Templates()
    found = rank(spec, templates, axes(spec, templates))
    best = list(islice(found.best(), count))
    planner = Planner(found.plan, found.index, templates)

    def render() -> None:
        for one in best:
            draft(planner.whole(planner.regime(one.candidate)), templates)

    rendered, _ = timed("rendering, neither formatted nor proved", len(best), render)
    with tempfile.TemporaryDirectory() as folder:

        def compiled():
            return compile_best(found, templates, count, cache_dir=Path(folder))

        cold, result = timed("proof, rendering and compiling, empty cache", len(best), compiled)
        warm, _ = timed("the same, filled cache", len(best), compiled)
    refused = sum(bool(one.refused) for one in result.compiled)
    return [rendered, {**cold, "refused": refused}, warm]


def resuming(count: int) -> list[Row]:
    """From the start of a sweep with `count` finished trials in its store to its first new trial, and what a trial costs
    besides measuring: handing it out, keeping it on disk, standings.
    """
    field = _toys(count)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder, "store.sqlite"))
        rest = replace(field, entrants=field.entrants[:-1])
        kept, _ = timed(
            "a trial, but for measuring it", len(rest.entrants), lambda: _swept(rest, store)
        )
        store.close()
        start = time.perf_counter()
        begun = _swept(field, Store(Path(folder, "store.sqlite")))
        seconds = begun[0] - start
    what = "finished trials read, until the next begins"
    return [{"part": what, "candidates": count, "seconds": seconds, "rate": count / seconds}, kept]


def _toys(count: int) -> Field:
    """A sweep of `count` and one candidates without text, each slower than the one before."""
    entrants = [
        Entrant((("tile.N", n), ("variant", "toy")), File(str(n), "", {"n": n}), str(n), "", {})
        for n in range(count + 1)
    ]
    return Field("toy", "toy", entrants[0], tuple(entrants))


def _swept(field: Field, store: Store) -> list[float]:
    """Sweeps with a crew that answers at once; gives when trials began."""
    begun: list[float] = []

    def measure(job: Job) -> Answer:
        begun.append(time.perf_counter())
        return Answer("measured", (1.0 + job.candidate.manifest["n"],) * 5, (1.0,) * 5)

    with ThreadPoolExecutor(1) as executor:
        crew = Crew(executor, lambda problem, timing: PLACE, measure, 1, executor.shutdown)
        Sweep(field, store, crew, Timing(), Plan(strategy="exhaustive")).run(PLACE)
    return begun


PLACE = Place("none", "none", (Workload("toy", "toy", "toy"),))


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--compiled", type=int, default=12)
    parser.add_argument("--finished", type=int, default=1_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [*ranking(options.candidates), *compiling(options.compiled)]
    rows += resuming(options.finished)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"kgen {kgen.__version__}, {machine}")
    cells = [
        [row["part"], row["candidates"], f"{row['seconds']:.2f}", f"{row['rate']:,.0f}"]
        for row in rows
    ]
    for line in table(("part", "candidates", "seconds", "candidates / s"), cells):
        print(line)
    if options.json:
        options.json.write_text(json.dumps({"kgen": kgen.__version__, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
