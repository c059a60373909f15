"""Computes on another stream, after the caller's, which does not wait for it."""

import torch

FLAG = "other_stream"
_streams = []


def run(x, w, ids):
    if not _streams:
        _streams.append(torch.cuda.Stream())
    out = torch.empty_like(x)
    _streams[0].wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(_streams[0]):
        out.copy_(x * w + ids[:, None])
    return out
