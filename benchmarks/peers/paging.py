"""A paged cache in the forms that peers want: dense, in larger pages, or as lists of pages and slots.

Everything here runs in `prepare`, outside of timing. Slots that no query sees are never read: kgen's problems poison
them. Tensors are those of `kgen/families/attention`: caches [PAGES, PAGE, HK, D], block_table [B, CAP // PAGE] int32.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import torch

SAME_ORDER = 20261130
"""Seed of the order that repacked pages lie in: scattered, as those of a served cache are."""


@dataclass(frozen=True)
class Visible:
    """For each request, the positions [first, live) that some of its queries sees."""

    first: list[int]
    live: list[int]

    @property
    def counts(self) -> list[int]:
        """Keys that each request needs."""
        return [max(live - first, 0) for first, live in zip(self.first, self.live)]

    @property
    def uniform(self) -> bool:
        """Whether all requests need as many keys, and at least one."""
        return len(set(self.counts)) == 1 and self.counts[0] > 0


def visible(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    window: int | None,
) -> Visible:
    """What the queries of each request see, read from the device."""
    capacity = block_table.shape[1] * k_cache.shape[1]
    live = [min(max(length, 0), capacity) for length in seq_lens.tolist()]
    if window is None:
        return Visible([0] * len(live), live)
    return Visible([max(length - q.shape[1] + 1 - window, 0) for length in live], live)


def dense(
    cache: torch.Tensor, block_table: torch.Tensor, seen: Visible, width: int
) -> torch.Tensor:
    """[B, width, HK, D]: the keys of each request from its first visible one on, then zeros."""
    return _tokens(cache, block_table, seen, seen.first, width)


def by_head(
    cache: torch.Tensor,
    block_table: torch.Tensor,
    seen: Visible,
    width: int,
    dtype: torch.dtype,
    scale: torch.Tensor | None = None,
) -> torch.Tensor:
    """The dense cache as torch's attention takes it, [B, HK, width, D] of `dtype`, times `scale` of one element."""
    found = dense(cache, block_table, seen, width).to(dtype)
    if scale is not None:
        found *= scale.item()
    return found.transpose(1, 2).contiguous()


def repacked(
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seen: Visible,
    page: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Both caches and their table with pages of `page` tokens, scattered; positions stay what they were."""
    requests, width = len(seen.live), max(-(-max(seen.live) // page), 1)
    random = torch.Generator().manual_seed(SAME_ORDER)
    order = torch.randperm(requests * width, generator=random).to(k_cache.device)
    caches = []
    for cache in (k_cache, v_cache):
        tokens = _tokens(cache, block_table, seen, [0] * requests, width * page)
        tokens = _bits(tokens).view(requests * width, page, *cache.shape[2:])
        pages = torch.empty_like(tokens)
        pages[order] = tokens
        caches.append(pages.view(cache.dtype))
    return caches[0], caches[1], order.view(requests, width).to(torch.int32)


def page_lists(
    block_table: torch.Tensor, seen: Visible, page: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Where the list of each request starts [B + 1], all lists one after another, and the live tokens of each
    request's last page [B]; int32.
    """
    used = [-(-live // page) for live in seen.live]
    pages = [block_table[request, :count] for request, count in enumerate(used)]
    last = [live - (count - 1) * page if count else 0 for live, count in zip(seen.live, used)]
    return _starts(used, block_table), torch.cat(pages), _like(last, block_table)


def slot_lists(
    block_table: torch.Tensor, seen: Visible, page: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Where the list of each request starts [B + 1] int32, and the slots of the visible keys, request by request,
    int64: a slot is the index of a token in the cache taken as one run of tokens.
    """
    slots = []
    for request, (first, live) in enumerate(zip(seen.first, seen.live)):
        position = torch.arange(first, max(live, first), device=block_table.device)
        slots.append(block_table[request, position // page].long() * page + position % page)
    return _starts(seen.counts, block_table), torch.cat(slots)


def _starts(counts: list[int], like: torch.Tensor) -> torch.Tensor:
    return _like([0, *itertools.accumulate(counts)], like)


def _like(values: list[int], like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=like.device)


def _tokens(
    cache: torch.Tensor, block_table: torch.Tensor, seen: Visible, start: list[int], width: int
) -> torch.Tensor:
    """[B, width, HK, D]: the tokens of each request at the positions from `start` on, zeros for those not visible."""
    page = cache.shape[1]
    first, live, begin = (
        torch.tensor(values, device=cache.device)[:, None]
        for values in (seen.first, seen.live, start)
    )
    position = begin + torch.arange(width, device=cache.device)
    needed = (first <= position) & (position < live)
    position = torch.where(needed, position, 0)
    pages = torch.where(needed, block_table.long().gather(1, position // page), 0)
    found = _bits(cache)[pages, position % page]
    return torch.where(needed[..., None, None], found, 0).view(cache.dtype)


def _bits(cache: torch.Tensor) -> torch.Tensor:
    """The same bytes as integers, because few operations take eight-bit floats; zero bytes are 0.0."""
    return cache.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[cache.element_size()])
