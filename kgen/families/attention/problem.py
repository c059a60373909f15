"""Attention in fp64 torch, and the inputs that kernels are tested on.

Tensors: q [B, Q, HK * G, D]; k_cache [PAGES, PAGE, HK, D] and v_cache [PAGES, PAGE, HK, DV], or as `cache` of the
problem orders these; block_table [B, CAP // PAGE] int32; seq_lens [B] int32; k_scale and v_scale fp32, one element or
[HK], or as the caches without their columns; sinks fp32 [HK * G]; out [B, Q, HK * G, DV]; lse [B, Q, HK * G] fp32. DV is D where the problem has no such axis.
A contiguous cache [B, CAP, HK, D] is here one of pages of CAP tokens, request b having page b. In place of both caches
there may be a kv_cache that holds them, `interleaved` with a dimension of 2 behind the first, or `packed` with values
behind keys. Ragged queries are q [T, HK * G, D] with cu_q [B + 1] int32, and so are out and lse; max_q
is Q.

Whatever a kernel must not use is poisoned: slots and pages that no row of the request sees hold NaN, table entries
past the live length hold ids far outside the cache.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from kgen.families.attention.epilogue_reference import applied, epilogue_inputs
from kgen.families.cases import edges, expand, regime_of, unreached, values_of
from kgen.families.memory import far_apart
from kgen.runner.case import Case, Expected, Work

TORCH = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "fp32": torch.float32,
    "fp8_e4m3": torch.float8_e4m3fn,
    "fp8_e5m2": torch.float8_e5m2,
    "uint8": torch.uint8,
}
ROUNDOFF = {"bf16": 2.0**-8, "fp16": 2.0**-11, "fp32": 2.0**-24}
STRANGE_IDS = (2**30, -1)
NAN_BYTE = 0x7F
"""NaN in both fp8 formats."""
K_SCALE, V_SCALE = 0.5, 2.0
EXTREME_SINKS = (3.0, math.inf, -math.inf, 200.0, -200.0)
BY_TOKEN = ("page", "slot", "h", "d")
"""The order of a cache's dimensions in which tokens are written and read here, and that of a problem that names none."""
MOST_INTERPRETED_KEYS = 16384
MOST_REQUESTS = {"interpret": 512, "gpu": 16384}
MOST_HELD_KEYS = 2**20
"""Of all requests together, in a case that is there to reach a regime."""
LONG_WINDOW = 1024
SPARE_SLOTS = SPARE_ROWS = 3


@dataclasses.dataclass(frozen=True)
class Shape:
    """The sizes of one case; `window` is None where every earlier key is visible.

    A `paged` cache has pages that a table lists; in another each request has one page. With `listed`, the pages of all
    requests are one list of `capacity` tokens. `counts` are the query tokens of each request where they are ragged, all
    side by side among `total`; else it has `queries` of them, in a row of its own.
    """

    requests: int
    queries: int
    heads: int
    group: int
    columns: int
    value_columns: int
    page: int
    capacity: int
    pages: int
    paged: bool
    listed: bool
    window: int | None
    lengths: tuple[int, ...]
    counts: tuple[int, ...] | None = None
    total: int = 0

    def tokens(self, request: int) -> int:
        """Query tokens of a request."""
        return self.queries if self.counts is None else self.counts[request]

    def starts(self) -> list[int]:
        """The first query token of each request, and how many there are in all."""
        return [0, *itertools.accumulate(map(self.tokens, range(self.requests)))]

    def rows(self) -> tuple[int, ...]:
        """The extents of tokens in q and in results."""
        return (self.requests, self.queries) if self.counts is None else (self.total,)

    def row(self, request: int, token: int) -> tuple[int, ...]:
        """Where a request's token is in them."""
        return (request, token) if self.counts is None else (self.starts()[request] + token,)

    def each_token(self) -> Iterator[tuple[int, int]]:
        """Every query token: its request, and its place among the tokens of that."""
        for request in range(self.requests):
            yield from ((request, token) for token in range(self.tokens(request)))

    def live(self, request: int) -> int:
        """Keys of a request that has queries: its length, held within the table."""
        most = self.page * self.pages_of[request] if self.listed else self.capacity
        return min(max(self.lengths[request], 0), most) if self.tokens(request) else 0

    @functools.cached_property
    def pages_of(self) -> tuple[int, ...]:
        """Pages of each request where these are one list: what its length takes, or what is left but for one."""
        left, found = self.capacity // self.page - 1, []
        for length in self.lengths:
            found.append(min(-(-max(length, 0) // self.page), left))
            left -= found[-1]
        return tuple(found)

    def first(self, request: int) -> int:
        """The oldest key that some row of the request sees."""
        if self.window is None:
            return 0
        return max(self.live(request) - self.tokens(request) + 1 - self.window, 0)


def _ragged(problem: Mapping[str, Any]) -> bool:
    return problem.get("queries") == "ragged"


def _shape(problem: Mapping[str, Any], case: Case) -> Shape:
    constants = {name: axis["const"] for name, axis in problem["axes"].items() if "const" in axis}
    axes = {**constants, **case.axes}
    return Shape(
        requests=axes["B"],
        queries=axes["Q"],
        heads=axes["HK"],
        group=axes["G"],
        columns=axes["D"],
        value_columns=axes.get("DV", axes["D"]),
        page=problem["page"] or axes["CAP"],
        capacity=axes["CAP"],
        pages=axes["PAGES"] if problem["page"] else axes["B"],
        paged=problem["page"] is not None,
        listed="table" in problem,
        window=axes.get("WINDOW"),
        lengths=tuple(case.runtime["S"]),
        counts=tuple(case.runtime["N"]) if _ragged(problem) else None,
        total=axes.get("T", 0),
    )


# ---------------------------------------------------------------- cases


def cases(problem: Mapping[str, Any], mode: str) -> list[Case]:
    """Every regime at the edges of its tiles, parts and pages, and each layout; small enough for `interpret` there."""
    found = [*_edge_cases(problem, mode), *_layout_cases(problem), *_workload_cases(problem, mode)]
    found += unreached(problem, found, _cases_at_edges(problem, mode))
    return list({case.name: case for case in found if case.regime is not None}.values())


def _edge_cases(problem: Mapping[str, Any], mode: str) -> list[Case]:
    queries = values_of(problem["axes"]["Q"], (1, 2))
    windows = _windows(problem)
    found = [_case(problem, 0, queries[0], windows[0], [], "plain")]
    points = list(itertools.product(values_of(problem["axes"]["B"], (1, 3)), queries, windows))
    if problem["outside"] == "fallback" and "values" in problem["axes"]["Q"]:
        # a number of tokens that no regime lists
        points += [(points[-1][0], max(queries) + 1, window) for window in windows]
    for b, q, window in dict.fromkeys(points):
        lengths = _edge_lengths(problem, q, window, mode)
        lengths += lengths[: -len(lengths) % b]
        found += [
            _case(problem, b, q, window, list(group), "plain")
            for group in zip(*[iter(lengths)] * b)
        ]
    return found


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
    return sorted(length for length in edges if length <= _most_keys(problem))


def _largest(problem: Mapping[str, Any], parameter: str) -> int:
    return max(regime["parameters"].get(parameter, 0) for regime in problem["regimes"])


def _most_keys(problem: Mapping[str, Any]) -> int:
    capacity = problem["axes"]["CAP"]
    return capacity["range"][1] if "range" in capacity else max(values_of(capacity, ()))


def _layout_cases(problem: Mapping[str, Any]) -> list[Case]:
    """The same work through padded, shifted, expanded and huge tensors, lengths outside the table, extreme queries."""
    axes = problem["axes"]
    b = values_of(axes["B"], (3,))[-1]
    window = _windows(problem)[0]
    lengths = [_largest(problem, "BLOCK_N") + 3, 5, 0][:b] + [7] * (b - 3)
    layouts = ("padded", "shifted", "expanded", "far", "overlong", "extreme")
    return [
        _case(problem, b, q, window, lengths, layout)
        for q in values_of(axes["Q"], (1, 2))
        for layout in layouts
    ]


def _windows(problem: Mapping[str, Any]) -> list[int | None]:
    return values_of(problem["axes"]["WINDOW"], ()) if "WINDOW" in problem["axes"] else [None]


def _cases_at_edges(problem: Mapping[str, Any], mode: str) -> Iterator[Case]:
    """Every combination of sizes at which a regime may begin or end, small ones first."""
    tile = _largest(problem, "BLOCK_N")
    totals = edges(problem, "T") if _ragged(problem) else [0]
    points = [totals, edges(problem, "CAP"), edges(problem, "B"), edges(problem, "Q")]
    for total, keys, b, q, window in itertools.product(*points, _windows(problem)):
        if b <= MOST_REQUESTS[mode] and b * keys <= MOST_HELD_KEYS:
            # the interpreter takes long over many requests, so most of them are empty
            lengths = [0] * b
            lengths[0], lengths[b // 2], lengths[-1] = 5, 1, min(tile + 3, _most_keys(problem))
            yield _case(problem, b, q, window, lengths, "plain", keys, total=total)


def _workload_cases(problem: Mapping[str, Any], mode: str) -> list[Case]:
    """The spec's own `workloads.check`, those that the interpreter can do where it has to."""
    found = []
    for axes, runtime in expand(problem["workloads"]["check"]):
        given = runtime.get("S", [1])
        b = axes.get("B", len(given))
        lengths = given if len(given) == b else given[:1] * b
        if mode == "gpu" or sum(lengths) <= MOST_INTERPRETED_KEYS:
            q = axes.get("Q", values_of(problem["axes"]["Q"], (1,))[0])
            window = axes.get("WINDOW", _windows(problem)[0])
            found.append(
                _case(
                    problem,
                    b,
                    q,
                    window,
                    lengths,
                    "check",
                    counts=runtime.get("N"),
                    total=axes.get("T", 0),
                )
            )
    return found


def _case(
    problem: Mapping[str, Any],
    b: int,
    q: int,
    window: int | None,
    lengths: list[int],
    layout: str,
    keys: int = 0,
    counts: list[int] | None = None,
    total: int = 0,
) -> Case:
    """A case whose table is just wide enough for its longest request and for `keys`, in a cache with one page to spare.

    A contiguous cache has some slots to spare in each request, a list of all requests' pages one entry. Of ragged queries
    the first request has all that it may have, the next one, one, and a third none, unless `counts` says otherwise. Behind
    them are rows of nobody, up to `total` of all, and some in the padded layout.
    """
    page = problem["page"]
    most = max([*lengths, keys, 1])
    capacity = -(-most // page) * page if page else min(most + SPARE_SLOTS, _most_keys(problem))
    axes: dict[str, int | None] = {"B": b, "Q": q, "CAP": capacity}
    if page:
        axes["PAGES"] = b * (capacity // page) + 1
    if "WINDOW" in problem["axes"]:
        axes["WINDOW"] = window
    if layout == "overlong":
        lengths = [capacity + 5, *([-3] * (b - 1))]
    if "table" in problem:
        held = [min(max(length, 0), capacity) for length in lengths]
        axes["CAP"] = page * (sum(-(-length // page) for length in held) + -(-keys // page) + 1)
        axes["PAGES"] = axes["CAP"] // page + 1
    runtime, own = {"S": list(lengths)}, ""
    if _ragged(problem):
        runtime["N"] = counts or [(q, 1, 0)[request % 3] for request in range(b)]
        spare = SPARE_ROWS if layout == "padded" else 0
        axes["T"], own = (
            max(sum(runtime["N"]) + spare, total),
            f" N {','.join(map(str, runtime['N']))}",
        )
    regime = regime_of(problem, axes, aligned=layout != "shifted") if b else ""
    sees = "" if window is None else f" window {window}"
    name = f"B {b} Q {q}{own}{sees} S {_listed(lengths)} {layout}"
    return Case(name=name, axes=axes, runtime=runtime, layout=layout, regime=regime)


def _listed(lengths: list[int]) -> str:
    """The lengths of all requests, many equal ones in a row as their count."""
    runs = [(length, len(list(run))) for length, run in itertools.groupby(lengths)]
    texts = [
        f"{count} of {length}" if count > 16 else ",".join([str(length)] * count)
        for length, count in runs
    ]
    return ",".join(texts)


def workloads(problem: Mapping[str, Any]) -> list[Case]:
    """The spec's own `workloads.bench`."""
    found = []
    for axes, runtime in expand(problem["workloads"]["bench"]):
        b = axes.get("B", len(runtime.get("S", [1])))
        q = axes.get("Q", values_of(problem["axes"]["Q"], (1,))[0])
        given = runtime.get("S", [1])
        lengths = given if len(given) == b else given[:1] * b
        window = axes.get("WINDOW", _windows(problem)[0])
        case = _case(
            problem, b, q, window, lengths, "plain", counts=runtime.get("N"), total=axes.get("T", 0)
        )
        if len(set(lengths)) == 1:
            sees = "" if window is None else f" window {window}"
            case = dataclasses.replace(case, name=f"B {b} Q {q}{sees} S {lengths[0]}")
        found.append(case)
    return list({case.name: case for case in found if case.regime is not None}.values())


def work(problem: Mapping[str, Any], case: Case) -> Work:
    """q, a gate, the live keys and values, their table entries and lengths read once, out and lse written once.

    A row's operations are those of its two products with the keys that it sees.
    """
    shape = _shape(problem, case)
    rows = math.prod(shape.rows()) * shape.heads * shape.group
    sizes = {name: TORCH[kind].itemsize for name, kind in problem["dtypes"].items()}
    moved = rows * (shape.columns * sizes["q"] + shape.value_columns * sizes["out"])
    moved += 4 * (2 * shape.requests + 1 if shape.listed else shape.requests)
    moved += 4 * rows if problem["lse"] != "none" else 0
    if "gate" in problem.get("epilogue", {}):
        moved += rows * shape.value_columns * sizes["q"]
    pairs, columns = 0, shape.columns + shape.value_columns
    scales = 4 * list(problem["scales"].values()).count("per_token")
    for request in range(shape.requests):
        live, first = shape.live(request), shape.first(request)
        moved += (live - first) * shape.heads * (columns * sizes["kv"] + scales)
        if shape.paged and live > first:
            moved += 4 * (-(-live // shape.page) - first // shape.page)
        for row in range(shape.tokens(request)):
            last = live - shape.tokens(request) + row
            oldest = 0 if shape.window is None else max(last - shape.window + 1, 0)
            pairs += max(last + 1 - oldest, 0) * shape.heads * shape.group
    return Work(moved, 2 * pairs * columns)


def variations(problem: Mapping[str, Any], case: Case) -> list[Case]:
    """The same call with other lengths: shorter ones, in another order."""
    lengths = [max(length - 1 - 7 * i, 0) * 3 // 4 for i, length in enumerate(case.runtime["S"])]
    runtime = {**case.runtime, "S": lengths[::-1]}
    if "N" in runtime:
        runtime["N"] = runtime["N"][::-1]
    return [dataclasses.replace(case, name=f"{case.name}, shorter", runtime=runtime)]


# ---------------------------------------------------------------- inputs


def inputs(
    problem: Mapping[str, Any], case: Case, generator: torch.Generator, device: torch.device
) -> dict[str, torch.Tensor | int | None]:
    """Fresh arguments of the entry, by name."""
    shape = _shape(problem, case)
    dtypes = problem["dtypes"]
    table = _table(shape, generator)
    found: dict[str, torch.Tensor | int | None] = {
        "q": _queries(shape, dtypes["q"], case.layout, generator),
        "k_cache": (k := _cache(problem, shape, shape.columns, table, generator)),
        "v_cache": (v := _cache(problem, shape, shape.value_columns, table, generator)),
        "kv_cache": _JOINED[problem["kv"]][0](k, v) if "kv" in problem else None,
        "block_table": _strange(shape, table),
        "seq_lens": torch.tensor(shape.lengths, dtype=torch.int32),
        **(_lists(shape, _strange(shape, table)) if shape.listed else {}),
        "cu_q": _offsets(shape, case.layout),
        "k_scale": K_SCALE * _scale(problem, "k", shape, table, generator),
        "v_scale": _largest_scale(problem, case.layout)
        * _scale(problem, "v", shape, table, generator),
        "sinks": _sinks(shape, case.layout, generator),
        "window": shape.window,
        "max_q": shape.queries,
    }
    outputs = (*shape.rows(), shape.heads * shape.group, shape.value_columns)
    drawn = epilogue_inputs(problem.get("epilogue", {}), outputs, case.layout, generator)
    found |= {name: value.to(TORCH[dtypes["q"]]) for name, value in drawn.items()}
    used = {name: found[name] for name in problem["arguments"]}
    return {name: _lay_out(value, name, case.layout, device) for name, value in used.items()}


def _scale(
    problem: Mapping[str, Any],
    side: str,
    shape: Shape,
    table: torch.Tensor,
    generator: torch.Generator,
) -> torch.Tensor:
    """One for all heads, another power of two for each of up to four in turn, or a number for each token and head."""
    mode = problem["scales"][side]
    if mode != "per_token":
        return 2.0 ** (torch.arange(shape.heads if mode == "per_head" else 1) % 4)
    scales = torch.full((shape.pages, shape.page, shape.heads), math.nan, device=table.device)
    for page, slot in _visible(shape, table):
        size = (len(slot), shape.heads)
        scales[page, slot] = 0.25 + torch.rand(size, generator=generator, device=table.device)
    return scales.permute(*_order(problem, columns=False)).contiguous()


def _largest_scale(problem: Mapping[str, Any], layout: str) -> float:
    """The scale of values; as one of tokens also so large that its product with p is no fp16 number."""
    ample = problem["scales"]["v"] == "per_token" and problem["dtypes"]["out"] != "fp16"
    return V_SCALE * 2.0**17 if ample and layout == "extreme" else V_SCALE


def _offsets(shape: Shape, layout: str) -> torch.Tensor:
    """Where requests begin among ragged queries; with an `overlong` table, the first before all and the last behind."""
    offsets = torch.tensor(shape.starts(), dtype=torch.int32)
    if layout == "overlong":
        offsets[0] -= 5
        offsets[-1] += 7
    return offsets


def _sinks(shape: Shape, layout: str, generator: torch.Generator) -> torch.Tensor:
    """Logits like those of scores, or, in turn, ones that exceed all of them and that nothing comes of."""
    size = (shape.heads * shape.group,)
    if layout in ("check", "extreme"):
        return torch.tensor(EXTREME_SINKS).repeat(size[0])[: size[0]]
    return 2 * torch.randn(size, generator=generator, device=generator.device)


def _queries(shape: Shape, dtype: str, layout: str, generator: torch.Generator) -> torch.Tensor:
    size = (*shape.rows(), shape.heads * shape.group, shape.columns)
    q = torch.randn(size, generator=generator, device=generator.device).clamp(-4, 4)
    if layout == "extreme" and q.numel():
        # rows of very different size: a cast of q to a narrow type would lose the small ones or overflow
        q *= torch.logspace(-3, 0, size[-2], device=q.device)[:, None]
        q[..., 0] *= 500.0
    if shape.counts is not None:
        q[shape.starts()[-1] :] = math.nan
    return q.to(TORCH[dtype])


def _table(shape: Shape, generator: torch.Generator) -> torch.Tensor:
    """Pages of each request, all distinct and in random order; page 0 belongs to nobody, if they are listed."""
    if not shape.paged:
        return _own_pages(shape, generator.device)
    ids = torch.randperm(shape.pages - 1, generator=generator, device=generator.device)
    if shape.listed:
        rows = (ids[: sum(shape.pages_of)] + 1).split(shape.pages_of)
        table = torch.nn.utils.rnn.pad_sequence([*rows, ids.new_zeros(1)], batch_first=True)
        return table[:-1].to(torch.int32)
    width = shape.capacity // shape.page
    ids = ids[: shape.requests * width] + 1
    return ids.view(shape.requests, width).to(torch.int32)


def _own_pages(shape: Shape, device: torch.device) -> torch.Tensor:
    """The table of a contiguous cache: the page of request b is b."""
    return torch.arange(shape.requests, device=device)[:, None]


def _cache(
    problem: Mapping[str, Any],
    shape: Shape,
    columns: int,
    table: torch.Tensor,
    generator: torch.Generator,
) -> torch.Tensor:
    """Random tokens where some row sees them, NaN everywhere else."""
    size = (shape.pages, shape.page, shape.heads, columns)
    cache = torch.full(size, math.nan, dtype=torch.float32, device=table.device)
    cache = cache.to(TORCH[problem["dtypes"]["kv"]])
    for page, slot in _visible(shape, table):
        fresh = torch.randn((len(slot), *size[2:]), generator=generator, device=table.device)
        _bytes(cache)[page, slot] = _bytes(fresh.clamp(-4, 4).to(cache.dtype))
    stored = TORCH[problem.get("stored", problem["dtypes"]["kv"])]
    return cache.permute(_order(problem)).contiguous().view(stored)


def _visible(shape: Shape, table: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """For each request, the pages and slots of the keys that some row of it sees."""
    for request in range(shape.requests):
        keys = torch.arange(shape.first(request), shape.live(request), device=table.device)
        yield table[request, keys // shape.page].long(), keys % shape.page


def _order(problem: Mapping[str, Any], columns: bool = True) -> list[int]:
    """How dimensions by token are to be permuted into those of a cache, or of one without columns."""
    return [BY_TOKEN.index(name) for name in _dims(problem) if columns or name != "d"]


_JOINED = {
    "interleaved": (lambda k, v: torch.stack((k, v), 1), lambda kv: kv.unbind(1)),
    "packed": (lambda k, v: torch.cat((k, v), -1), lambda kv: kv.chunk(2, -1)),
}
"""How keys and values become one tensor, and are taken apart again."""


def _caches(
    problem: Mapping[str, Any], arguments: Mapping[str, Any]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values of a call."""
    if "kv" in problem:
        return _JOINED[problem["kv"]][1](arguments["kv_cache"])
    return arguments["k_cache"], arguments["v_cache"]


def _dims(problem: Mapping[str, Any]) -> list[str]:
    """The order of a cache's dimensions, the requests of a contiguous one being its pages."""
    return ["page" if name == "b" else name for name in problem.get("cache", BY_TOKEN)]


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself, fp8 as bytes: indexing is not there for fp8 everywhere."""
    return tensor.view(torch.uint8) if tensor.element_size() == 1 else tensor


def _strange(shape: Shape, table: torch.Tensor) -> torch.Tensor:
    """The table with entries that no row needs replaced by ids outside the cache."""
    table = table.clone()
    entries = torch.arange(table.shape[1], device=table.device)
    strange = torch.where(entries % 2 == 0, *STRANGE_IDS).to(table.dtype)
    for request in range(shape.requests):
        first, end = shape.first(request) // shape.page, -(-shape.live(request) // shape.page)
        used = (entries >= first) & (entries < end)
        if shape.first(request) >= shape.live(request):
            used = torch.zeros_like(used)
        table[request] = torch.where(used, table[request], strange)
    return table


def _lists(shape: Shape, table: torch.Tensor) -> dict[str, torch.Tensor]:
    """The rows of a table one behind the other, then an entry that is nobody's; the last page of no page holds anything."""
    rows = [row[:count] for row, count in zip(table, shape.pages_of)]
    last = [
        length - (count - 1) * shape.page if count else STRANGE_IDS[request % 2]
        for request, (length, count) in enumerate(zip(shape.lengths, shape.pages_of))
    ]
    spare = shape.capacity // shape.page - sum(shape.pages_of)
    listed = [*rows, table.new_full((spare,), STRANGE_IDS[0])]
    return {
        "kv_indptr": torch.tensor([0, *itertools.accumulate(shape.pages_of)], dtype=torch.int32),
        "kv_indices": torch.cat(listed),
        "kv_last_page_len": torch.tensor(last, dtype=torch.int32),
    }


def _pages_of(
    problem: Mapping[str, Any], shape: Shape, arguments: Mapping[str, Any]
) -> list[torch.Tensor]:
    """The pages of each request, as a call says."""
    if shape.listed:
        starts = arguments["kv_indptr"].tolist()
        listed = arguments["kv_indices"].long()
        return [listed[start:end] for start, end in itertools.pairwise(starts)]
    if shape.paged:
        return list(arguments["block_table"].long())
    return list(_own_pages(shape, arguments["q"].device))


def _lay_out(value: Any, name: str, layout: str, device: torch.device) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    value = value.to(device)
    if value.dim() < 2 or not value.numel():
        return value
    if layout == "padded":
        # every dimension but the last wider than it need be, by what keeps rows 16 elements apart
        wide = [extent + 1 for extent in value.shape[:-1]] + [value.shape[-1] + 16]
        return _within(value, wide, 0)
    if layout == "shifted" and name != "block_table":
        return _within(value, [*value.shape[:-1], value.shape[-1] + 1], 1)
    if layout == "expanded" and name == "q":
        return value[..., :1, :].expand(value.shape)
    if layout == "far" and name != "q" and value.dim() > 2:
        return far_apart(value)
    return value


def _within(value: torch.Tensor, wide: list[int], start: int) -> torch.Tensor:
    """A copy of `value` inside a larger tensor whose other elements are poison."""
    if value.is_floating_point():
        whole = torch.full(wide, math.nan, dtype=torch.float32)
    else:
        poison = NAN_BYTE if value.dtype == torch.uint8 else STRANGE_IDS[0]
        whole = torch.full(wide, poison, dtype=value.dtype)
    view = whole.to(value.dtype).to(value.device)
    index = tuple(slice(0, extent) for extent in value.shape[:-1])
    view = view[(*index, slice(start, start + value.shape[-1]))]
    view.copy_(value)
    return view


# ---------------------------------------------------------------- reference


def expected(
    problem: Mapping[str, Any], case: Case, arguments: Mapping[str, Any]
) -> dict[str, Expected]:
    """The epilogue of softmax(cap(q k^T * scale * k_scale), masked, beside a sink) v * v_scale in fp64, and how far rounding
    may take a kernel from it.

    The error of an output is that of P rounded to the operand type, independent from key to key, so that it grows
    with sqrt(sum p^2 v^2); of the scores, accumulated in fp32 over D products, so that p is off by their absolute
    error, of which a softcap leaves the less, the nearer they are to it; of parts that are kept in a narrow type; and of
    one rounding to the output type. Norm and gate pass on all but the last.
    """
    shape = _shape(problem, case)
    out, lse, spread, score_error = _attend(problem, shape, arguments)
    rounding = ROUNDOFF[problem["dtypes"]["operand"]]
    relative = 1.01 * ROUNDOFF[problem["dtypes"]["out"]]
    if problem["tolerance"] != "auto":
        rounding = float(problem["tolerance"])
    parts = _rounding_of_parts(problem, case, shape).to(spread.device)
    error = (4 * (rounding + score_error) + parts) * spread
    out, error = applied(problem.get("epilogue", {}), arguments, out, error)
    absolute = error + 1e-6
    scores = "scores, parts" if parts.any() else "scores"
    why = f"4 x ({rounding:.1e} + {scores}) x sqrt(sum p^2 v^2) + {relative:.1e} x |out|"
    why += " through the epilogue" if "epilogue" in problem else ""
    found = {"out": Expected(out, absolute, relative, why, TORCH[problem["dtypes"]["out"]])}
    if problem["lse"] != "none":
        absolute = 4 * score_error.squeeze(-1) + 1e-5
        why = "4 x the error of a score + 1e-5"
        found["lse"] = Expected(lse, absolute, 1e-5, why, torch.float32)
    return {name: found[name] for name in problem["returns"]}


def _rounding_of_parts(problem: Mapping[str, Any], case: Case, shape: Shape) -> torch.Tensor:
    """What rounded parts may add to an output's error, over sqrt(sum p^2 v^2), [tokens of q, 1, 1] in fp64.

    Each is off by at most half a unit of its own size, all of them by half a unit of sum p |v|, and that is at most
    sqrt(sum p^2 v^2) times the root of the number of keys.
    """
    own = [one["parameters"] for one in problem["regimes"] if one["name"] == case.regime]
    kept = own[0].get("PARTIALS", "fp32") if own else "fp32"
    found = torch.zeros((*shape.rows(), 1, 1), dtype=torch.float64)
    for request, token in shape.each_token() if kept != "fp32" else ():
        keys = max(shape.live(request) - shape.first(request), 0)
        found[shape.row(request, token)] = ROUNDOFF[kept] / 2 * math.sqrt(keys)
    return found


def _scale_of_rows(
    problem: Mapping[str, Any],
    side: str,
    shape: Shape,
    arguments: Mapping[str, Any],
    page: torch.Tensor,
    slot: torch.Tensor,
) -> torch.Tensor:
    """The factor of each query head's keys or values in fp64, [HK * G, 1] or one for each key; 1 where there is none."""
    given = arguments.get(f"{side}_scale", torch.ones(1)).double().to(arguments["q"].device)
    if problem["scales"][side] != "per_token":
        return given.expand(shape.heads).repeat_interleave(shape.group)[:, None]
    dims = [name for name in _dims(problem) if name != "d"]
    by_token = given.permute([dims.index(name) for name in BY_TOKEN[:-1]])
    return by_token[page, slot].T.repeat_interleave(shape.group, dim=0)


def _attend(
    problem: Mapping[str, Any], shape: Shape, arguments: Mapping[str, Any]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """out, lse, sqrt(sum p^2 v^2) and the absolute error of a score, each with the rows of q."""
    q = arguments["q"].double()
    by_token = [_dims(problem).index(name) for name in BY_TOKEN]
    caches = [one.permute(by_token) for one in _caches(problem, arguments)]
    pages = _pages_of(problem, shape, arguments)
    out = q.new_zeros((*q.shape[:-1], shape.value_columns))
    spread = torch.zeros_like(out)
    sink, sink_error = _sink_of_rows(arguments)
    lse = torch.full(q.shape[:-1], -math.inf, dtype=torch.float64, device=q.device)
    score_error = torch.zeros((*q.shape[:-1], 1), dtype=torch.float64, device=q.device)
    # what is left of a product after the casts of q and k: fp16 and bf16 hold their sources, fp32 sums them
    unit = 2.0**-24 if problem["dtypes"]["q"] in ("bf16", problem["dtypes"]["operand"]) else 2.0**-8
    for request, token in shape.each_token():
        row = shape.row(request, token)
        lse[row] = sink.squeeze(-1)
        last = shape.live(request) - shape.tokens(request) + token
        first = 0 if shape.window is None else max(last - shape.window + 1, 0)
        keys = torch.arange(first, max(last + 1, first), device=q.device)
        if not len(keys):
            continue
        page, slot = pages[request][keys // shape.page], keys % shape.page
        k, v = (
            _bytes(cache)[page, slot]
            .view(TORCH[problem["dtypes"]["kv"]])
            .float()
            .double()
            .repeat_interleave(shape.group, dim=1)
            for cache in caches
        )
        k_scale, v_scale = (
            _scale_of_rows(problem, side, shape, arguments, page, slot) for side in ("k", "v")
        )
        scale = problem["softmax"] * k_scale
        query = q[row]
        scores = torch.einsum("hd,nhd->hn", query, k) * scale
        error = 4 * unit * torch.einsum("hd,nhd->hn", query.abs(), k.abs()) * scale
        if "softcap" in problem:
            scores, error = _capped(scores, error, problem["softcap"])
        total = torch.cat([scores, sink], -1).logsumexp(-1)
        p = (scores - total[:, None]).exp()
        out[row] = torch.einsum("hn,nhd->hd", p * v_scale, v)
        spread[row] = torch.einsum("hn,nhd->hd", (p * v_scale) ** 2, v**2).sqrt()
        lse[row] = total
        score_error[row] = torch.maximum(error.amax(-1, keepdim=True), sink_error)
    if problem["lse"] == "base_2":
        lse = lse / math.log(2.0)
    return out, lse, spread, score_error


def _sink_of_rows(arguments: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """The logit of each query head's sink, [HK * G, 1] in fp64, and its error in fp32; -inf where there are none."""
    q = arguments["q"]
    none = torch.full(q.shape[-2:-1], -math.inf, device=q.device)
    sink = arguments.get("sinks", none).double().to(q.device)[:, None]
    return sink, torch.where(sink.isfinite(), sink.abs() * 2.0**-22, 0.0)


def _capped(
    scores: torch.Tensor, error: torch.Tensor, cap: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Capped scores, and their error: what is left of it where the cap is steepest, and that of the cap in fp32."""
    steepest = 1 - torch.tanh((scores.abs() - error).clamp(min=0) / cap) ** 2
    return cap * torch.tanh(scores / cap), error * steepest + cap * 2.0**-21
