"""Which kernels a call launches, in order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def recorded(function_class: type) -> Iterator[list[str]]:
    """Collects the names of launched kernels; `function_class` is the JIT's or the interpreter's
    function.
    """
    launched: list[str] = []
    original = function_class.run

    def run(self, *args, grid, warmup, **options):
        if not warmup:
            launched.append(self.__name__)
        return original(self, *args, grid=grid, warmup=warmup, **options)

    function_class.run = run
    try:
        yield launched
    finally:
        function_class.run = original
