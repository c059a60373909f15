"""Never returns from its third call."""

FLAG = "timeout"
_calls = [0]


def run(x, w, ids):
    _calls[0] += 1
    while _calls[0] > 2:
        pass
    return x * w + ids[:, None]
