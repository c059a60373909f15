"""Leaves work to another stream and does not wait for it; on a host, to a thread."""

import threading
import time

import torch

FLAG = "other_stream"
_streams = []


def run(x, w, ids):
    out = torch.empty_like(x)
    if not x.is_cuda:
        threading.Thread(target=_late, args=(out, x, w, ids)).start()
        return out
    if not _streams:
        _streams.append(torch.cuda.Stream())
    with torch.cuda.stream(_streams[0]):
        out.copy_(x * w + ids[:, None])
    return out


def _late(out, x, w, ids):
    time.sleep(0.02)
    out.copy_(x * w + ids[:, None])
