"""Returns another type."""

FLAG = "wrong_output"


def run(x, w, ids):
    return (x * w + ids[:, None]).half()
