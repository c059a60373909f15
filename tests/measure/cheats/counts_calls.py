"""Adds a little more at each call."""

FLAG = "depends_on_previous_call"
_calls = [0]


def run(x, w, ids):
    _calls[0] += 1
    return x * w + ids[:, None] + 0.01 * (_calls[0] - 1)
