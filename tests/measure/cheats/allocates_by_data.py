"""Allocates as much as the data say."""

import torch

FLAG = "synchronises"


def run(x, w, ids):
    table = torch.zeros(int(ids.max()) + 1, dtype=x.dtype, device=x.device)
    return x * w + ids[:, None] + table[0]
