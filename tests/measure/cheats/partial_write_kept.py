"""Leaves the last row of a kept buffer as an earlier call wrote it."""

import torch

FLAG = "not_fully_written"
_kept = {}


def run(x, w, ids):
    key = x.shape
    if key not in _kept:
        _kept[key] = x * w + ids[:, None]
    out = _kept[key]
    out[:-1] = x[:-1] * w + ids[:-1, None]
    return out
