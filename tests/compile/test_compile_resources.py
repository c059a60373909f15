"""Resources and instruction counts of real kernels, for every target, without a GPU.

Numbers move with Triton's version, so that these are bounds and facts of the target, never golden
values.
"""

from __future__ import annotations

import pytest

from kgen.devices import target as find_target

TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120", "gfx942")
MATRIX = ("mma_sync", "wgmma", "tcgen05_mma", "mfma")


def test_everything_sound_compiles(compiled):
    bad = {name: found.message for name, found in compiled.items() if found.status != "compiled"}
    assert bad == {}


@pytest.mark.parametrize("target", TARGETS)
def test_a_small_tile_fits_every_target_without_spills(compiled, target):
    found = compiled[f"matmul {target}"]
    assert 32 <= found.registers <= find_target(target).registers
    assert (found.spill_bytes, found.stack_bytes) == (0, 0)
    # two operand tiles of 64 x 64 bf16 in each stage that is in flight
    assert 2 * 64 * 64 * 2 <= found.shared_bytes <= find_target(target).shared_bytes


@pytest.mark.parametrize(
    "target, kind",
    [
        ("sm_80", "mma_sync"),
        ("sm_90", "wgmma"),
        ("sm_100", "tcgen05_mma"),
        ("sm_120", "mma_sync"),
        ("gfx942", "mfma"),
    ],
)
def test_each_target_uses_its_own_matrix_instruction_and_no_other(compiled, target, kind):
    counts = compiled[f"matmul {target}"].instructions
    assert [name for name in MATRIX if name in counts] == [kind]
    assert counts[kind] >= 4


def test_only_sm_100_takes_tensor_memory(compiled):
    columns = {target: compiled[f"matmul {target}"].tmem_columns for target in TARGETS}
    assert columns.pop("sm_100") >= 64
    assert set(columns.values()) == {0}


def test_pipelined_loads_are_async_copies_of_16_bytes(compiled):
    for target in TARGETS[:4]:
        counts = compiled[f"matmul {target}"].instructions
        assert counts["async_copies_16B"] >= 16
        assert not [name for name in counts if name.startswith("global_loads")]


@pytest.mark.parametrize("target", ["sm_90", "gfx942"])
def test_alignment_decides_the_width_of_loads_and_stores(compiled, target):
    aligned = compiled[f"aligned copy {target}"].instructions
    misaligned = compiled[f"misaligned copy {target}"].instructions
    assert {k: v for k, v in aligned.items() if k.startswith("global_")} == (
        {"global_loads_16B": 2, "global_stores_16B": 2}
        if target == "sm_90"
        else {"global_loads_16B": 1, "global_stores_16B": 1}
    )
    assert misaligned["global_loads_2B"] == 8 * aligned["global_loads_16B"]
    assert misaligned["global_stores_2B"] == 8 * aligned["global_stores_16B"]


def test_a_kernel_that_hoards_registers_spills(compiled):
    nvidia, amd = compiled["hoard sm_90"], compiled["hoard gfx942"]
    assert nvidia.registers == 255
    assert nvidia.spill_bytes > 100 and nvidia.stack_bytes > 100
    parts = nvidia.details
    assert nvidia.spill_bytes == parts["spill_store_bytes"] + parts["spill_load_bytes"]
    assert min(parts.values()) > 0
    assert amd.spill_bytes == 4 * amd.details["vgpr_spills"] > 0
    assert amd.stack_bytes > 0
    assert amd.registers == 512


def test_too_much_shared_memory_compiles_and_is_counted(compiled):
    taken = compiled["large matmul sm_120"].shared_bytes
    assert taken > find_target("sm_120").shared_bytes


def test_a_kernel_that_asks_for_its_target_gets_the_right_one(compiled):
    stores = [
        compiled[f"by_target {t}"].instructions["global_stores_4B"] for t in ("sm_80", "sm_90")
    ]
    assert stores == [1, 7]


def test_fp64_arithmetic_is_counted(compiled):
    assert compiled["doubles"].instructions["fp64"] == 1
    assert "fp64" not in compiled["matmul sm_90"].instructions


def test_a_pointer_may_be_none_and_a_constant_a_dtype(compiled):
    counts = compiled["optional"].instructions
    assert (counts["global_loads_4B"], counts["global_stores_4B"]) == (1, 1)


def test_versions_are_those_of_the_tools_that_ran(compiled):
    import importlib.metadata

    triton = importlib.metadata.version("triton")
    assert {found.versions["triton"] for found in compiled.values()} == {triton}
    assert "ptxas" not in compiled["matmul gfx942"].versions
    assert compiled["matmul sm_80"].versions["ptxas"][:3] in ("12.", "13.")
