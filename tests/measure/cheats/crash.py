"""Takes its process down after a few calls."""

import os

FLAG = "crash"
_calls = [0]


def run(x, w, ids):
    _calls[0] += 1
    if _calls[0] > 5:
        os._exit(3)
    return x * w + ids[:, None]
