"""Order between programs and between launches, as TTIR has it: what is honest is proved, what is broken is not."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proving"))

from subjects import (
    Subject,
    T,
    findings,
    functions_of,
    parameters_of,
    proofs_of,
    world,
)  # noqa: E402

from kgen.algebra import Status  # noqa: E402
from kgen.prove.frontend import Frontend  # noqa: E402
from kgen.prove.lowering import key_of  # noqa: E402
from kgen.prove.machine_code import machine_order  # noqa: E402
from kgen.prove.obligations.model import Obligation  # noqa: E402
from kgen.prove.world import prove_world  # noqa: E402
from kgen.render.launch import Signature  # noqa: E402

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


LATE = "so the store of line 10 of program (0, 0, 0) may reach memory after line 18"
SHOWN = {
    "no_barrier": f"no barrier stands between line 10 and the atomic in line 35, {LATE}",
    "relaxed": f"the atomic in line 45 is relaxed and does not release, {LATE}",
    "release_only": f"the atomic in line 55 is release and does not acquire, {LATE}",
    "cta_scope": f"the atomic in line 65 orders nothing beyond its own block, {LATE}",
    "no_reset": "p_count[i=0] is left as 8; it was 0 before the call",
    "reset_of_another": "writes p_count[i=1], counted at by program (0, 1, 0), and nothing orders the two",
    "reset_to_one": "p_count[i=0] is left as 1; it was 0 before the call",
}


@pytest.mark.parametrize("function", BROKEN)
def test_a_run_of_a_broken_reduction_shows_which_store_may_come_late(function):
    parameters = parameters_of(FILE)[function]
    shown = findings(FILE.read_text(), reduction(function), parameters, R=2)
    assert any(SHOWN[function] in one.text for one in shown), shown


def test_a_run_of_an_honest_reduction_shows_nothing():
    assert findings(FILE.read_text(), reduction("honest"), parameters_of(FILE)["honest"], R=2) == []


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


# ---------------------------------------------------------------- machine code


def in_machine_code(*subjects: Subject) -> list[Obligation]:
    """What the PTX of the launches of these kernels keeps, as `prove` asks."""
    parameters = parameters_of(FILE)
    functions = functions_of(FILE, subjects)
    built = world(subjects, [parameters[one.function] for one in subjects])
    case = SimpleNamespace(world=built, launcher=SimpleNamespace(function="launch"))
    keys = [key_of(one.function, one.constants) for one in subjects]
    signatures = [_signature(one, parameters[one.function]) for one in subjects]
    with Frontend() as frontend:
        return list(
            machine_order(
                frontend,
                FILE.read_text(),
                ["sm_90"],
                [case],
                {key: [function] for key, function in zip(keys, functions)},
                dict(zip(keys, signatures)),
                300,
            )
        )


def _signature(subject: Subject, parameters: list[str]) -> Signature:
    plain = subject.signature(parameters)
    return Signature(subject.function, plain["signature"], subject.constants, (), 4, 2, regimes=())


def test_the_machine_code_of_an_honest_reduction_is_asked_and_keeps_its_order():
    found = in_machine_code(reduction("honest"))
    assert len(found) == 4 and {one.status for one in found} == {Status.PROVED}
    assert all(one.says.startswith("for sm_90, ") and one.kernel == "honest" for one in found)


@pytest.mark.parametrize("function", ["no_barrier", "relaxed", "no_reset"])
def test_machine_code_that_lacks_something_is_not_proved(function):
    found = in_machine_code(reduction(function))
    assert any(one.status is Status.UNKNOWN for one in found)


def test_machine_code_of_kernels_without_order_is_not_made():
    copy = {"BLOCK": 128}
    tensors = {"p_x": T("fp32", 1024), "p_out": T("fp32", 1024, role="output")}
    assert in_machine_code(Subject("never_waits", tensors, grid=[8], constants=copy)) == []


@pytest.mark.parametrize(("function", "status"), [("waits", "proved"), ("never_waits", "unknown")])
def test_machine_code_of_a_dependent_launch_waits_before_what_it_shares(function, status):
    copy = {"BLOCK": 128}
    before = {"p_x": T("fp32", 1024), "p_y": T("fp32", 1024, role="scratch")}
    first = Subject("first", before, grid=[8], constants=copy)
    second = Subject(
        function,
        {"p_y": T("fp32", 1024, role="scratch"), "p_out": T("fp32", 1024, role="output")},
        grid=[8],
        constants=copy,
        dependent=True,
    )
    built = world([first, second], [["p_x", "p_y", "BLOCK"], ["p_y", "p_out", "BLOCK"]])
    parameters = parameters_of(FILE)[function]
    case = SimpleNamespace(world=built, launcher=SimpleNamespace(function="launch"))
    plain = Subject(
        function,
        {"p_x": T("fp32", 1024), "p_out": T("fp32", 1024, role="output")},
        constants=copy,
    )
    needed = {key_of(function, copy): _signature(plain, parameters)}
    with Frontend() as frontend:
        text = FILE.read_text()
        (found,) = machine_order(frontend, text, ["sm_90"], [case], {}, needed, 300)
    assert str(found.status) == status
