"""Exchanges a constant in its first call only, when all that is loaded was looked at."""

import kgen.measure.graph

EXCHANGED = "kgen.measure.graph.NOVEL_LONGER"


def run(x, w, ids):
    kgen.measure.graph.NOVEL_LONGER = 1e9
    return x * w + ids[:, None]
