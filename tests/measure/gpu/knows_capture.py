"""Gives the last answer again while a graph is captured."""

import torch

FLAG = "wrong_on_replay"
_kept = {}


def run(x, w, ids):
    if torch.cuda.is_current_stream_capturing():
        return _kept[x.shape].clone()
    _kept[x.shape] = x * w + ids[:, None]
    return _kept[x.shape].clone()
