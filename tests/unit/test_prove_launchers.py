"""Launchers as worlds: sizes, tensors, grids and arguments come from the host code as it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.algebra import Poly, Status, ge
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.prove.facts import IntegerArgument, PointerArgument
from kgen.prove.launchers import LauncherCase, LauncherError, cases
from kgen.prove.launchers.module import Module
from kgen.prove.obligations.engine import Engine
from kgen.render.assemble import raw_text
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

NORM, ATTENTION = "norm/rms_4096", "attention/gqa8_fp8_page1"


class Planned:
    def __init__(self, root: Path, name: str):
        self.plan = build(load(root / "specs" / f"{name}.yaml"))
        self.launchers = launchers(self.plan, workshop(Templates()))
        self.text = raw_text(self.plan, Templates())

    def cases(self, *changes: tuple[str, str]) -> list[LauncherCase]:
        text = self.text
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        return list(cases(self.plan, self.launchers, Module(text)))


@pytest.fixture(scope="module")
def norm(root) -> Planned:
    return Planned(root, NORM)


@pytest.fixture(scope="module")
def attention(root) -> Planned:
    return Planned(root, ATTENTION)


def named(found: list[LauncherCase], function: str) -> LauncherCase:
    return next(one for one in found if one.launcher.function == function)


def test_a_launch_has_its_grid_arguments_constants_and_annotations(norm):
    world = named(norm.cases(), "launch_rows").world
    (launch,) = world.launches
    assert launch.function == "rms_kernel"
    assert [Engine(world).text(extent) for extent in launch.grid.values()] == ["T"]
    assert launch.arguments["p_x"] == PointerArgument("x")
    assert launch.arguments["stride_x_t"] == IntegerArgument(world.space.named("x.stride(0)"))
    assert launch.constants["BLOCK_H"] == 4096
    assert launch.annotations["stride_x_t"] == "tl.int64"


def test_axes_that_may_be_none_are_looked_at_with_and_without(attention):
    found = [one for one in attention.cases() if one.launcher.function == "launch_rest"]
    assert {one.absent for one in found} == {frozenset(), frozenset({"WINDOW"})}


def test_scratch_is_what_the_launcher_allocates(attention):
    world = named(attention.cases(), "launch_decode").world
    tensor = world.tensors["partial_out"]
    assert tensor.role == "scratch" and tensor.dims == ("b", "h", "s", "m", "d")
    assert tensor.strides[-1] == Poly.of(1)
    change = ("torch.empty((B, HK, SPLITS, 8, D)", "torch.empty((B, HK, SPLITS - 1, 8, D)")
    other = named(attention.cases(change), "launch_decode").world
    assert Engine(other).text(other.tensors["partial_out"].extents[2]).endswith("- 1")


def test_the_entries_of_a_table_are_what_the_family_says(attention):
    world = named(attention.cases(), "launch_decode").world
    engine = Engine(world)
    contents = world.tensors["block_table"].contents
    at = (Poly.of(0), Poly.of(0))
    entry = world.space.entry(contents.table, Poly.of(0), promised=contents.promised(at))
    assert engine.decide(ge(entry, 0), tries=0).status is not Status.PROVED
    assert engine.decide(ge(entry, 0), contents.promised(at)).status is Status.PROVED


@pytest.mark.parametrize(
    "change",
    [
        ("rms_kernel[(T,)](", "for _ in range(2): rms_kernel[(T,)]("),
        ("rms_kernel[(T,)](", "rms_kernel[GRID]("),
        ("rms_kernel[(T,)](", "unheard_of[(T,)]("),
        ("rms_kernel[(T,)](", "rms_kernel[(T // len(x.shape),)]("),
        ("x.stride(0), ", "x.stride(7), "),
        ("x.stride(0), ", ""),
        ("H=H,", "H=T,"),
        ("H=H,", "H=H, SPARE=1,"),
        ("def launch_rows(x, weight, out, T)", "def launch_rows(x, weight, out, T, more)"),
    ],
)
def test_what_is_not_followed_is_refused(norm, change):
    with pytest.raises(LauncherError):
        norm.cases(change)


def test_a_name_that_is_bound_again_is_not_believed(norm):
    assert Module("H = 3\n").constants == {"H": 3}
    for more in ("H = 4", "if X:\n    H = 4", "def f():\n    global H\n    H = 4", "import H"):
        assert Module(f"H = 3\n{more}\n").constants == {}
    again = Module("def f(): pass\nf = None\n")
    with pytest.raises(LauncherError):
        again.function("f")


def test_text_that_is_no_python_is_refused():
    with pytest.raises(LauncherError):
        Module("def (").function("f")
