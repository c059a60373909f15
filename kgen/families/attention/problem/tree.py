"""Trees of draft tokens in torch: masks to test with, and the keys that a row of one sees."""

from __future__ import annotations

import math

import torch

from kgen.families.attention.problem.shape import Shape


def drawn_trees(kind: str, shape: Shape, layout: str, generator: torch.Generator) -> torch.Tensor:
    """The masks of all rows; in the `extreme` layout of anything, whatever its order. Rows of nobody see all."""
    counts = [shape.tokens(request) for request in range(shape.requests)]
    masks = random_trees(counts, kind, layout == "extreme", generator)
    found = masks.new_full((math.prod(shape.rows()),), -1)
    found[: len(masks)] = masks
    return found.reshape(shape.rows())


def random_trees(
    counts: list[int], kind: str, anything: bool, generator: torch.Generator
) -> torch.Tensor:
    """The masks of all tokens, those of request after request [sum of counts].

    Each token hangs on an earlier one of its request, or on none; with `anything` bits are random, so that a token may see
    later ones, or nothing. Bits of tokens that there are not are set at random too.
    """
    dtype = getattr(torch, kind)
    width, found = torch.iinfo(dtype).bits, []
    for count in counts:
        seen: list[int] = []
        for token in range(count):
            parent = _below(token + 1, generator) - 1
            own = _bits(count, generator) if anything else 1 << token
            seen.append(own | (seen[parent] if parent >= 0 and not anything else 0))
        strange = [_bits(width, generator) >> count << count for _ in seen]
        found += [_signed(own | more, width) for own, more in zip(seen, strange)]
    return torch.tensor(found, dtype=dtype)


def _below(limit: int, generator: torch.Generator) -> int:
    return int(torch.randint(limit, (), generator=generator, device=generator.device))


def _bits(count: int, generator: torch.Generator) -> int:
    return sum(_below(2, generator) << bit for bit in range(count))


def _signed(bits: int, width: int) -> int:
    return bits - (1 << width) if bits >> (width - 1) else bits


def seen_of_tree(mask: int, live: int, tokens: int, window: int | None) -> list[int]:
    """The keys that a row sees, in their order: those before the `tokens` of the draft, and of these what `mask` says."""
    root = live - tokens
    draft = [token for token in range(tokens) if mask >> token & 1]
    place = root + max(len(draft), 1) - 1
    first = 0 if window is None else max(place - window + 1, 0)
    return [*range(first, root), *(root + token for token in draft if root + token >= 0)]
