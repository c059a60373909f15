"""A host whose clock is a script: each file takes the microseconds that its `MICROSECONDS` gives, a value for each turn."""

from __future__ import annotations

import itertools

from kgen.measure.host import Host


class Scripted(Host):
    """Steps are made, and take what the file under test says: the k-th turn its k-th number, and again from the first."""

    def __init__(self, memory_share):
        super().__init__(memory_share)
        self._turns = itertools.count()

    def limits(self):
        return {"empty_launch_s": 1e-6, "read_bytes_per_s": 1e9, "matmul_flops_per_s": None}

    def timed(self, step, count, warm=True):
        step()
        if not warm:
            return [1e-6] * count  # no turn
        for _ in range(count):
            step()
        script = _script(step)
        return [script[next(self._turns) % len(script)] * 1e-6] * count


def _script(step):
    """The numbers of the file whose calls a step makes."""
    trial = step.__self__._trial
    return trial.candidate.module.MICROSECONDS
