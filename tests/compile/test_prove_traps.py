"""Kernels on which a careless prover says `proved`: none of those that are wrong may be, the honest ones must be."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proving"))

from subjects import Subject, T, proofs_of  # noqa: E402

from kgen.algebra import Status  # noqa: E402

FILE = Path(__file__).with_name("kernels") / "traps.py"


def row(size: str | int, dtype: str = "fp32", **more) -> T:
    return T(dtype, size, **more)


def out(*extents: str | int, dtype: str = "fp32") -> T:
    return T(dtype, *extents, role="output")


def spare(*extents: str | int) -> T:
    """Something that may be written or not: kernels here store what they load, or it would be dropped."""
    return T("fp32", *extents, role="state")


def lane_kernel(name: str, **more) -> Subject:
    """One block of 64 lanes that reads x[N] and writes o[64]."""
    tensors = {"x": row("N"), "o": spare(64)}
    return Subject(
        name, {**tensors, **more.pop("tensors", {})}, {"N": (1, 64)}, constants={"B": 64}, **more
    )


def loop_kernel(name: str, **more) -> Subject:
    """A loop over N elements."""
    tensors = {"x": row("N"), "o": spare("N"), **more.pop("tensors", {})}
    axes = {"N": (1, 30), **more.pop("axes", {})}
    return Subject(name, tensors, axes, **more)


def table(
    low: str | int, high: str | int, size: str | int = "N", dtype: str = "int32"
) -> dict[str, T]:
    return {"table": row(size, dtype, entries=(low, high))}


def halves(name: str) -> Subject:
    """Rows of 2 * H elements."""
    tensors = {"x": T("fp32", "R", "2 * H"), "o": out("R", "2 * H")}
    return Subject(name, tensors, {"R": (1, 100), "H": (1, 1000)}, ["R"], {"B": 64})


def branched(name: str) -> Subject:
    """One store in each of two branches."""
    axes = {"N": (1, 1000), "F": (-5, 5)}
    tensors = {"x": row("N"), "o": out("N")}
    return Subject(name, tensors, axes, ["ceil_div(N, B)"], {"B": 64})


def last_index(least: int) -> Subject:
    """What a loop over at least so many elements leaves of its counter."""
    tensors = {"x": T("fp32", "N", role="state"), "o": spare("N")}
    return Subject("last_index_behind_the_loop", tensors, {"N": (least, 30)})


def ragged(
    name: str, rising: bool = True, grid: str = "R", high: str = "T", steps: int | None = None
) -> Subject:
    """R rows of T elements in all, of `steps` at most each, where a table of R + 1 offsets says which."""
    offsets = T("int32", "R + 1", entries=(0, high), rising=rising, steps=steps)
    tensors = {"x": row("T"), "offsets": offsets, "o": out("T")}
    axes = {"R": (1, 100), "T": (1, 10**6)}
    return Subject(name, tensors, axes, [grid], {} if name == "ragged_first" else {"B": 64})


def slots(name: str, distinct: bool = False) -> Subject:
    """N rows that go to the slots of a table, of P."""
    table = T("int32", "N", entries=(0, "P - 1"), distinct=distinct)
    tensors = {"x": T("fp32", "N", "H"), "slots": table, "o": T("fp32", "P", "H", role="updated")}
    return Subject(name, tensors, {"N": (1, 100), "P": (100, 1000)}, ["N"], {"H": 64})


PAGES = {"axes": {"N": (1, 64), "P": (1, 1000)}, "constants": {"B": 64}}
TABLE = {"x": row("P"), "o": spare(64)}

SAFE = [
    Subject(
        "index_of_64_bits",
        {"x": row("N"), "o": out("N")},
        {"N": (2**31, 2**33)},
        ["ceil_div(N, B)"],
        {"B": 1024},
        {"N": "i64"},
    ),
    Subject(
        "only_masked_lanes_wrap",
        {"x": T("fp32", "M", strides=["stride"]), "o": out("M")},
        {"M": (1, 1000), "stride": (1, 2**21)},
        ["ceil_div(M, B)"],
        {"B": 2048},
    ),
    Subject(
        "one_range_on_two_masked_axes",
        {"x": T("fp32", "N", "N"), "o": out(64, 64)},
        {"N": (1, 64)},
        constants={"B": 64},
    ),
    Subject("square", {"o": out(16, 16)}, constants={"B": 16}),
    Subject("square_transposed", {"o": out(16, 16)}, constants={"B": 16}),
    Subject(
        "either_mask_within",
        {"x": row("M"), "o": out(64)},
        {"N": (1, 64), "M": (7, 64)},
        constants={"B": 64},
    ),
    lane_kernel("chosen_before_the_load"),
    Subject("low_bits_and_shifts", {"x": row(64), "o": out(64)}, constants={"B": 64}),
    Subject(
        "quotient_and_remainder",
        {"x": row("N"), "o": out("N")},
        {"N": (1, 64)},
        constants={"B": 64},
    ),
    Subject("entry_tested_for_minus_one", {**TABLE, **table(-1, "P - 1")}, **PAGES),
    Subject("masked_entry_used_under_its_mask", {**TABLE, **table(0, "P - 1")}, **PAGES),
    loop_kernel("length_read_twice", tensors={"lengths": row(1, "int32", entries=(0, "N"))}),
    loop_kernel("index_counts"),
    loop_kernel("index_kept_in_range", tensors={"flags": row("N", "int32")}),
    loop_kernel(
        "pointer_moves", axes={"N": (1, 640)}, constants={"B": 64}, tensors={"o": out("N")}
    ),
    loop_kernel(
        "one_masked_tile_ahead", axes={"N": (1, 640)}, constants={"B": 64}, tensors={"o": out("N")}
    ),
    loop_kernel(
        "entry_looked_up_one_turn_early",
        axes={"P": (1, 9)},
        tensors={**table(0, "P - 1"), "x": row("P"), "o": out("N")},
    ),
    Subject(
        "rows_in_turns",
        {"x": T("fp32", "M", "N"), "o": out("M", "N")},
        {"M": (1, 100), "N": (1, 1000), "G": (1, 8)},
        ["G"],
        {"B": 64},
    ),
    loop_kernel("value_in_range_from_a_branch", tensors={"flags": row(1, "int32")}),
    Subject("early_return", {"x": row("N"), "o": out("N")}, {"N": (1, 64), "G": (64, 128)}, ["G"]),
    Subject(
        "first_of_the_next_row",
        {"x": T("fp32", "M", "N"), "o": out("M - 1")},
        {"N": (1, 64), "M": (2, 64)},
        ["M - 1"],
    ),
    Subject(
        "divisor_may_be_negative", {"o": out("N")}, {"N": (1, 30), "M": (31, 40)}, ["N"], {"B": 1}
    ),
    Subject(
        "index_of_the_largest",
        {"x": row("N"), "y": row(64), "o": spare(1)},
        {"N": (1, 64)},
        constants={"B": 64},
    ),
    Subject("clamped_index_from_a_real_number", {"x": row("N"), "o": out(1)}, {"N": (1, 64)}),
    Subject(
        "two_stores_interleave",
        {"x": row("N"), "o": out("2 * N")},
        {"N": (1, 1000)},
        ["ceil_div(N, B)"],
        {"B": 64},
    ),
    halves("halves_of_a_row"),
    branched("in_two_branches"),
    ragged("ragged_rows"),
    ragged("ragged_tile", steps=64),
    ragged("ragged_tile_and_rest", steps=64),
    ragged("ragged_first", steps=1),
    slots("stored_to_slots", distinct=True),
    last_index(1),
    Subject("index_from_a_running_sum", {"x": row(64), "o": out(64)}, constants={"B": 64}),
    Subject("true_assumption", {"x": row(64), "o": out(64)}, constants={"B": 64}),
    Subject("assembly_that_computes", {"x": row(64), "o": out(64)}, constants={"B": 64}),
]

WRONG = [
    *(
        Subject(
            name,
            {"x": row("N"), "o": out("2 * N")},
            {"N": (1, 1000)},
            ["ceil_div(N, B)"],
            {"B": 64},
        )
        for name in ("two_stores_meet", "one_of_two_stores_is_short")
    ),
    halves("halves_of_a_row_that_overlap"),
    branched("in_two_branches_that_meet"),
    branched("in_two_branches_with_a_gap"),
    last_index(0),
    Subject("index_from_a_running_sum", {"x": row(63), "o": out(64)}, constants={"B": 64}),
    ragged("ragged_rows", rising=False),
    ragged("ragged_rows", grid="R - 1"),
    ragged("ragged_rows", grid="R + 1"),
    ragged("ragged_rows", high="T - 1"),
    ragged("ragged_rows_one_short"),
    ragged("ragged_tile"),
    ragged("ragged_tile", steps=65),
    ragged("ragged_tile_and_rest", steps=64, high="T - 1"),
    ragged("ragged_tile_and_rest", rising=False, steps=64),
    ragged("ragged_tile", rising=False, steps=64),
    ragged("ragged_first"),
    ragged("ragged_first", steps=2),
    ragged("ragged_rows_that_overlap"),
    slots("stored_to_slots"),
    slots("stored_to_slots_of_others", distinct=True),
    Subject(
        "index_wraps_and_so_does_its_mask",
        {"x": row("N"), "o": out("N")},
        {"N": (2**31, 2**33)},
        ["ceil_div(N, B)"],
        {"B": 1024},
        {"N": "i64"},
    ),
    Subject(
        "index_of_64_bits", {"x": row("N"), "o": out("N")}, {"N": (1, 2**33)}, ["1"], {"B": 1024}
    ),
    Subject(
        "product_widened_too_late",
        {"x": T("fp32", "R", "B", strides=["stride", 1], role="state")},
        {"R": (1, 2**16), "stride": (64, 2**17)},
        ["R"],
        {"B": 64},
    ),
    Subject(
        "rounding_up_wraps",
        {"x": row("ceil_div(N, B)"), "o": out(1)},
        {"N": (1, 2**31 - 1)},
        constants={"B": 1024},
    ),
    loop_kernel(
        "counter_wraps_after_the_last_turn",
        axes={"N": (1, 2**31 - 1)},
        constants={"B": 1024},
        tensors={"o": out("N")},
    ),
    lane_kernel(
        "short_entries_times_a_number",
        tensors={"x": row(128 * 1000), **table(0, 999, dtype="int16")},
    ),
    lane_kernel("unsigned_below_zero"),
    Subject(
        "one_range_on_two_axes",
        {"x": T("fp32", "N", "N"), "o": out(64, 64)},
        {"N": (1, 64)},
        constants={"B": 64},
    ),
    Subject("two_ranges_on_one_axis", {"o": out(16, 16)}, constants={"B": 16}),
    Subject(
        "mask_on_the_other_axis",
        {"x": T("fp32", "M", "N"), "o": out(16, 16)},
        {"M": (1, 16), "N": (1, 16)},
        constants={"B": 16},
    ),
    Subject(
        "either_mask",
        {"x": row("N"), "o": out(64)},
        {"N": (1, 64), "M": (1, 64)},
        constants={"B": 64},
    ),
    Subject(
        "either_mask_within",
        {"x": row("M"), "o": out(64)},
        {"N": (1, 64), "M": (1, 64)},
        constants={"B": 64},
    ),
    lane_kernel("chosen_after_the_load"),
    Subject("flipped_bits", {"x": row(15), "o": out(16)}, constants={"B": 16}),
    lane_kernel("negative_remainder"),
    lane_kernel("negative_quotient"),
    Subject(
        "divisor_may_be_zero", {"x": row(64), "o": out(64)}, {"M": (0, 64)}, constants={"B": 64}
    ),
    Subject(
        "divisor_may_be_negative", {"o": out("N")}, {"N": (1, 30), "M": (10, 40)}, ["N"], {"B": 1}
    ),
    Subject("entry_may_be_minus_one", {**TABLE, **table(-1, "P - 1")}, **PAGES),
    Subject("masked_entry_used_unmasked", {**TABLE, **table(0, "P - 1")}, **PAGES),
    Subject("masked_entry_used_under_a_weaker_mask", {**TABLE, **table(0, "P - 1")}, **PAGES),
    Subject("other_entry_out_of_range", {**TABLE, **table(0, "P - 1")}, **PAGES),
    Subject("table_written_before", {**TABLE, **table(0, "P - 1")}, **PAGES),
    loop_kernel(
        "table_written_later_in_the_turn",
        axes={"P": (1, 1000)},
        tensors={"x": row("P"), **table(0, "P - 1", 1)},
    ),
    loop_kernel("length_read_twice", tensors={"lengths": row(1, "int32", entries=(0, "N + 1"))}),
    loop_kernel("index_doubles"),
    loop_kernel("index_counts", tensors={"x": row("N - 1")}),
    loop_kernel("index_counts_sometimes", tensors={"flags": row("N", "int32")}),
    loop_kernel("pointers_change_places", tensors={"y": row(1)}),
    loop_kernel("index_behind_the_loop"),
    loop_kernel(
        "one_tile_ahead", axes={"N": (1, 640)}, constants={"B": 64}, tensors={"o": out("N")}
    ),
    loop_kernel(
        "entry_looked_up_too_early",
        axes={"P": (1, 9)},
        tensors={**table(0, "P - 1"), "x": row("P"), "o": out("N")},
    ),
    loop_kernel("quotient_of_the_turn_before"),
    loop_kernel("remainder_of_the_turn_before", axes={"N": (4, 30)}),
    loop_kernel("step_may_be_zero", axes={"s": (0, 4)}),
    loop_kernel("bound_shadowed_in_the_loop", axes={"M": (65, 90)}),
    loop_kernel(
        "list_followed",
        tensors={"following": row("N", "int32", entries=(0, "N - 1")), "o": spare(9)},
    ),
    loop_kernel(
        "while_there_are_more",
        tensors={"following": row("N", "int32"), "x": row("N - 1")},
        axes={"N": (2, 30)},
    ),
    Subject(
        "last_turn_left_out",
        {"x": T("fp32", "M", "N"), "o": out("M", "N")},
        {"M": (1, 100), "N": (1, 1000), "G": (1, 8)},
        ["G"],
        {"B": 64},
    ),
    loop_kernel("other_value_from_a_branch", tensors={"flags": row(1, "int32")}),
    Subject(
        "early_return_for_the_last_row",
        {"x": row("N"), "o": out("N")},
        {"N": (1, 64), "G": (64, 128)},
        ["G"],
    ),
    Subject("early_return", {"x": row("N"), "o": out("N")}, {"N": (1, 64), "G": (1, 128)}, ["G"]),
    lane_kernel("assumption_believed"),
    Subject("two_calls_two_values", {"x": row(32), "o": out(1)}, constants={"B": 16}),
    Subject("two_unrolled_turns_two_values", {"x": row(32), "o": out(1)}, constants={"B": 16}),
    lane_kernel("largest_index_of_a_row", tensors={"x": row(1)}),
    lane_kernel("index_of_the_largest_of_padded_lanes"),
    Subject("index_from_a_real_number", {"x": row(64), "o": out(1)}, constants={"B": 16}),
    Subject("clamped_index_from_a_real_number", {"x": row("N"), "o": out(1)}, {"N": (0, 64)}),
    Subject("index_from_a_histogram", {"x": row(16), "o": out(16)}, constants={"B": 16}),
    Subject(
        "grid_axes_swapped",
        {"x": T("fp32", "M", "N"), "o": out("M", "N")},
        {"M": (1, 64), "N": (1, 64)},
        ["M", "N"],
    ),
    Subject(
        "stored_by_every_program", {"o": out("N")}, {"N": (1, 64), "G": (1, 4)}, ["G"], {"B": 64}
    ),
    lane_kernel("stored_where_data_says_so", tensors={"o": out("N")}),
    Subject("stored_twice", {"o": out(16)}, constants={"B": 16}),
    Subject("added_to", {"o": out(16)}, constants={"B": 16}),
    Subject("grid_may_be_empty", {"o": out(1)}, {"G": (0, 1)}, ["G"]),
    loop_kernel("stored_in_a_while", tensors={"o": out("N")}),
    Subject(
        "first_of_the_next_row",
        {"x": T("fp32", "M", "N"), "o": out("M")},
        {"N": (1, 64), "M": (2, 64)},
        ["M"],
    ),
    Subject("odd_row_as_pairs", {"x": row("N", "fp8_e4m3"), "o": spare(64)}, {"N": (1, 64)}),
    Subject("address_as_a_number", {"x": row(2), "o": out(1)}, constants={"B": 1}),
    Subject(
        "through_a_descriptor",
        {"x": T("fp32", "N", 64), "o": out(64)},
        {"N": (1, 64)},
        constants={"B": 64},
    ),
    Subject("assembly_that_may_do_anything", {"o": out(16)}, constants={"B": 16}),
    Subject(
        "false_assumption", {"x": row(64), "o": out("G * 64")}, {"G": (1, 9)}, ["G"], {"B": 64}
    ),
    Subject("row_backwards_said_to_count_up", {"x": row(64), "o": out(64)}, constants={"B": 64}),
    Subject(
        "odd_start_said_to_be_even",
        {"x": row("N"), "o": out("G", "N")},
        {"N": (1, 64), "G": (1, 9)},
        ["G"],
        {"B": 64},
    ),
    Subject("assembly_that_ends_the_thread", {"x": row(64), "o": out(64)}, constants={"B": 64}),
]


@functools.cache
def proofs():
    """Every subject proved, all lowered in one process."""
    return proofs_of(FILE, [*SAFE, *WRONG])


def open_obligations(number: int) -> list[str]:
    proof = proofs()[number]
    assert not isinstance(proof, str), proof
    assert proof.obligations, "nothing was to be proved"
    return [
        f"{one.subject}, line {one.line}: {one.says}: {one.evidence}"
        for one in proof.obligations
        if one.status is not Status.PROVED
    ]


def named(subjects: list[Subject]) -> list[str]:
    return [f"{number}-{one.function}" for number, one in enumerate(subjects)]


@pytest.mark.parametrize("number", range(len(SAFE)), ids=named(SAFE))
def test_an_honest_kernel_is_proved(number):
    assert open_obligations(number) == []


@pytest.mark.parametrize("number", range(len(WRONG)), ids=named(WRONG))
def test_a_wrong_kernel_is_not_proved(number):
    assert open_obligations(len(SAFE) + number) != []


def test_every_trap_is_sprung():
    functions = {one.function for one in (*SAFE, *WRONG)}
    helpers = {"where_the_largest_is"}
    written = {
        line[4 : line.index("(")]
        for line in FILE.read_text().splitlines()
        if line.startswith("def ")
    }
    assert written - helpers == functions
