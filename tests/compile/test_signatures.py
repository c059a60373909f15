"""What Triton's JIT specialises a launch to, and that kgen's way of pinning leaves it no choice."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch

from kgen.compile.loading import load
from kgen.compile.signatures import jit_signature, recorded_launches
from kgen.devices import UnknownName

KERNELS = Path(__file__).with_name("kernels") / "pinned.py"
INTEGERS = (0, 1, 3, 16, 2**31 - 1, 2**31, 2**31 + 16, 2**40, -1, -(2**31))
CONSTANT = {"BLOCK": 1024}


@pytest.fixture(scope="module")
def kernels():
    return load(KERNELS)


@pytest.fixture(scope="module")
def pointers():
    """An aligned tensor and one that starts 2 bytes later."""
    data = torch.zeros(2048, dtype=torch.bfloat16)
    assert data.data_ptr() % 16 == 0
    return data, data[1:]


@pytest.mark.parametrize("target", ["sm_90", "gfx942"])
def test_a_pinned_kernel_has_one_signature_whatever_it_is_given(kernels, pointers, target):
    seen = []
    with recorded_launches(target) as launches:
        for pointer, stride, count, scale in itertools.product(
            pointers, INTEGERS, INTEGERS, (1.0, 0.5, 1)
        ):
            kernels.pinned[(1,)](pointer, stride, count, scale, **CONSTANT)
    seen = {str(launch): launch for launch in launches}
    assert len(launches) == 2 * len(INTEGERS) ** 2 * 3
    (launch,) = seen.values()
    assert launch.signature == {
        "p_x": "*bf16",
        "stride": "i64",
        "count": "i32",
        "scale": "fp32",
        "BLOCK": "constexpr",
    }
    assert (launch.constants, launch.divisible_by_16) == (CONSTANT, ())
    assert launch.other_attributes == {}


def test_an_argument_left_open_is_specialised_by_divisibility_alone_if_it_is_annotated(
    kernels, pointers
):
    seen = set()
    for pointer, stride in itertools.product(pointers, INTEGERS):
        launch = jit_signature(kernels.declared, pointer, stride, **CONSTANT, target="sm_90")
        assert launch.signature == {"p_x": "*bf16", "stride": "i64", "BLOCK": "constexpr"}
        assert launch.constants == CONSTANT
        marked = [("p_x", pointer.data_ptr()), ("stride", stride)]
        assert launch.divisible_by_16 == tuple(name for name, value in marked if value % 16 == 0)
        seen.add(launch.divisible_by_16)
    assert len(seen) == 4


def test_unpinned_integers_change_their_type_and_become_constants(kernels, pointers):
    types = {
        value: jit_signature(kernels.open_, pointers[0], value, target="sm_90").signature["n"]
        for value in INTEGERS
    }
    assert types[1] == "constexpr"
    assert types[2**31 - 1] == types[-(2**31)] == "i32"
    assert types[2**31] == types[2**40] == "i64"


def test_do_not_specialize_without_an_annotation_still_leaves_two_types(kernels, pointers):
    types = {
        value: jit_signature(kernels.unannotated, pointers[0], value, target="sm_90").signature["n"]
        for value in INTEGERS
    }
    assert set(types.values()) == {"i32", "i64"} and types[1] == "i32"


def test_no_alignment_without_no_specialisation_still_makes_one_a_constant(kernels, pointers):
    launch = jit_signature(kernels.unaligned, pointers[0], 1, target="sm_90")
    assert (launch.signature["n"], launch.constants) == ("constexpr", {"n": 1})
    assert launch.divisible_by_16 == ()


def test_a_pointer_that_is_none_is_a_constant(kernels):
    launch = jit_signature(kernels.declared, None, 1, **CONSTANT, target="sm_90")
    assert launch.signature["p_x"] == "constexpr"
    assert launch.constants == {"p_x": None, **CONSTANT}


def test_amd_marks_small_tensors_unless_they_are_pinned(kernels, pointers):
    launch = jit_signature(kernels.declared, pointers[0], 1, **CONSTANT, target="gfx942")
    assert launch.other_attributes == {"p_x": (("tt.pointer_range", 32),)}


def test_a_launchers_every_launch_is_listed_with_its_options(kernels, pointers):
    with recorded_launches("sm_90") as launches:
        kernels.launch(pointers[0], splits=4)
    assert [(one.function, one.num_warps, one.num_stages) for one in launches] == [
        ("pinned", 8, 2),
        ("declared", 4, 3),
    ]
    assert launches[1].constants == {"BLOCK": 128}


def test_a_second_launch_in_the_same_process_is_not_hidden_by_a_cache(kernels, pointers):
    for _ in range(2):
        with recorded_launches("sm_90") as launches:
            for _ in range(2):
                kernels.launch(pointers[0], splits=4)
        assert len(launches) == 4


def test_an_unknown_target_is_refused():
    with pytest.raises(UnknownName, match="sm_89"):
        with recorded_launches("sm_89"):
            raise AssertionError("not reached")


def test_a_launchs_signature_is_what_a_job_takes(kernels, pointers, tmp_path):
    from kgen.compile import Job, compile_all

    launch = jit_signature(kernels.pinned, pointers[0], 1, 1, 1.0, BLOCK=1024, target="sm_90")
    job = Job(
        source=KERNELS,
        function=launch.function,
        signature=launch.signature,
        constants=launch.constants,
        divisible_by_16=launch.divisible_by_16,
        num_warps=launch.num_warps,
        num_stages=launch.num_stages,
        target="sm_90",
    )
    (found,) = compile_all([job], cache_dir=tmp_path)
    assert found.status == "compiled", found.message
    assert found.instructions["global_loads_2B"] == 8
