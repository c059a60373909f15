"""Computes in its input and returns a view of it."""

FLAG = "output_aliases_input"


def run(x, w, ids):
    return x.mul_(w).add_(ids[:, None]).view(x.shape)
