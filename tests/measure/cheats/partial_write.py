"""Leaves the last row as it was allocated."""

import torch

FLAG = "not_fully_written"


def run(x, w, ids):
    out = torch.empty_like(x)
    out[:-1] = x[:-1] * w + ids[:-1, None]
    return out
