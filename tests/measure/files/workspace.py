"""Honest: a workspace for each shape is kept between calls, and an output buffer that callers know to be reused."""

import torch

_kept = {}


def run(x, w, ids):
    key = (x.shape, x.device)
    if key not in _kept:
        _kept[key] = torch.zeros_like(x), torch.empty_like(x)
    product, out = _kept[key]
    torch.mul(x, w, out=product)
    return torch.add(product, ids[:, None], out=out)
