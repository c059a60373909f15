"""Honest: three operators of torch."""


def run(x, w, ids):
    return x * w + ids[:, None]
