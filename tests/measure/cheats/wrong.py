"""Is off by a little, everywhere."""

FLAG = "wrong_output"


def run(x, w, ids):
    return x * w + ids[:, None] + 0.01
