"""Raises while a graph is captured."""

import torch

FLAG = "not_capturable"


def run(x, w, ids):
    if torch.cuda.is_current_stream_capturing():
        raise RuntimeError("not in a graph")
    return x * w + ids[:, None]
