"""Works in the memory of its input and puts back almost all of it."""

FLAG = "input_changed"


def run(x, w, ids):
    out = x * w + ids[:, None]
    x[1, 2] += 1.0
    return out
