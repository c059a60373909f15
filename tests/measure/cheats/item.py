"""Looks at a value on the host."""

FLAG = "synchronises"


def run(x, w, ids):
    return x * w + ids[:, None] + 0 * int(ids[0])
