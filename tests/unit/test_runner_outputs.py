"""What an entry returned is matched with its names, its form and its memory."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kgen.runner.bundle import Bundle
from kgen.runner.case import Expected
from kgen.runner.outputs import WrongReturn, aliases, named_outputs, wrong_form
from kgen.runner.poison import Poison, poisoned
from kgen.runner.snapshot import Change, Snapshot


def bundle(*returns: str) -> Bundle:
    return Bundle(Path(), "", False, "run", ("x", "residual"), returns, {}, "", {})


X, RESIDUAL, OUT = torch.zeros(4), torch.ones(4), torch.full((4,), 2.0)
INPUTS = {"x": X, "residual": RESIDUAL}


def test_one_output_may_come_without_a_tuple():
    assert named_outputs(OUT, bundle("out"), INPUTS) == {"out": OUT}


def test_an_argument_updated_in_place_need_not_be_returned():
    outputs = named_outputs(OUT, bundle("residual", "out"), INPUTS)
    assert list(outputs) == ["residual", "out"]
    assert outputs["residual"] is RESIDUAL
    assert named_outputs(None, bundle("residual"), INPUTS)["residual"] is RESIDUAL


def test_an_argument_updated_in_place_may_be_returned():
    outputs = named_outputs([RESIDUAL, OUT], bundle("residual", "out"), INPUTS)
    assert outputs["residual"] is RESIDUAL
    assert outputs["out"] is OUT


@pytest.mark.parametrize("result", [None, (OUT, OUT, OUT)])
def test_a_wrong_number_of_outputs_is_told(result):
    told = r"run\(\) returned \d values, the manifest declares 1 \(out\)"
    with pytest.raises(WrongReturn, match=told):
        named_outputs(result, bundle("out"), INPUTS)


def test_an_output_that_is_no_tensor_is_told():
    with pytest.raises(WrongReturn, match=r"output 'out' is a float, not a tensor"):
        named_outputs(1.5, bundle("out"), INPUTS)


def test_a_wrong_form_is_told_whole():
    right = Expected(torch.zeros(4, 1), 0, 0, "", torch.bfloat16)
    failure = wrong_form("out", OUT, right, "cuda")
    assert failure.message == (
        "output 'out' has shape (4,), not (4, 1) and dtype torch.float32, not torch.bfloat16 "
        "and device cpu, not cuda"
    )
    assert wrong_form("out", OUT, Expected(OUT, 0, 0, "", torch.float32), "cpu") is None


def test_an_output_in_an_input_is_told():
    failures = aliases({"out": X[2:]}, INPUTS)
    assert [f.message for f in failures] == ["output 'out' shares memory with the input 'x'"]
    assert not aliases({"residual": RESIDUAL}, INPUTS)


def test_outputs_may_share_a_storage_but_no_element():
    whole = torch.zeros(8)
    assert not aliases({"out": whole[:4], "lse": whole[4:]}, INPUTS)
    failures = aliases({"out": whole[:5], "lse": whole[4:]}, INPUTS)
    assert [f.message for f in failures] == ["output 'lse' shares memory with the output 'out'"]


def test_a_changed_element_of_an_input_is_found():
    wide = torch.zeros(3, 8)
    inputs = {"x": wide[:, :5], "n": 3}
    before = Snapshot(inputs)
    assert before.changes(()) == []
    wide[2, 4] = 1
    assert before.changes(()) == [Change("x", (2, 4))]


def test_a_changed_gap_of_an_input_is_found():
    wide = torch.zeros(3, 8)
    before = Snapshot({"x": wide[:, :5]})
    wide[1, 6] = 1
    assert before.changes(()) == [Change("x", ())]


def test_an_update_in_place_may_change_its_elements_but_no_gap():
    wide = torch.zeros(3, 8)
    before = Snapshot({"x": wide[:, :5]})
    wide[:, :5] = 7
    assert before.changes(["x"]) == []
    wide[0, 5] = 7
    assert before.changes(["x"]) == [Change("x", ())]


def test_nan_is_no_change():
    assert Snapshot({"x": torch.full((3,), float("nan"))}).changes(()) == []


def test_a_large_input_is_watched_by_its_version():
    x = torch.zeros(100)
    before = Snapshot({"x": x}, limit=8)
    assert before.changes(()) == []
    x[50] = 1
    assert before.changes(()) == [Change("x", ())]


@pytest.mark.parametrize(
    "allocate",
    [
        lambda: torch.empty(3, dtype=torch.bfloat16),
        lambda: torch.empty_like(torch.zeros(3, dtype=torch.int32)),
        lambda: torch.empty_strided((2, 2), (5, 1)),
        lambda: torch.empty_permuted((2, 3), (1, 0)),
        lambda: torch.zeros(2).new_empty((4,), dtype=torch.float8_e4m3fn),
        lambda: torch.zeros(2).new_empty_strided((2,), (3,)),
        lambda: torch.empty((), dtype=torch.int64),
    ],
)
def test_what_is_allocated_without_values_is_poisoned(allocate):
    with Poison() as poison:
        tensor = allocate()
    assert poisoned(tensor).all()
    assert tensor.untyped_storage().data_ptr() in poison.filled
    assert not tensor.is_floating_point() or tensor.float().isnan().all()


def test_what_is_allocated_with_values_is_left_alone():
    with Poison() as poison:
        assert torch.zeros(3).tolist() == [0, 0, 0]
        assert torch.full((2,), 5).tolist() == [5, 5]
    assert not poison.filled


def test_an_ordinary_nan_is_no_poison():
    assert not poisoned(torch.full((3,), float("nan"))).any()
