"""Does something else at every second call."""

import torch

FLAG = "kernel_set_differs"
_calls = [0]


def run(x, w, ids):
    _calls[0] += 1
    if _calls[0] % 2:
        return x * w + ids[:, None]
    return torch.addcmul(ids[:, None].to(x.dtype), x, w)
