"""Keeps every answer."""

FLAG = "memory_grows"
_kept = []


def run(x, w, ids):
    _kept.append(x * w)
    return _kept[-1] + ids[:, None]
