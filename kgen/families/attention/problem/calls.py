"""Which calls a file is tested and timed with."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from kgen.families.attention.problem.case import case_of, most_keys, sees
from kgen.families.attention.problem.shape import ragged
from kgen.families.cases import edges, expand, unreached, values_of
from kgen.runner.case import Case

LAYOUTS = ("padded", "shifted", "expanded", "far", "overlong", "extreme")
MOST_INTERPRETED_KEYS = 16384
MOST_REQUESTS = {"interpret": 512, "gpu": 16384}
MOST_HELD_KEYS = 2**20
"""Of all requests together, in a case that is there to reach a regime."""
LONG_WINDOW = 1024


def cases(problem: Mapping[str, Any], mode: str) -> list[Case]:
    """Every regime at the edges of its tiles, parts and pages, and each layout; small enough for `interpret` there."""
    found = [*_edge_cases(problem, mode), *_row_cases(problem), *_layout_cases(problem)]
    found += _checks(problem, mode)
    found += unreached(problem, found, _cases_at_edges(problem, mode))
    return _served(found)


def workloads(problem: Mapping[str, Any]) -> list[Case]:
    """The spec's own `workloads.bench`."""
    found = []
    for case in _workloads(problem, "bench", "plain"):
        lengths, window = case.runtime["S"], case.axes.get("WINDOW")
        if len(set(lengths)) == 1:
            name = f"B {len(lengths)} Q {case.axes['Q']}{sees(window)} S {lengths[0]}"
            case = replace(case, name=name)
        found.append(case)
    return _served(found)


def variations(problem: Mapping[str, Any], case: Case) -> list[Case]:
    """The same call with other lengths: shorter ones, in another order."""
    lengths = [max(length - 1 - 7 * i, 0) * 3 // 4 for i, length in enumerate(case.runtime["S"])]
    runtime = {**case.runtime, "S": lengths[::-1]}
    if "N" in runtime:
        runtime["N"] = runtime["N"][::-1]
    return [replace(case, name=f"{case.name}, shorter", runtime=runtime)]


def _served(found: Iterable[Case]) -> list[Case]:
    """Those that the file does not refuse, one of each name."""
    return list({case.name: case for case in found if case.regime is not None}.values())


def _edge_cases(problem: Mapping[str, Any], mode: str) -> list[Case]:
    queries = values_of(problem["axes"]["Q"], (1, 2))
    windows = _windows(problem)
    found = [case_of(problem, queries[0], windows[0], [], "plain")]
    points = list(itertools.product(values_of(problem["axes"]["B"], (1, 3)), queries, windows))
    if problem["outside"] == "fallback" and "values" in problem["axes"]["Q"]:
        # a number of tokens that no regime lists
        points += [(points[-1][0], max(queries) + 1, window) for window in windows]
    for b, q, window in dict.fromkeys(points):
        lengths = _edge_lengths(problem, q, window, mode)
        lengths += lengths[: -len(lengths) % b]
        groups = zip(*[iter(lengths)] * b)
        found += [case_of(problem, q, window, group, "plain") for group in groups]
    return found


def _row_cases(problem: Mapping[str, Any]) -> Iterator[Case]:
    """Tokens that fill a tile of rows, and one more, where a range allows so many: the first request has no other keys than
    theirs, the second fewer, the third some before them; with a window, one request that is longer than it.
    """
    tokens = -(-_largest(problem, "BLOCK_M") // problem["axes"]["G"]["const"])
    axis, tile = problem["axes"]["Q"], _largest(problem, "BLOCK_N")
    counts = [q for q in (tokens, tokens + 1) if "range" in axis and q in values_of(axis, (q,))]
    requests = values_of(problem["axes"]["B"], (3,))[-1]
    for q, window in itertools.product(counts, _windows(problem)):
        lengths = [q, q - 3, q + tile + 1]
        if window is None:
            yield case_of(problem, q, window, (lengths * requests)[:requests], "plain")
        elif window + q < most_keys(problem):
            yield case_of(problem, q, window, [window + q] + [0] * (requests - 1), "plain")


def _edge_lengths(
    problem: Mapping[str, Any], queries: int, window: int | None, mode: str
) -> list[int]:
    """Lengths around a tile, a page and a part; with a window, around a full one."""
    tile = _largest(problem, "BLOCK_N")
    chunk = _largest(problem, "CHUNK") or _largest(problem, "MIN_CHUNK")
    edges = {0, 1, tile - 1, tile, tile + 1, problem["page"] or 1, chunk + 1, queries - 1}
    if mode == "gpu":
        edges |= {2 * chunk, 2 * chunk + 1, 5 * chunk + tile + 3, 16 * tile}
    if window is not None:
        start = window + queries - 1
        edges = {0, tile + 1, start, start + 1, start + tile + 3}
        if mode == "interpret" and window > LONG_WINDOW:
            edges = {0, start + 1}
    return sorted(length for length in edges if length <= most_keys(problem))


def _largest(problem: Mapping[str, Any], parameter: str) -> int:
    return max(regime["parameters"].get(parameter, 0) for regime in problem["regimes"])


def _layout_cases(problem: Mapping[str, Any]) -> list[Case]:
    """The same work through padded, shifted, expanded and huge tensors, lengths outside the table, extreme queries."""
    axes = problem["axes"]
    b = values_of(axes["B"], (3,))[-1]
    window = _windows(problem)[0]
    lengths = [_largest(problem, "BLOCK_N") + 3, 5, 0][:b] + [7] * (b - 3)
    return [
        case_of(problem, q, window, lengths, layout)
        for q in values_of(axes["Q"], (1, 2))
        for layout in LAYOUTS
    ]


def _windows(problem: Mapping[str, Any]) -> list[int | None]:
    return values_of(problem["axes"]["WINDOW"], ()) if "WINDOW" in problem["axes"] else [None]


def _cases_at_edges(problem: Mapping[str, Any], mode: str) -> Iterator[Case]:
    """Every combination of sizes at which a regime may begin or end, small ones first."""
    tile = _largest(problem, "BLOCK_N")
    totals = edges(problem, "T") if ragged(problem) else [0]
    points = [totals, edges(problem, "CAP"), edges(problem, "B"), edges(problem, "Q")]
    for total, keys, b, q, window in itertools.product(*points, _windows(problem)):
        if b <= MOST_REQUESTS[mode] and b * keys <= MOST_HELD_KEYS:
            # the interpreter takes long over many requests, so most of them are empty
            lengths = [0] * b
            lengths[0], lengths[b // 2], lengths[-1] = 5, 1, min(tile + 3, most_keys(problem))
            yield case_of(problem, q, window, lengths, "plain", keys, total=total)


def _checks(problem: Mapping[str, Any], mode: str) -> list[Case]:
    """The spec's own `workloads.check`, those that the interpreter can do where it has to."""
    found = _workloads(problem, "check", "check")
    return [
        case for case in found if mode == "gpu" or sum(case.runtime["S"]) <= MOST_INTERPRETED_KEYS
    ]


def _workloads(problem: Mapping[str, Any], kind: str, layout: str) -> Iterator[Case]:
    """Workloads of a spec; sizes that one leaves out are the first that the spec declares."""
    for axes, runtime in expand(problem["workloads"][kind]):
        given = runtime.get("S", [1])
        b = axes.get("B", len(given))
        yield case_of(
            problem,
            axes.get("Q", values_of(problem["axes"]["Q"], (1,))[0]),
            axes.get("WINDOW", _windows(problem)[0]),
            given if len(given) == b else given[:1] * b,
            layout,
            counts=runtime.get("N"),
            total=axes.get("T", 0),
        )
