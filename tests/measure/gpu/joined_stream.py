"""Honest: computes on another stream between two waits."""

import torch

FLAG = ""
_streams = []


def run(x, w, ids):
    if not _streams:
        _streams.append(torch.cuda.Stream())
    here, there = torch.cuda.current_stream(), _streams[0]
    out = torch.empty_like(x)
    there.wait_stream(here)
    with torch.cuda.stream(there):
        torch.mul(x, w, out=out)
    here.wait_stream(there)
    return out.add_(ids[:, None])
