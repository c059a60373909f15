"""Which tokens a request has, how a call is told, and which of them some row sees."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from kgen.families.attention.problem.latents import queries_of
from kgen.families.attention.problem.shape import Shape
from kgen.families.attention.problem.topk import counts, drawn_sets, tokens_seen
from kgen.families.formats import STRANGE_IDS


def drawn_pages(shape: Shape, generator: torch.Generator) -> torch.Tensor:
    """Pages of each request, all distinct and in random order; page 0 belongs to nobody, if they are listed. Of a sparse
    call, the indices of all query tokens.
    """
    if shape.sparse:
        return drawn_sets(shape, generator)
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


def visible(shape: Shape, table: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """For each request, the pages and slots of the keys that some row of it sees."""
    if shape.sparse:
        yield from tokens_seen(shape, table)
        return
    for request in range(shape.requests):
        keys = torch.arange(shape.first(request), shape.live(request), device=table.device)
        yield table[request, keys // shape.page].long(), keys % shape.page


def as_told(shape: Shape, table: torch.Tensor) -> dict[str, torch.Tensor]:
    """The integer tensors of a call, by name."""
    if shape.sparse:
        return {"indices": table, "valid_topk": counts(shape)}
    given = poisoned(shape, table)
    lengths = torch.tensor(shape.lengths, dtype=torch.int32)
    found = {"block_table": given, "seq_lens": lengths}
    return found | (as_lists(shape, given) if shape.listed else {})


def poisoned(shape: Shape, table: torch.Tensor) -> torch.Tensor:
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


def as_lists(shape: Shape, table: torch.Tensor) -> dict[str, torch.Tensor]:
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


Places = Callable[[int, int, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""Of a request, a query token of it and keys: their pages and slots."""


def given_places(shape: Shape, arguments: Mapping[str, Any]) -> Places:
    """Where keys are, as a call says."""
    if shape.sparse:
        indices = arguments["indices"].long()

        def named(request: int, token: int, keys: torch.Tensor) -> tuple[torch.Tensor, ...]:
            tokens = indices[request, token, keys]
            return tokens // shape.page, tokens % shape.page

        return named
    pages = _given_pages(shape, arguments)
    return lambda request, token, keys: (pages[request][keys // shape.page], keys % shape.page)


def _given_pages(shape: Shape, arguments: Mapping[str, Any]) -> list[torch.Tensor]:
    """The pages of each request."""
    if shape.listed:
        starts = arguments["kv_indptr"].tolist()
        listed = arguments["kv_indices"].long()
        return [listed[start:end] for start, end in itertools.pairwise(starts)]
    if shape.paged:
        return list(arguments["block_table"].long())
    return list(_own_pages(shape, queries_of(arguments).device))
