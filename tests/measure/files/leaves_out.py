"""Honest as long as it may: it gives None for the sums of the rows, which it does not compute."""


def run(x, w, ids, out):
    return out.copy_(x * w + ids[:, None]), None
