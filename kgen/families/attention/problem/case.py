"""One case: the sizes that its lengths ask for, its regime and its name."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from kgen.families.attention.problem.shape import ragged, sparse
from kgen.families.cases import regime_of, values_of
from kgen.runner.case import Case

SPARE_SLOTS = SPARE_ROWS = 3


def case_of(
    problem: Mapping[str, Any],
    q: int,
    window: int | None,
    lengths: Sequence[int],
    layout: str,
    keys: int = 0,
    counts: Sequence[int] | None = None,
    total: int = 0,
) -> Case:
    """A case whose table is just wide enough for its longest request and for `keys`, in a cache with one page to spare.

    A contiguous cache has some slots to spare in each request, a list of all requests' pages one entry. Indices of a query
    token name some of twice as many tokens. Of ragged queries
    the first request has all that it may have, the next one, one, and a third none, unless `counts` says otherwise. Behind
    them are rows of nobody, up to `total` of all, and some in the padded layout.
    """
    requests, page = len(lengths), problem["page"]
    capacity = _capacity(problem, max([*lengths, keys, 1]))
    axes: dict[str, int | None] = {"B": requests, "Q": q, "CAP": capacity}
    if page:
        spread = 2 if sparse(problem) else 1
        axes["PAGES"] = spread * requests * -(-capacity // page) + 1
    if "WINDOW" in problem["axes"]:
        axes["WINDOW"] = window
    if layout == "overlong":
        lengths = [capacity + 5, *([-3] * (requests - 1))]
    if problem.get("table") == "csr":
        axes |= _listed_sizes(lengths, keys, capacity, page)
    runtime, own = {"S": list(lengths)}, ""
    if ragged(problem):
        runtime["N"] = list(counts or [(q, 1, 0)[request % 3] for request in range(requests)])
        spare = SPARE_ROWS if layout == "padded" else 0
        axes["T"] = max(sum(runtime["N"]) + spare, total)
        own = f" N {','.join(map(str, runtime['N']))}"
    regime = regime_of(problem, axes, aligned=layout != "shifted") if requests else ""
    name = f"B {requests} Q {q}{own}{sees(window)} S {_told(lengths)} {layout}"
    return Case(name=name, axes=axes, runtime=runtime, layout=layout, regime=regime)


def _capacity(problem: Mapping[str, Any], most: int) -> int:
    """What a request of `most` tokens is given room for, or a query token of so many indices."""
    if sparse(problem):
        return most
    page = problem["page"]
    return -(-most // page) * page if page else min(most + SPARE_SLOTS, most_keys(problem))


def _listed_sizes(lengths: Sequence[int], keys: int, capacity: int, page: int) -> dict[str, int]:
    """CAP and PAGES where the pages of all requests are one list."""
    held = [min(max(length, 0), capacity) for length in lengths]
    listed = sum(-(-length // page) for length in held) + -(-keys // page) + 1
    return {"CAP": page * listed, "PAGES": listed + 1}


def most_keys(problem: Mapping[str, Any]) -> int:
    """The longest context that the spec declares."""
    capacity = problem["axes"]["CAP"]
    return capacity["range"][1] if "range" in capacity else max(values_of(capacity, ()))


def sees(window: int | None) -> str:
    """The window in a case's name."""
    return "" if window is None else f" window {window}"


def _told(lengths: Sequence[int]) -> str:
    """The lengths of all requests, many equal ones in a row as their count."""
    runs = [(length, len(list(run))) for length, run in itertools.groupby(lengths)]
    texts = [
        f"{count} of {length}" if count > 16 else ",".join([str(length)] * count)
        for length, count in runs
    ]
    return ",".join(texts)
