"""Waits for the device before it returns."""

import torch

FLAG = "synchronises"


def run(x, w, ids):
    out = x * w + ids[:, None]
    torch.cuda.current_stream().synchronize()
    return out
