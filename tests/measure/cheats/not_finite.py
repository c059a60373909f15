"""Divides by zero in one row."""

FLAG = "not_finite"


def run(x, w, ids):
    out = x * w + ids[:, None]
    out[2] /= 0.0
    return out
