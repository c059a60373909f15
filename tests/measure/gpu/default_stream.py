"""Computes on the default stream, whatever the caller's is."""

import torch

FLAG = "other_stream"


def run(x, w, ids):
    with torch.cuda.stream(torch.cuda.default_stream()):
        return x * w + ids[:, None]
