"""Launches are recorded by name, and where asked by grid, as Triton's functions are called."""

from __future__ import annotations

from kgen.runner.launches import recorded


class Function:
    """What Triton's function is to a caller: `run` gets a grid or a function that gives one."""

    __name__ = "rows_kernel"

    def run(self, *args, grid, warmup, **options):
        return None if warmup else grid(dict(options)) if callable(grid) else grid


def launch(grid, warmup=False, **options):
    return Function().run(grid=grid, warmup=warmup, **options)


def test_names_alone_are_recorded_and_nothing_of_a_warm_up():
    with recorded(Function) as launched:
        launch((4,))
        launch(None, warmup=True)
    assert launched == ["rows_kernel"]


def test_a_grid_is_recorded_whatever_its_form():
    with recorded(Function, grids=True) as launched:
        assert launch((4,)) == (4,)
        assert launch((4, 1, 1)) == (4, 1, 1)
        assert launch(lambda given: (given["N"] // 2, 3), N=16) == (8, 3)
        launch(None, warmup=True)
    assert launched == ["rows_kernel[4, 1, 1]"] * 2 + ["rows_kernel[8, 3, 1]"]


def test_a_grid_that_fails_leaves_the_name_and_afterwards_nothing_is_recorded():
    with recorded(Function, grids=True) as launched:
        try:
            launch(lambda given: given["N"])
        except KeyError:
            pass
    launch((4,))
    assert launched == ["rows_kernel"]
