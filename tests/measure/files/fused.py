"""Honest: writes the output that it is given and returns a second one."""


def run(x, w, ids, out):
    out.copy_(x * w + ids[:, None])
    return out.sum(-1)
