"""Counts what is compiled in this process: by Triton's JIT, and by torch.compile."""

from __future__ import annotations

import sys


class Compiles:
    """A counter from now on; `kernels` says whether those of Triton are counted, which is there then."""

    def __init__(self, kernels: bool) -> None:
        self._kernels = 0
        self._seen = _frames()
        self._before_reset = -self._seen
        if kernels:
            from triton import knobs

            knobs.runtime.jit_cache_hook = self._note

    @property
    def count(self) -> int:
        """Compilations until now."""
        return self._kernels + self.graphs

    @property
    def graphs(self) -> int:
        """Frames that torch.compile took up. A file that resets torch's compiler resets its counter too."""
        now = _frames()
        if now < self._seen:
            self._before_reset += self._seen
        self._seen = now
        return self._before_reset + now

    def _note(self, **_: object) -> None:
        """Triton's hook for a specialisation that it does not have yet."""
        self._kernels += 1


def _frames() -> int:
    """What torch.compile took up in this process; nothing is imported to find out."""
    utils = sys.modules.get("torch._dynamo.utils")
    return 0 if utils is None else int(utils.counters["frames"]["total"])
