"""Order between programs and between launches, as TTIR has it: what is honest is proved, what is broken is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proving"))

from subjects import Subject, T, functions_of, parameters_of, proofs_of, world  # noqa: E402

from kgen.algebra import Status  # noqa: E402
from kgen.prove.obligations.model import Obligation  # noqa: E402
from kgen.prove.world import prove_world  # noqa: E402

KERNELS = Path(__file__).with_name("kernels")
FILE = KERNELS / "last_block.py"
TWO_LEVELS = KERNELS / "tickets.py"
COUNTS = "the counter goes back to 0"
ONE = "exactly one program"
BARRIER = "what a program stores for others is stored before it counts itself"
SEMANTICS = "the counter releases and acquires at the scope of the GPU"


def reduction(function: str, *, parts: int = 8, grid: int | None = None) -> Subject:
    """Rows whose parts are added up by the program that comes last."""
    return Subject(
        function,
        {
            "p_x": T("fp32", "R", "PARTS", "BLOCK"),
            "p_part": T("fp32", "R", "PARTS", "BLOCK", role="scratch"),
            "p_count": T("int32", "R", role="state"),
            "p_out": T("fp32", "R", "BLOCK", role="output"),
        },
        {"R": (1, 1000)},
        [parts if grid is None else grid, "R"],
        {"PARTS": parts, "BLOCK": 128},
    )


def unproved(subject: Subject, file: Path = FILE) -> list[Obligation]:
    (proof,) = proofs_of(file, [subject])
    assert proof.obligations
    return [one for one in proof.obligations if one.status is not Status.PROVED]


def test_an_honest_reduction_is_proved_with_an_obligation_for_each_part_of_its_order():
    (proof,) = proofs_of(FILE, [reduction("honest")])
    assert all(one.status is Status.PROVED for one in proof.obligations), proof.obligations
    order = [one.says for one in proof.obligations if one.subject == "order"]
    assert len(order) == 4 and {BARRIER, SEMANTICS, COUNTS} < set(order)
    subjects = {one.subject for one in proof.obligations}
    assert {"bounds", "exactly once", "initialised", "order"} <= subjects


BROKEN = {
    "no_barrier": BARRIER,
    "relaxed": SEMANTICS,
    "release_only": SEMANTICS,
    "cta_scope": SEMANTICS,
    "no_reset": COUNTS,
    "reset_of_another": ONE,
    "reset_to_one": COUNTS,
}


@pytest.mark.parametrize("function", BROKEN)
def test_a_broken_reduction_is_not_proved_and_what_is_broken_is_said(function):
    open_ones = [one for one in unproved(reduction(function)) if one.subject == "order"]
    assert any(one.says.startswith(BROKEN[function]) for one in open_ones), open_ones


@pytest.mark.parametrize("grid", [7, 9, 16])
def test_a_group_that_is_not_as_large_as_the_last_ticket_says_is_not_proved(grid):
    found = unproved(reduction("honest", grid=grid))
    assert any(one.subject == "order" and one.says.startswith(ONE) for one in found)


def test_two_levels_of_tickets_are_proved_and_a_fault_in_either_is_not():
    def subject(function: str) -> Subject:
        return Subject(
            function,
            {
                "p_x": T("fp32", "R", "ROWS", "PARTS"),
                "p_part": T("fp32", "R", "ROWS", "PARTS", role="scratch"),
                "p_row": T("fp32", "R", "ROWS", role="scratch"),
                "p_count": T("int32", "R", "ROWS", role="state"),
                "p_done": T("int32", "R", role="state"),
                "p_out": T("fp32", "R", role="output"),
            },
            {"R": (1, 1000)},
            [8, 4, "R"],
            {"PARTS": 8, "ROWS": 4},
        )

    assert unproved(subject("two_levels"), TWO_LEVELS) == []
    for broken in ("no_second_barrier", "no_second_reset", "second_counts_all", "stores_late"):
        assert unproved(subject(broken), TWO_LEVELS), broken


# ---------------------------------------------------------------- launches that overlap


def overlapping(function: str) -> list[Obligation]:
    """A launch of `function` that reads what a launch before it writes, and may start early."""
    copy = {"BLOCK": 128}
    tensors = {"p_x": T("fp32", 1024), "p_out": T("fp32", 1024, role="scratch")}
    first = Subject("waits", tensors, grid=[8], constants=copy)
    second = Subject(
        function,
        {"p_x": T("fp32", 1024), "p_out": T("fp32", 1024, role="output")},
        grid=[8],
        constants=copy,
        dependent=True,
    )
    parameters = parameters_of(FILE)
    functions = functions_of(FILE, [first, second])
    built = world([first, second], [parameters["waits"], parameters[function]])
    return [
        one for one in prove_world(built, "test", functions).obligations if one.subject == "order"
    ]


def test_a_dependent_launch_waits_before_it_touches_what_the_one_before_wrote():
    (found,) = overlapping("waits")
    assert found.status is Status.PROVED


@pytest.mark.parametrize("function", ["never_waits"])
def test_a_dependent_launch_that_does_not_wait_in_time_is_not_proved(function):
    (found,) = overlapping(function)
    assert found.status is Status.UNKNOWN and "does not wait" in found.evidence
