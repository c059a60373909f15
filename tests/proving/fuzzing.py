"""The prover against exhaustive small calls, on random kernels.

    python tests/proving/fuzzing.py --first 100 --seeds 10 --count 180

makes `count` kernels from each seed, proves each for all sizes, runs every program of it at small sizes on an evaluator
that shares no code with the prover, and prints a table. It fails where what is proved goes wrong.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from fuzz import RULES, TYPES, Fuzzed, Maker, file_of
from subjects import TRITON, Subject, T, functions_of, parameters_of, world

from kgen.algebra import Poly, Status
from kgen.prove.facts import EntryOf, Part, Reads, World
from kgen.prove.replay.host import contiguous
from kgen.prove.replay.model import Dim, Instance, Launch, Number, Pointer, TensorSpec, Unsupported
from kgen.prove.replay.report import Report
from kgen.prove.replay.run import run_grid
from kgen.prove.replay.scenes import entries
from kgen.prove.world import prove_world

SIZES = ((1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 1), (16, 2), (17, 3))
FILLS = ("up", "most", "least")
ANYTHING = {"up": -1, "most": 2**31 - 1, "least": -(2**31)}
"""Entries of which nothing is promised."""
OUTCOMES = ("proved", "wrong", "unknown", "refused", "not run")
Seen = Counter[tuple[str, str]]


class ProvedAndWrong(AssertionError):
    """A kernel that is proved and goes wrong all the same: a mistake in the prover, or in the evaluator."""


# ---------------------------------------------------------------- what is declared


def subjects(one: Fuzzed) -> list[Subject]:
    """Its launches, as the prover is told of them."""
    return [
        Subject(
            launch.name,
            launch.tensors,
            one.axes,
            launch.grid,
            {"B": one.block},
            {name: kind for name, kind in TYPES.items() if name in launch.sizes},
        )
        for launch in one.launches
    ]


def declared(one: Fuzzed, parameters: Mapping[str, list[str]]) -> World:
    """The world of its launches, with what is to be read once."""
    built = world(subjects(one), [parameters[launch.name] for launch in one.launches])
    if not one.reads:
        return built
    x, zero = built.tensors["x"], Poly.of(0)
    if one.reads == "all":
        whole = {name: (zero, extent) for name, extent in zip(x.dims, x.extents)}
        reads = Reads("x", x.dims, tuple(map(Part, x.dims)), lambda solved, rows: whole)
    else:
        size, space = Poly.of(one.block), built.space
        page = EntryOf("pages", (Part("b"), Part("p", "quotient", size)))
        every = {"b": (zero, space.named("M")), "p": (zero, space.named("L"))}
        at = (page, Part("p", "remainder", size))
        reads = Reads("x", ("b", "p"), at, lambda solved, rows: every)
    return replace(built, reads=(reads,))


# ---------------------------------------------------------------- small calls


def calls(one: Fuzzed) -> Iterator[tuple[str, Instance, dict[str, int]]]:
    """Calls at small sizes: tables count up, or hold their largest entry everywhere, or the least."""
    for (n, m), (number, filled) in itertools.product(SIZES, enumerate(FILLS)):
        tokens = n * one.block
        sizes = {"N": n, "M": m, "B": one.block}
        sizes |= {"S": (n, n + 3, 2**33)[number], "W": (n, 2**30 + 5, 2**31 - 1)[number]}
        sizes |= {"L": (tokens, max(tokens - 3, 0), tokens // 2)[number], "P": (2, 1, 5)[number]}
        shown = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        yield f"{shown}, tables {filled}", _call(one, sizes, filled), sizes


def _call(one: Fuzzed, sizes: dict[str, int], filled: str) -> Instance:
    tensors = tuple(_tensor(name, tensor, sizes, filled) for name, tensor in one.tensors.items())
    launches = []
    for launch in one.launches:
        arguments: dict[str, object] = {name: Pointer(name) for name in launch.tensors}
        arguments |= {name: Number(sizes[name], TYPES.get(name, "i32")) for name in launch.sizes}
        grid = tuple(_size(extent, sizes) for extent in launch.grid)
        arguments["B"] = one.block
        launches.append(Launch(launch.name, arguments, (*grid, 1, 1)[:3]))
    return Instance({}, tensors, tuple(launches))


def _size(text: str | int, sizes: Mapping[str, int]) -> int:
    return eval(str(text), {**sizes, "ceil_div": lambda a, b: -(-a // b)})


def _tensor(name: str, tensor: T, sizes: Mapping[str, int], filled: str) -> TensorSpec:
    extents = tuple(_size(extent, sizes) for extent in tensor.extents)
    strides = contiguous(extents)
    if tensor.strides is not None:
        strides = tuple(_size(stride, sizes) for stride in tensor.strides)
    dims = tuple(Dim("ij"[axis], *pair) for axis, pair in enumerate(zip(extents, strides)))
    contents = None
    if tensor.entries is not None:
        low, high = (_size(end, sizes) for end in tensor.entries)
        values = np.array(_filled(tensor, low, high, int(np.prod(extents)), filled)).reshape(
            extents
        )
        if tensor.promised is not None:
            values[..., _size(tensor.promised, sizes) :] = ANYTHING[filled]
        contents = entries(values)
    return TensorSpec(name, TRITON[tensor.dtype], dims, tensor.role, contents)


def _filled(tensor: T, low: int, high: int, count: int, filled: str) -> list[int]:
    """Entries that keep what is promised of them."""
    if tensor.rising:
        inner = {
            "up": [low + k * (high - low) // (count - 1) for k in range(1, count - 1)],
            "most": [high] * (count - 2),
            "least": [low] * (count - 2),
        }
        return [low, *inner[filled], high]
    up = [low + k if tensor.distinct else min(low + k, high) for k in range(count)]
    if tensor.distinct:
        return {"up": up, "most": [low + high - e for e in up], "least": up[::-1]}[filled]
    return {"up": up, "most": [high] * count, "least": [low] * count}[filled]


def wrong(source: str, one: Fuzzed) -> str:
    """What goes wrong in some small call; empty if nothing does."""
    for shown, call, sizes in calls(one):
        report = run_grid(source, call)
        for finding in report.findings():
            return f"{shown}: {finding.text}"
        for text in _miscounted(one, report, sizes):
            return f"{shown}: {text}"
    return ""


def _miscounted(one: Fuzzed, report: Report, sizes: Mapping[str, int]) -> Iterator[str]:
    """What is stored or read too often or too seldom, beside what the report itself finds."""
    for name, tensor in one.tensors.items():
        stores, loads = report.counts(name, "store"), report.counts(name, "load")
        if tensor.role in ("scratch", "updated") and (stores > 1).any():
            yield f"an element of {name} is stored twice"
        # integers are followed from their store to their load: whoever depends on them may read them
        summed = tensor.role == "scratch" and not tensor.dtype.startswith("int")
        if summed and (loads != stores).any():
            yield f"what is stored in {name} is not read exactly once"
    if one.reads:
        expected = _expected(one, report.instance, sizes)
        if (report.counts("x", "load").reshape(-1) != expected).any():
            yield "elements of x are not read exactly once"


def _expected(one: Fuzzed, call: Instance, sizes: Mapping[str, int]) -> np.ndarray:
    """How often each element of x is to be read."""
    size = call.tensor("x").size
    if one.reads == "all":
        return np.ones(size, dtype=int)
    pages = call.tensor("pages").contents(np.arange(sizes["M"] * sizes["N"]))
    pages = pages.reshape(sizes["M"], sizes["N"])
    tokens = np.arange(sizes["L"])
    read = pages[:, tokens // sizes["B"]] * sizes["B"] + tokens % sizes["B"]
    return np.bincount(read.reshape(-1), minlength=size)


# ---------------------------------------------------------------- both


def check(seed: int, count: int, folder: Path) -> Seen:
    """What came of the kernels of one seed, by rule and outcome. Raises ProvedAndWrong."""
    made = Maker(seed).kernels(count)
    source = file_of(made)
    file = folder / f"fuzzed{seed}.py"
    file.write_text(source)
    parameters = parameters_of(file)
    functions = iter(functions_of(file, [each for one in made for each in subjects(one)]))
    seen: Seen = Counter()
    for one in made:
        own = [next(functions) for _ in one.launches]
        seen[one.rule, _outcome(seed, source, one, own, parameters)] += 1
        if one.mutation:
            seen["changed once more", one.mutation] += 1
    return seen


def _outcome(seed: int, source: str, one: Fuzzed, functions: list, parameters) -> str:
    if any(isinstance(function, str) for function in functions):
        return "refused"
    obligations = prove_world(declared(one, parameters), "test", functions, whole=False).obligations
    assert obligations
    proved = all(each.status is Status.PROVED for each in obligations)
    try:
        shown = wrong(source, one)
    except Unsupported:
        return "not run"
    if proved and shown:
        grids = "; ".join(f"{launch.name} on {launch.grid}" for launch in one.launches)
        raise ProvedAndWrong(f"seed {seed}, B = {one.block}{one.source}\n{grids}: {shown}")
    return "proved" if proved else "wrong" if shown else "unknown"


def outcomes(seen: Seen) -> Counter[str]:
    """How often each outcome was met."""
    found: Counter[str] = Counter()
    for (name, outcome), count in seen.items():
        if name in RULES:
            found[outcome] += count
    return found


def table(seen: Seen) -> str:
    """The outcomes of each rule, in Markdown."""
    lines = [f"| rule | {' | '.join(OUTCOMES)} |", "|---" * (len(OUTCOMES) + 1) + "|"]
    for name in RULES:
        lines.append(f"| {name} | {' | '.join(str(seen[name, one]) for one in OUTCOMES)} |")
    whole = outcomes(seen)
    lines.append(f"| all | {' | '.join(str(whole[one]) for one in OUTCOMES)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds at most")
    parser.add_argument("--minutes", type=float, default=60, help="of CPU time, then no new seed")
    parser.add_argument("--count", type=int, default=9 * len(RULES), help="kernels of each seed")
    options = parser.parse_args()
    seen: Seen = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.seeds):
            seen += check(seed, options.count, Path(folder))
            minutes = sum(os.times()[:4]) / 60
            print(f"seed {seed}, {minutes:.1f} CPU minutes: {dict(outcomes(seen))}", flush=True)
            if minutes >= options.minutes:
                break
    print(table(seen))
    changed = {name: n for (rule, name), n in seen.items() if rule == "changed once more"}
    print(f"\nchanged once more: {sum(changed.values())}, {changed}")


if __name__ == "__main__":
    main()
