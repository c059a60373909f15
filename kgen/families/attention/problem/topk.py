"""Top-k in torch: indices to test with, and the keys that a query token sees.

Entries beside each other are the same token now and then; others name none, -1 or one outside of the cache, and every
fourth query token has no other ones. Those that do not count name tokens that hold NaN.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from kgen.families.attention.problem.shape import Shape

EVERY = 7
NONE, OUTSIDE, TWICE = 3, 5, 2
"""Of each so many entries, those that name nothing, that name what is outside, and that repeat the one before."""


def drawn_sets(shape: Shape, generator: torch.Generator) -> torch.Tensor:
    """The indices of all query tokens, [B, Q, CAP] int32."""
    slots = shape.pages * shape.page
    order = torch.randperm(slots, generator=generator, device=generator.device)
    some, others = order[: max(slots // 2, 1)], order[slots // 2 :]
    size = (shape.requests, shape.queries, shape.capacity)
    found, unused = (_chosen(tokens, size, generator) for tokens in (some, others))
    places = torch.arange(shape.capacity, device=found.device)
    found = torch.where(places % EVERY == TWICE, found.roll(1, -1), found)
    outside = found.new_tensor([slots, 2**31 - 1, -(2**31)])[places % 3]
    for request, token in shape.each_token():
        count, own = shape.entries(request, token), found[request, token]
        skipped = ~names_a_token(shape, request, token).to(found.device)
        own[skipped] = -1
        beyond = skipped & (places % EVERY == OUTSIDE)
        own[beyond] = outside[beyond]
        own[count:] = unused[request, token, count:]
    return found.to(torch.int32)


def _chosen(
    tokens: torch.Tensor, size: tuple[int, ...], generator: torch.Generator
) -> torch.Tensor:
    return tokens[torch.randint(len(tokens), size, generator=generator, device=generator.device)]


def names_a_token(shape: Shape, request: int, token: int) -> torch.Tensor:
    """Which of a query token's entries are drawn as indices of tokens, whether they count or not."""
    places = torch.arange(shape.capacity)
    if (request * shape.queries + token) % 4 == 3:
        return torch.zeros_like(places, dtype=torch.bool)
    return (places % EVERY != NONE) & (places % EVERY != OUTSIDE)


def counts(shape: Shape) -> torch.Tensor:
    """How many entries of each query token are said to count, which may be more than there are or less than none."""
    found = [[length - token for token in range(shape.queries)] for length in shape.lengths]
    return torch.tensor(found, dtype=torch.int32).reshape(shape.requests, shape.queries)


def seen_of_set(shape: Shape, indices: torch.Tensor, count: int) -> list[int]:
    """The places of entries that count and name a token."""
    slots = shape.pages * shape.page
    return [place for place, one in enumerate(indices[:count].tolist()) if 0 <= one < slots]


def tokens_seen(shape: Shape, sets: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """For each query token, the pages and slots of the tokens that it sees, each once."""
    for request, token in shape.each_token():
        own = sets[request, token]
        places = seen_of_set(shape, own, shape.entries(request, token))
        tokens = own[places].long().unique()
        yield tokens // shape.page, tokens % shape.page
