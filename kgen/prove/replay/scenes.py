"""Small calls of emitted files, made from what `manifest.json` says of the problem.

Strides have gaps, so that running from one row into the next is seen; table entries past the live
length are ids outside the cache; lengths lie around the boundaries of tiles and parts, beyond the
capacity, and below 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgen.prove.replay.host import HostTensor, contiguous
from kgen.prove.replay.judge import Scene
from kgen.prove.replay.model import Instance, Launch, Pointer, Reads

_TYPES = {
    **{"bf16": "bf16", "fp16": "fp16", "fp32": "fp32", "int32": "i32", "int64": "i64"},
    **{"fp8_e4m3": "fp8e4nv", "fp8_e5m2": "fp8e5", "uint8": "u8"},
}
_GAP = 16
_MOST_TOKENS = 1 << 30
_HUGE_GAPS = (1 << 21, 1 << 25, 1 << 27, 3 << 26, 1 << 29)
"""Each puts the stride of another dimension below 2**31 and its product with an index beyond."""
Axes = Mapping[str, int | None]
Contents = Callable[[np.ndarray], np.ndarray]


def scenes(manifest: Mapping[str, Any]) -> tuple[Scene, ...]:
    """Scenes that reach every regime of the file. Raises KeyError for a family that has none."""
    made = {"attention": _attention_scenes, "merge": _merge_scenes, "norm": _norm_scenes}
    return made[manifest["family"]](manifest["problem"])


def padded(extents: tuple[int, ...], gap: int = _GAP) -> tuple[int, ...]:
    """Strides with `gap` unused elements after each row, multiples of 16 where `gap` is one."""
    if not gap:
        return contiguous(extents)
    unit = 16 if gap % 16 == 0 else 1
    strides = [1]
    for extent in reversed(extents[1:]):
        inner = strides[-1] * max(extent, 1)
        strides.append(-(-inner // unit) * unit + gap)
    return tuple(reversed(strides))


def entries(values: Any) -> Contents:
    """The contents of an integer tensor, from an array of its shape."""
    flat = np.asarray(values, dtype=np.int64).reshape(-1)
    return lambda elements: flat[elements]


# ---------------------------------------------------------------- attention


def attention_scene(
    problem: Mapping[str, Any], axes: Axes, lengths: Iterable[int], *, gap: int = _GAP
) -> Scene:
    """One call: B, Q, CAP and WINDOW from `axes`, and the length of each request.

    The constant sizes are the problem's. Each request has pages of its own, in descending order;
    the cache has one more than they need. Where pages are one list, CAP bounds each request here,
    and is in the call what the list, one entry longer than it need be, has room for. Where each
    query token has indices of its own, they are CAP, and a length says how many of them count.
    """
    if problem.get("table") == "topk":
        return _sparse_scene(problem, axes, list(lengths), gap)
    sizes = {**_constants(problem), **axes}
    capacity, page, window = sizes["CAP"], _page(problem, sizes), sizes.get("WINDOW")
    given, tokens = list(lengths), _tokens(problem, sizes)
    live = [min(max(length, 0), capacity) if own else 0 for length, own in zip(given, tokens)]
    used = [-(-length // page) for length in live] if problem["page"] else [1] * sizes["B"]
    pages = sum(used) + 1 if problem["page"] else sizes["B"]
    table = np.full((sizes["B"], capacity // page), pages + 7)
    first = 0
    for request, count in enumerate(used):
        table[request, :count] = np.arange(first, first + count)[::-1]
        first += count
    caches = _caches(problem, sizes, pages) | _token_scales(problem, sizes, pages)
    seen = _Seen(live, tokens, window, sizes["G"])

    def reads(instance: Instance) -> tuple[Reads, ...]:
        number = next(n for n, one in enumerate(instance.launches) if _touches(one, caches))
        launch = instance.launches[number]
        joint = _joint(launch)
        tiles = max(1, joint * launch.grid[1] // sizes["HK"])
        own = replace(seen, rows=launch.arguments["BLOCK_M"] if _stops_early(launch) else 0)
        keys = {name: _Keys(table, own, cache, tiles, joint) for name, cache in caches.items()}
        if number > 0:
            # a launch before it divides the keys of all requests: the programs of a head read these
            return tuple(
                Reads(name, number, (1,), own.of_all, own.name(name)) for name, own in keys.items()
            )
        # a launch of its own combines parts; without one, every tile of rows reads all keys
        per = (0, 1) if len(instance.launches) > 1 else (0, 1, 2)
        return tuple(
            Reads(name, 0, per, own.elements, own.name(name)) for name, own in keys.items()
        )

    if problem.get("table") == "csr":
        listed = [*(page for row, count in zip(table, used) for page in row[:count]), pages + 7]
        last = [_last(length, count, page) for length, count in zip(given, used)]
        ends = entries(np.cumsum([0, *used]))
        integers = _lists(sizes["B"], len(listed), ends, entries(listed), entries(last))
        sizes["CAP"] = len(listed) * page
    else:
        integers = _block_table(sizes, capacity // page, gap, entries(table), entries(given))
    sizes["T"], starts = sum(tokens), entries(np.cumsum([0, *tokens]))
    arguments = _attention_arguments(problem, sizes, pages, gap, integers, starts)
    axes = {name: sizes[name] for name in (*axes, *_ragged_axes(problem))}
    return Scene(f"{_shown(axes)}, lengths {given}", axes, arguments, reads)


def _sparse_scene(problem: Mapping[str, Any], axes: Axes, lengths: list[int], gap: int) -> Scene:
    """Indices of which every third names no token. Those of a query token are its own, in descending order."""
    sizes = {**_constants(problem), **axes}
    count, page = sizes["CAP"], _page(problem, sizes)
    tokens = sizes["B"] * sizes["Q"]
    pages = -(-tokens * count // page) + 1
    named = np.arange(tokens * count)[::-1].reshape(tokens, count).copy()
    named[:, 1::3] = np.resize([-1, pages * page, 2**31 - 1, -(2**31)], named[:, 1::3].shape)
    valid = np.repeat(lengths, sizes["Q"]) - np.tile(np.arange(sizes["Q"]), sizes["B"])
    valid = np.clip(valid, -(2**31), 2**31 - 1)
    caches = _caches(problem, sizes, pages)

    def reads(instance: Instance) -> tuple[Reads, ...]:
        # parts of one query token's indices are read together
        per = (0, 1) if len(instance.launches) > 1 else (0, 1, 2)
        sets = _Sets(named, valid, sizes["Q"], instance.launches[0].grid)
        return tuple(
            Reads(name, 0, per, sets.elements(cache, pages), sets.name(name, cache))
            for name, cache in caches.items()
        )

    integers = _sets(sizes, gap, entries(named), entries(valid))
    arguments = _attention_arguments(problem, sizes, pages, gap, integers, entries([0]))
    axes = {name: sizes[name] for name in axes}
    return Scene(f"{_shown(axes)}, lengths {lengths}", axes, arguments, reads)


def _sets(sizes: Axes, gap: int, named: Contents, valid: Contents) -> dict[str, HostTensor]:
    """The indices of all query tokens, and how many of each count."""
    tokens = (sizes["B"], sizes["Q"])
    return {
        "indices": _tensor("indices", "int32", (*tokens, sizes["CAP"]), "btn", gap, named),
        "valid_topk": _tensor("valid_topk", "int32", tokens, "bt", gap, valid),
    }


def _last(length: int, pages: int, page: int) -> int:
    """What the last of a request's pages is said to hold: anything where there is none."""
    return length - (pages - 1) * page if pages else length or 2**31 - 1


def _block_table(
    sizes: Axes, width: int, gap: int, table: Contents, lengths: Contents
) -> dict[str, HostTensor]:
    """A row of pages for each request, and the lengths of all."""
    rows, dims = (sizes["B"], width), ("b", "page")
    return {
        "block_table": _tensor("block_table", "int32", rows, dims, gap, table),
        "seq_lens": _tensor("seq_lens", "int32", (sizes["B"],), "b", gap, lengths),
    }


def _lists(
    requests: int, listed: int, starts: Contents, pages: Contents, last: Contents
) -> dict[str, HostTensor]:
    """The pages of all requests as one list."""
    found = (
        ("kv_indptr", requests + 1, "b", starts),
        ("kv_indices", listed, "page", pages),
        ("kv_last_page_len", requests, "b", last),
    )
    return {
        name: _tensor(name, "int32", (extent,), (dim,), 0, contents)
        for name, extent, dim, contents in found
    }


def attention_corners(
    problem: Mapping[str, Any], axes: Axes, length: int, *, gap: int = _GAP
) -> Scene:
    """A call too large to run whole: requests of one length that share their pages."""
    sizes = {**_constants(problem), **axes}
    pages = -(-sizes["CAP"] // problem["page"]) if problem["page"] else sizes["B"]
    sizes["T"] = min(sizes["B"], _MOST_TOKENS)

    def table(elements: np.ndarray) -> np.ndarray:
        return pages - 1 - elements % pages

    def same(value: int) -> Contents:
        return lambda elements: np.full(len(elements), value)

    if problem.get("table") == "csr":
        # the first and the last request have pages, which are what both list
        page, last = problem["page"], sizes["B"]
        count = -(-length // page)
        integers = _lists(
            last,
            2 * count,
            lambda elements: count * ((elements > 0).astype(np.int64) + (elements == last)),
            table,
            same(_last(length, count, page)),
        )
        sizes["CAP"] = 2 * count * page
    elif problem.get("table") == "topk":
        tokens = pages * problem["page"]
        integers = _sets(sizes, gap, lambda elements: tokens - 1 - elements % tokens, same(length))
    else:
        width = sizes["CAP"] // _page(problem, sizes)
        integers = _block_table(sizes, width, gap, table, same(length))
    arguments = _attention_arguments(
        problem, sizes, pages, gap, integers, lambda elements: np.minimum(elements, sizes["T"])
    )
    axes = {name: sizes[name] for name in (*axes, *_ragged_axes(problem))}
    return Scene(f"{_shown(axes)}, length {length}, gap {gap}", axes, arguments, whole=False)


def _ragged_axes(problem: Mapping[str, Any]) -> tuple[str, ...]:
    return ("T",) if problem.get("queries") == "ragged" else ()


def _tokens(problem: Mapping[str, Any], sizes: Axes) -> list[int]:
    """Query tokens of each request: all that it may have, or where they are ragged of the next one fewer, down to none."""
    most = sizes["Q"]
    if problem.get("queries") != "ragged":
        return [most] * sizes["B"]
    return [(most - request) % (most + 1) for request in range(sizes["B"])]


def _attention_arguments(
    problem: Mapping[str, Any],
    sizes: Axes,
    pages: int,
    gap: int,
    integers: Mapping[str, HostTensor],
    starts: Contents,
) -> dict[str, HostTensor | int | None]:
    dtypes = problem["dtypes"]
    stored = problem.get("stored", dtypes["kv"])
    ragged = bool(_ragged_axes(problem))
    first = (sizes["T"],) if ragged else (sizes["B"], sizes["Q"])
    heads = (*first, sizes["HK"] * sizes["G"])
    outputs = (*heads, sizes.get("DV", sizes["D"]))
    latent, rotary = sizes["D"], sizes.get("DR", 0)
    columns = {"q": latent + rotary, "q_nope": latent, "q_pe": rotary}
    caches = _caches(problem, sizes, pages)
    scales = {
        name: (sizes["HK"] if mode == "per_head" else 1,)
        for name, mode in problem["scales"].items()
    }
    tensors: dict[str, HostTensor | int | None] = {
        **{
            name: _tensor(name, dtypes["q"], (*heads, own), "thd" if ragged else "bthd", gap)
            for name, own in columns.items()
        },
        **{
            name: _tensor(name, stored, tuple(extents.values()), tuple(extents), gap)
            for name, extents in caches.items()
        },
        **integers,
        "k_scale": _tensor("k_scale", "fp32", scales["k"], "h", 0),
        "v_scale": _tensor("v_scale", "fp32", scales["v"], "h", 0),
        **{
            name: _tensor(name, "fp32", tuple(extents.values()), tuple(extents), gap)
            for name, extents in _token_scales(problem, sizes, pages).items()
        },
        "sinks": _tensor("sinks", "fp32", (sizes["HK"] * sizes["G"],), "h", 0),
        "tree_mask": _tensor(
            "tree_mask", problem.get("tree", "int32"), first, "t" if ragged else "bt", gap
        ),
        "norm_weight": _tensor("norm_weight", dtypes["q"], outputs[-1:], "d", 0),
        "gate": _tensor("gate", dtypes["q"], outputs, "thd" if ragged else "bthd", gap),
        "cu_q": _tensor("cu_q", "int32", (sizes["B"] + 1,), "b", gap, starts),
        "window": sizes.get("WINDOW"),
        "max_q": sizes["Q"],
    }
    return {name: tensors[name] for name in problem["arguments"]}


def _caches(problem: Mapping[str, Any], sizes: Axes, pages: int) -> dict[str, dict[str, int]]:
    """The extents of each cache by the names of its dimensions, in their order: tokens first where a problem names none."""
    extents = {"slot": _page(problem, sizes), "h": sizes["HK"], "d": sizes["D"]}
    extents |= {"page": pages, "b": pages}
    keys = {name: extents[name] for name in problem.get("cache", ("page", "slot", "h", "d"))}
    if "kv" not in problem:
        return {"k_cache": keys, "v_cache": {**keys, "d": sizes.get("DV", sizes["D"])}}
    if problem["kv"] == "latent":
        return {"kv_cache": {**keys, "d": sizes["D"] + sizes["DR"]}}
    if problem["kv"] == "latent_split":
        del keys["h"]
        return {"ckv_cache": keys, "kpe_cache": {**keys, "d": sizes["DR"]}}
    if problem["kv"] == "packed":
        return {"kv_cache": {**keys, "d": 2 * sizes["D"]}}
    first = next(iter(keys))
    return {"kv_cache": {first: keys[first], "half": 2, **keys}}


def _token_scales(problem: Mapping[str, Any], sizes: Axes, pages: int) -> dict[str, dict[str, int]]:
    """The extents of scales that each token has: those of a cache without its columns."""
    extents = {"slot": _page(problem, sizes), "h": sizes["HK"], "page": pages, "b": pages}
    dims = [name for name in problem.get("cache", ("page", "slot", "h")) if name != "d"]
    own = {name: extents[name] for name in dims}
    return {f"{side}_scale": own for side, mode in problem["scales"].items() if mode == "per_token"}


def _page(problem: Mapping[str, Any], sizes: Axes) -> int:
    """Tokens of a page: all of a request's, in a page of its own, where the cache is contiguous."""
    return problem["page"] or sizes["CAP"]


@dataclass(frozen=True)
class _Seen:
    """The keys that some row of a request sees: of all its `group` rows a token, or of the `rows` that a program has."""

    live: list[int]
    tokens: list[int]
    window: int | None
    group: int
    rows: int = 0

    def keys(self, request: int, tile: int) -> range:
        live, tokens = self.live[request], self.tokens[request]
        first, end = 0, tokens
        if self.rows:
            first = tile * self.rows // self.group
            end = min(-(-(tile + 1) * self.rows // self.group), tokens)
            if first >= end:
                return range(0)
        oldest = 0 if self.window is None else max(live - tokens + first + 1 - self.window, 0)
        return range(oldest, max(live - tokens + end, 0))


def _stops_early(launch: Launch) -> bool:
    """Whether programs read what their own rows see, and no more: those of the variant `flash_forward`."""
    return launch.function.startswith("forward_")


class _Keys:
    """The keys that rows of a request may see, as elements of the cache."""

    def __init__(
        self, table: np.ndarray, seen: _Seen, cache: dict[str, int], tiles: int, joint: int
    ):
        self._table, self._seen, self._cache = table, seen, cache
        self._tiles, self._joint = tiles, joint

    def elements(self, group: tuple[int, ...]) -> np.ndarray:
        """The elements that the programs of (request, heads and tile of rows, ...) read."""
        request, first = group[0], group[1] // self._tiles * self._joint
        page = self._cache["slot"]
        keys = np.array(self._seen.keys(request, group[-1]), dtype=np.int64)[:, None, None]
        at = {
            "page": self._table[request, keys // page],
            "b": np.array(request),
            "slot": keys % page,
            "h": np.arange(first, first + self._joint)[:, None],
            "half": np.arange(2)[:, None, None, None],
            "d": np.arange(self._cache.get("d", 1)),
        }
        return _elements_at(at, self._cache)

    def of_all(self, group: tuple[int, ...]) -> np.ndarray:
        """The elements that the programs of (head,) read, for all requests."""
        requests = range(len(self._seen.live))
        return np.concatenate([self.elements((request, *group)) for request in requests])

    def name(self, tensor: str) -> Callable[[tuple[int, ...], int], str]:
        """How people call an element: by request and key where it is one of a request's."""

        def describe(group: tuple[int, ...], element: int) -> str:
            at = _place_of(element, self._cache)
            where = f"{tensor}[{_shown(at)}]"
            page = at["page"] if "page" in at else at["b"]
            requests = group[:1] if len(group) > 1 else range(len(self._seen.live))
            for request in requests:
                found = np.flatnonzero(self._table[request] == page)
                if found.size:
                    key = int(found[0]) * self._cache["slot"] + at["slot"]
                    of = f"request {request} (length {self._seen.live[request]})"
                    return f"{where}, key {key} of {of},"
            return f"{where}, no key of {_which(requests)},"

        return describe


class _Sets:
    """The tokens that query tokens see, as elements of the cache: those that their indices name, as far as these count."""

    def __init__(self, named: np.ndarray, valid: np.ndarray, queries: int, grid: tuple[int, ...]):
        self._named, self._valid, self._queries, self._grid = named, valid, queries, grid

    def elements(
        self, cache: dict[str, int], pages: int
    ) -> Callable[[tuple[int, ...]], np.ndarray]:
        """The elements that the programs of a group read."""

        def expected(group: tuple[int, ...]) -> np.ndarray:
            row = self._row(group)
            own = self._named[row, : max(self._valid[row], 0)]
            own = own[(own >= 0) & (own < pages * cache["slot"])][:, None]
            at = {
                "page": own // cache["slot"],
                "slot": own % cache["slot"],
                "h": np.array(0),
                "d": np.arange(cache["d"]),
            }
            return _elements_at(at, cache)

        return expected

    def name(self, tensor: str, cache: dict[str, int]) -> Callable[[tuple[int, ...], int], str]:
        """How people call an element: by the query token for which it is read."""

        def describe(group: tuple[int, ...], element: int) -> str:
            request, token = divmod(self._row(group), self._queries)
            where = f"{tensor}[{_shown(_place_of(element, cache))}]"
            return f"{where}, for query token {token} of request {request},"

        return describe

    def _row(self, group: tuple[int, ...]) -> int:
        """The query token of a group, which is among the programs of one grid dimension, or of one with its tiles."""
        if self._grid[0] == len(self._named):
            return group[0]
        return group[0] * self._queries + group[2] // (self._grid[2] // self._queries)


def _elements_at(at: Mapping[str, np.ndarray], extents: Mapping[str, int]) -> np.ndarray:
    """The elements with these coordinates, by the names of a tensor's dimensions; they are broadcast."""
    places = np.broadcast_arrays(*(at[name] for name in extents))
    return np.ravel_multi_index(places, tuple(extents.values())).reshape(-1)


def _place_of(element: int, extents: Mapping[str, int]) -> dict[str, int]:
    """The coordinates of an element, by the names of a tensor's dimensions."""
    places = np.unravel_index(element, tuple(extents.values()))
    return {name: int(place) for name, place in zip(extents, places)}


def _which(requests: Iterable[int]) -> str:
    one, *others = requests
    return "any request" if others else f"request {one}"


def _joint(launch: Launch) -> int:
    """How many KV heads each program serves: as many as its kernel has HEADS."""
    heads = launch.arguments.get("HEADS", 1)
    assert isinstance(heads, int)
    return heads


def _touches(launch: Launch, tensors: Iterable[str]) -> bool:
    given = launch.arguments.values()
    return any(isinstance(one, Pointer) and one.tensor in tensors for one in given)


def _attention_scenes(problem: Mapping[str, Any]) -> tuple[Scene, ...]:
    found = []
    windows = _values(problem, "WINDOW") if "WINDOW" in problem["axes"] else (None,)
    declared = _values(problem, "Q")
    # one more that no regime declares, where the file serves it
    beyond = problem["outside"] == "fallback" and "const" not in problem["axes"]["Q"]
    queries = (*declared, max(declared) + 2) if beyond else declared
    for window in windows:
        for count in queries:
            found += _attention_at(problem, count, window)
        found += _many_tokens(problem, window)
    return tuple(found)


def _many_tokens(problem: Mapping[str, Any], window: int | None) -> Iterator[Scene]:
    """Calls with one token more than a tile of rows holds, where a range allows so many: requests with no other keys than
    theirs, with fewer, with some before them, and with more than a window.
    """
    axis, page = problem["axes"]["Q"], problem["page"] or 1
    given = [regime["parameters"] for regime in problem["regimes"]]
    count = 1 - -max(one.get("BLOCK_M", 0) for one in given) // problem["axes"]["G"]["const"]
    tile = max(one["BLOCK_N"] for one in given)
    if "range" in axis and axis["range"][0] <= count <= axis["range"][1]:
        lengths = (count, count - 3, count + tile + 1) if window is None else (count + window,)
        room = -(-max(lengths) // page) * page
        axes: dict[str, int | None] = {"B": len(lengths), "Q": count, "CAP": room}
        if "WINDOW" in problem["axes"]:
            axes["WINDOW"] = window
        yield attention_scene(problem, axes, lengths)


def _attention_at(problem: Mapping[str, Any], count: int, window: int | None) -> list[Scene]:
    """Calls at these axis values: tiny, around the boundaries of tiles and parts, huge."""
    page = problem["page"] or 1
    tiles = sorted({regime["parameters"]["BLOCK_N"] for regime in problem["regimes"]})
    tile = tiles[-1]
    given = [regime["parameters"] for regime in problem["regimes"]]
    part = max(one.get("CHUNK", one.get("MIN_CHUNK", tile)) for one in given)
    base: dict[str, int | None] = {"Q": count}
    if "WINDOW" in problem["axes"]:
        base["WINDOW"] = window

    def axes(requests: int, keys: int) -> Axes:
        """Room for `keys` keys, in whole pages."""
        return {"B": requests, **base, "CAP": -(-keys // page) * page}

    most = 3 * part + page if window is None else min(window + count, 2 * part) + 2 * part + page
    calls: list[tuple[int, tuple[int, ...]]] = [(page, (1,))]
    for keys in tiles:
        calls += [(keys, (keys, keys - 1)), (2 * keys, (2 * keys, keys + 1))]
    calls += [(most, (0, most)), (most, (tile + 1, most - 1)), (most, (most + page, count))]
    calls += [(most, (-3, part + 1)), (most, (2**31 - 1, -(2**31)))]
    if window is not None and most < window + part:
        calls.append((window + part + count, (window + part + count,)))
    found = [attention_scene(problem, axes(len(lens), room), lens) for room, lens in calls]
    if not problem["regimes"][-1]["aligned"]:
        # rows that start at no multiple of 16 elements: the conservative kernel
        found.append(attention_scene(problem, axes(2, most), (tile + 1, count), gap=1))
    for gap in _HUGE_GAPS:
        found.append(attention_corners(problem, axes(64, most), tile + 1, gap=gap))
    if problem["outside"] == "fallback":
        found.append(attention_corners(problem, axes(2**31 - 1, most), tile + 1))
    return found


# ---------------------------------------------------------------- norm


def norm_scene(
    problem: Mapping[str, Any], axes: Axes, *, gap: int = _GAP, whole: bool = True
) -> Scene:
    """One call: rows T of length H, from `axes` or the problem's constants."""
    sizes = {**_constants(problem), **axes}
    rows, columns = sizes["T"], sizes["H"]
    dtypes = problem["dtypes"]
    tensors = {
        "x": _tensor("x", dtypes["x"], (rows, columns), "th", gap),
        "weight": _tensor("weight", dtypes.get("weight", "fp32"), (columns,), "h", 0),
    }
    arguments = {name: tensors[name] for name in problem["arguments"]}

    def reads(instance: Instance) -> tuple[Reads, ...]:
        found = [
            Reads(
                "x", 0, (0,), lambda t: np.arange(t[0] * columns, (t[0] + 1) * columns), times=None
            )
        ]
        if "weight" in arguments:
            found.append(Reads("weight", 0, (0,), lambda t: np.arange(columns), times=None))
        return tuple(found)

    return Scene(
        f"{_shown(axes)}, gap {gap}", dict(axes), arguments, reads if whole else _nothing, whole
    )


def _norm_scenes(problem: Mapping[str, Any]) -> tuple[Scene, ...]:
    calls = []
    for columns in _values(problem, "H"):
        for rows, gap in ((1, _GAP), (3, _GAP), (3, 1)):
            calls.append(norm_scene(problem, {"T": rows, "H": columns}, gap=gap))
        most = problem["axes"]["T"].get("range", [1, 1])[1]
        for gap in (_GAP, 1):
            call = norm_scene(problem, {"T": most, "H": columns}, gap=gap << 20, whole=False)
            calls.append(call)
    return tuple(calls)


# ---------------------------------------------------------------- merge


def merge_scene(
    problem: Mapping[str, Any], axes: Axes, *, gap: int = _GAP, whole: bool = True
) -> Scene:
    """One call: N states of T tokens, from `axes` or the problem's constants."""
    sizes = {**_constants(problem), **axes}
    extents = {name: sizes[name.upper()] for name in problem["order"]}
    kind = problem["dtypes"]["parts"]
    rows = {name: extents[name] for name in problem["order"] if name != "d"}
    arguments = {
        "parts": _tensor("parts", kind, tuple(extents.values()), tuple(extents), gap),
        "lse": _tensor("lse", "fp32", tuple(rows.values()), tuple(rows), gap),
    }

    def states(of: dict[str, int]) -> Callable[[tuple[int, ...]], np.ndarray]:
        """The elements of a token and head, of all its states."""

        def elements(program: tuple[int, ...]) -> np.ndarray:
            at = {"t": [program[0]], "h": [program[1]]}
            places = np.ix_(*(at.get(name, range(extent)) for name, extent in of.items()))
            return np.ravel_multi_index(places, tuple(of.values())).reshape(-1)

        return elements

    def reads(instance: Instance) -> tuple[Reads, ...]:
        return tuple(
            Reads(name, 0, (0, 1), states(of)) for name, of in (("parts", extents), ("lse", rows))
        )

    given = {name: arguments[name] for name in problem["arguments"]}
    return Scene(
        f"{_shown(axes)}, gap {gap}", dict(axes), given, reads if whole else _nothing, whole
    )


def _merge_scenes(problem: Mapping[str, Any]) -> tuple[Scene, ...]:
    turn = max(regime["parameters"]["BLOCK_N"] for regime in problem["regimes"])
    states, tokens = problem["axes"]["N"], problem["axes"]["T"]
    declared = states.get("values", states.get("range", [states.get("const")]))
    few, many = min(declared), max(declared)
    counts = {few, *(min(n, many) for n in (turn, turn + 1, 2 * turn + 1))}
    calls = [merge_scene(problem, {"T": 3, "N": n}) for n in sorted(counts)]
    calls.append(merge_scene(problem, {"T": 2, "N": many}, gap=1))
    huge = {"T": tokens.get("range", [1, tokens.get("const")])[1], "N": few}
    return (*calls, merge_scene(problem, huge, gap=_GAP << 20, whole=False))


# ---------------------------------------------------------------- parts


def _tensor(
    name: str,
    dtype: str,
    extents: tuple[int, ...],
    dims: Iterable[str],
    gap: int,
    contents: Contents | None = None,
) -> HostTensor:
    strides = padded(extents, gap)
    return HostTensor(name, _TYPES[dtype], extents, strides, tuple(dims), contents=contents)


def _shown(axes: Axes) -> str:
    return ", ".join(f"{name}={value}" for name, value in axes.items())


def _constants(problem: Mapping[str, Any]) -> dict[str, int | None]:
    return {name: axis["const"] for name, axis in problem["axes"].items() if "const" in axis}


def _values(problem: Mapping[str, Any], name: str) -> tuple[int | None, ...]:
    """The values of an axis: all of a list, a constant, or the ends of a short range."""
    axis = problem["axes"][name]
    if "values" in axis:
        return tuple(axis["values"])
    return (axis["const"],) if "const" in axis else (axis["range"][0], axis["range"][0] + 2)


def _nothing(instance: Instance) -> tuple[Reads, ...]:
    return ()
