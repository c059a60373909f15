"""The sizes of a case, and which keys its rows see."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kgen.runner.case import Case


@dataclass(frozen=True)
class Shape:
    """The sizes of one case; `window` is None where every earlier key is visible.

    A `paged` cache has pages that a table lists; in another each request has one page. With `listed`, the pages of all
    requests are one list of `capacity` tokens; a `sparse` call has indices of tokens for each query token, `capacity` of
    them. `counts` are the query tokens of each request where they are ragged, all
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
    sparse: bool
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

    def entries(self, request: int, token: int) -> int:
        """How many indices of a query token count: of each later one of its request, one fewer."""
        return min(max(self.lengths[request] - token, 0), self.capacity)

    def first(self, request: int) -> int:
        """The oldest key that some row of the request sees."""
        if self.window is None:
            return 0
        return max(self.live(request) - self.tokens(request) + 1 - self.window, 0)

    def keys(self, request: int, token: int) -> range:
        """The keys that a query token sees: up to its own, which is the last for the last token, within its window. Of a
        sparse call, the indices that count, of which it sees those that name a token.
        """
        if self.sparse:
            return range(self.entries(request, token))
        end = self.live(request) - self.tokens(request) + token + 1
        return range(0 if self.window is None else max(end - self.window, 0), end)


def shape_of(problem: Mapping[str, Any], case: Case) -> Shape:
    constants = {name: axis["const"] for name, axis in problem["axes"].items() if "const" in axis}
    axes = {**constants, **case.axes}
    return Shape(
        requests=axes["B"],
        queries=axes["Q"],
        heads=axes["HK"],
        group=axes["G"],
        columns=axes["D"] + axes.get("DR", 0),
        value_columns=axes.get("DV", axes["D"]),
        page=problem["page"] or axes["CAP"],
        capacity=axes["CAP"],
        pages=axes["PAGES"] if problem["page"] else axes["B"],
        paged=problem["page"] is not None,
        listed=problem.get("table") == "csr",
        sparse=sparse(problem),
        window=axes.get("WINDOW"),
        lengths=tuple(case.runtime["S"]),
        counts=tuple(case.runtime["N"]) if ragged(problem) else None,
        total=axes.get("T", 0),
    )


def ragged(problem: Mapping[str, Any]) -> bool:
    return problem.get("queries") == "ragged"


def sparse(problem: Mapping[str, Any]) -> bool:
    return problem.get("table") == "topk"
