"""Honest: compiled by torch once for each shape."""

import torch

FLAG = ""


@torch.compile(dynamic=False)
def run(x, w, ids):
    return x * w + ids[:, None]
