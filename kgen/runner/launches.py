"""Which kernels a call launches, in order."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

Grid = tuple[int, ...] | Callable[[Any], tuple[int, ...]]


@contextlib.contextmanager
def recorded(function_class: type, grids: bool = False) -> Iterator[list[str]]:
    """Collects the names of launched kernels, with `grids` as `name[132, 1, 1]`; `function_class` is the JIT's or the
    interpreter's function.
    """
    launched: list[str] = []
    original = function_class.run

    def run(self, *args, grid, warmup, **options):
        if not warmup:
            launched.append(self.__name__)
            if grids:
                grid = _noted(grid, launched)
        return original(self, *args, grid=grid, warmup=warmup, **options)

    function_class.run = run
    try:
        yield launched
    finally:
        function_class.run = original


def _noted(grid: Grid, launched: list[str]) -> Grid:
    """The grid, which is added to the last name as soon as it is known: a function gives it in the launch alone."""
    place = len(launched) - 1

    def note(found: tuple[int, ...]) -> tuple[int, ...]:
        launched[place] += f"[{', '.join(map(str, (*found, 1, 1)[:3]))}]"
        return found

    return (lambda arguments: note(grid(arguments))) if callable(grid) else note(grid)
