"""Every assumption of a proof has its test in the entry, and where it has none, that is said."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.prove.host import Enforced, enforced, prove_host
from kgen.render.assemble import raw_text
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

ROOT = Path(__file__).resolve().parents[2]
NORM = "specs/norm/rms_4096.yaml"
ODD = "specs/norm/rms_odd.yaml"
ATTENTION = "specs/attention/gqa7_bf16_page64.yaml"
PROVED, REFUTED = Status.PROVED, Status.REFUTED


@functools.cache
def emitted(spec: str):
    """(text, plan, launchers) of a spec, the text as the templates wrote it."""
    templates = Templates()
    plan = build(load(ROOT / spec), templates)
    return raw_text(plan, templates), plan, launchers(plan, workshop(templates))


def edited(spec: str, *pairs: tuple[str, str]) -> str:
    """A spec's text with each first string replaced by its second."""
    text = emitted(spec)[0]
    for old, new in pairs:
        assert text.count(old) >= 1, f"the text has no {old!r}"
        text = text.replace(old, new)
    return text


def facts(spec: str, launcher: str, *pairs: tuple[str, str]) -> dict[str, Enforced]:
    """The facts of a launcher in an edited text, by what they say."""
    text = edited(spec, *pairs)
    found = enforced(text, *emitted(spec)[1:])[launcher]
    return {one.fact.says: one for one in found}


def missing(spec: str, launcher: str, *pairs: tuple[str, str]) -> set[str]:
    """What is not proved in an edited text."""
    scalar = "window is a Python integer, or None"
    found = facts(spec, launcher, *pairs).items()
    return {says for says, one in found if one.status is not PROVED} - {scalar}


# ---------------------------------------------------------------- what is emitted


def test_each_fact_of_an_emitted_file_has_the_line_that_enforces_it():
    lines = emitted(NORM)[0].splitlines()
    found = facts(NORM, "launch_rows")
    assert {one.status for one in found.values()} == {PROVED}
    expected = {
        "x is torch.bfloat16": 'check_tensor("x", x',
        "weight is on the device of x": 'check_tensor("weight", weight',
        "weight has 1 dimension": 'check_tensor("weight", weight',
        "the last dimension of x has stride 1": 'check_tensor("x", x',
        "x has shape [T, H]": 'check_shape("x", x',
        "1 <= T <= 65536": "if declared and aligned and T <= 65536",
        "regime rows: T <= 65536": "if declared and aligned and T <= 65536",
        "x starts at a multiple of 16 bytes": "if declared and aligned and T <= 65536",
        "the stride of x along t is a multiple of 16": "if declared and aligned and T <= 65536",
    }
    for says, text in expected.items():
        assert lines[found[says].line - 1].strip().startswith(text), says


def test_the_fallback_is_held_to_the_familys_limits_and_promises_no_alignment():
    found = facts(NORM, "launch_rest")
    line = emitted(NORM)[0].splitlines()[found["1 <= T <= 2147483647"].line - 1]
    assert line.strip().startswith('check_range("T", T, 1, 2147483647)')
    assert not any("multiple of 16 bytes" in says for says in found)
    assert "H fits 32 bits" in found


def test_the_cases_of_each_launcher_are_facts():
    assert "Q = 1, WINDOW = None" in _cases("launch_decode")
    assert "Q = 1, WINDOW = 100" in _cases("launch_decode_window")
    assert "Q = 3, WINDOW = None" in _cases("launch_verify")
    odd = facts(ODD, "launch_rows")
    assert odd["the kernel's constants are those of H = 3 or H = 513 or H = 2880"].status is PROVED


def _cases(launcher: str) -> str:
    (says,) = [
        one for one in facts(ATTENTION, launcher) if one.startswith("the kernel's constants")
    ]
    return says


# ---------------------------------------------------------------- planted faults


@pytest.mark.parametrize("launcher", ["launch_rows", "launch_rest"])
def test_a_missing_check_of_a_tensor_is_reported_for_each_fact_it_enforced(launcher):
    removed = ('    check_tensor("weight", weight, torch.bfloat16, 1, x.device)\n', "")
    assert missing(NORM, launcher, removed) == {
        "weight is torch.bfloat16",
        "weight is on the device of x",
        "the last dimension of weight has stride 1",
    }
    found = facts(NORM, launcher, removed)["weight is torch.bfloat16"]
    assert (found.status, found.line, found.evidence) == (REFUTED, 0, "no test says so")


def test_a_missing_check_of_a_shape_is_reported_with_a_shape_that_gets_through():
    removed = ('    check_shape("weight", weight, (H,))\n', "")
    assert missing(NORM, "launch_rows", removed) == {"weight has shape [H]"}
    found = facts(NORM, "launch_rows", removed)["weight has shape [H]"]
    assert found.evidence == "false at weight.shape[0] = 0"


@pytest.mark.parametrize(
    ("launcher", "old", "new", "says", "evidence"),
    [
        (
            "launch_rows",
            "aligned and ",
            "",
            "x starts at a multiple of 16 bytes",
            "x.data_ptr() = 1",
        ),
        (
            "launch_rows",
            "is_aligned(x, weight)",
            "is_aligned(x)",
            "weight starts at a multiple of 16 bytes",
            "weight.data_ptr() = 1",
        ),
        (
            "launch_rows",
            "data_ptr() % 16",
            "data_ptr() % 8",
            "x starts at a multiple of 16 bytes",
            "x.data_ptr() = 8",
        ),
        (
            "launch_rows",
            "stride % 16",
            "stride % 8",
            "the stride of x along t is a multiple of 16",
            "x.stride(0) = 8",
        ),
        (
            "launch_rows",
            "[:-1]",
            "[1:-1]",
            "the stride of x along t is a multiple of 16",
            "x.stride(0) = 1",
        ),
        (
            "launch_rows",
            "tensor.stride(-1) != 1",
            "tensor.stride(-1) != 2",
            "the last dimension of x has stride 1",
            "x.shape[1] = 4096, x.stride(1) = 2",
        ),
        ("launch_rows", "(T, H)", "(T, H + 1)", "x has shape [T, H]", "x.shape[1] = 4097"),
        (
            "launch_rest",
            "low <= value <= high",
            "low <= value",
            "1 <= T <= 2147483647",
            "x.shape[0] = 2147483648",
        ),
        (
            "launch_rest",
            '    check_range("T", T, 1, 2147483647)\n',
            "",
            "1 <= T <= 2147483647",
            "x.shape[0] = 2147483648",
        ),
        (
            "launch_rest",
            "if not low <= value <= high",
            "if low <= value <= high",
            "1 <= T <= 2147483647",
            "",
        ),
    ],
)
def test_a_weakened_check_is_refuted_with_values_that_get_through(
    launcher, old, new, says, evidence
):
    found = facts(NORM, launcher, (old, new))[says]
    assert found.status is REFUTED
    assert found.evidence.startswith(f"false at {evidence}")


@pytest.mark.parametrize(
    "raises",
    [
        'raise TypeError(f"{name} is {tensor.dtype}; this file was made for {dtype}")',
        "tensor.dtype != dtype",
    ],
)
def test_a_helpers_name_proves_nothing(raises):
    replaced = "pass" if raises.startswith("raise") else "tensor.dtype == dtype"
    found = facts(NORM, "launch_rows", (raises, replaced))["x is torch.bfloat16"]
    assert found.status is REFUTED


def test_a_check_on_one_way_only_is_none():
    check = '    check_shape("weight", weight, (H,))\n'
    found = missing(NORM, "launch_rows", (check, f"    if T > 7:\n    {check}"))
    assert found == {"weight has shape [H]"}
    both = f"    if T > 7:\n    {check}    else:\n    {check}"
    assert missing(NORM, "launch_rows", (check, both)) == set()


def test_a_check_after_the_launch_is_none():
    check = '    check_shape("weight", weight, (H,))\n'
    last = "        launch_rest(x, weight, out, T)\n"
    moved = ((check, ""), (last, last + check))
    assert missing(NORM, "launch_rows", *moved) == {"weight has shape [H]"}


def test_a_check_whose_failure_is_caught_is_none():
    check = '    check_shape("weight", weight, (H,))\n'
    caught = f"    try:\n    {check}    except ValueError:\n        pass\n"
    assert "weight has shape [H]" in missing(NORM, "launch_rows", (check, caught))


def test_an_assert_is_no_check():
    check = '    check_shape("weight", weight, (H,))\n'
    asserted = (check, "    assert tuple(weight.shape) == (H,)\n")
    assert missing(NORM, "launch_rows", asserted) == {"weight has shape [H]"}


def test_swapped_branches_launch_kernels_with_the_wrong_constants():
    swap = (
        "        if WINDOW is None:\n            launch_decode(",
        "        if WINDOW is not None:\n            launch_decode(",
    )
    decode = facts(ATTENTION, "launch_decode", swap)
    wrong = decode["the kernel's constants are those of Q = 1, WINDOW = None"]
    assert (wrong.status, wrong.evidence) == (REFUTED, "false at window = 100")
    window = facts(ATTENTION, "launch_decode_window", swap)
    wrong = window["the kernel's constants are those of Q = 1, WINDOW = 100"]
    assert (wrong.status, wrong.evidence) == (REFUTED, "false at window = None")


def test_reordered_regimes_are_found():
    first = "if aligned and Q == 1:"
    second = "elif aligned and Q > 1:"
    found = facts(
        ATTENTION,
        "launch_decode",
        (first, "if aligned and Q > 1:"),
        (second, "elif aligned and Q == 1:"),
    )
    assert found["regime decode: Q == 1"].status is REFUTED
    assert found["regime decode: Q == 1"].evidence == "false at q.shape[1] = 3"


def test_values_that_are_not_listed_are_found():
    listed = ('check_choice("Q", Q, (1, 3))', 'check_choice("Q", Q, (1, 2, 3))')
    found = facts(ATTENTION, "launch_verify", listed)["Q is one of 1, 3"]
    assert (found.status, found.evidence) == (REFUTED, "false at q.shape[1] = 2")
    unlisted = facts(ODD, "launch_rows", ("(3, 513, 2880)", "(3, 513)"))
    assert {one.status for one in unlisted.values()} == {PROVED}


def test_a_size_that_does_not_fit_32_bits_is_found():
    wide = ('check_range("CAP", CAP, 1, 65536)', 'check_range("CAP", CAP, 1, 2**40)')
    assert missing(ATTENTION, "launch_rest", wide) >= {"CAP fits 32 bits", "1 <= CAP <= 65536"}


def test_a_scalar_argument_is_an_integer_only_where_something_tests_it():
    says = "window is a Python integer, or None"
    call = '    check_choice("WINDOW", WINDOW, (None, 100))\n'

    def status(instead: str) -> Status:
        return facts(ATTENTION, "launch_rest", (call, instead))[says].status

    assert status(call) is PROVED
    assert status("") is REFUTED
    for test in (
        "if WINDOW is not None and type(WINDOW) is not int:",
        "if not (WINDOW is None or type(WINDOW) == int):",
    ):
        assert status(f"    {test}\n        raise TypeError(WINDOW)\n") is PROVED
    weaker = "    if not isinstance(WINDOW, int):\n        raise TypeError(WINDOW)\n"
    assert status(weaker) is not PROVED


def test_a_launcher_that_is_never_called_has_no_facts():
    unreached = ("    if declared and aligned and T <= 65536:", "    if False:")
    found = facts(NORM, "launch_rows", unreached)
    assert {(one.status, one.evidence) for one in found.values()} == {
        (Status.UNKNOWN, "the entry never gets there")
    }


# ---------------------------------------------------------------- every check that there is


def _checks(spec: str) -> list[str]:
    """The statements of the entry that check something, each once."""
    lines = emitted(spec)[0].splitlines()
    return [line for line in lines if line.startswith("    check_")]


def _raises(spec: str) -> list[str]:
    """What the helpers raise."""
    return [line for line in emitted(spec)[0].splitlines() if line.startswith("        raise ")]


EVERY = [(spec, line) for spec in (NORM, ATTENTION) for line in _checks(spec)]
SCALED = "specs/attention/gqa8_fp8_page1.yaml"
HELPERS = [
    (spec, line)
    for spec in (NORM, ATTENTION)
    for line in _raises(spec)
    if "elements, not one" not in line  # of scales, which these specs do not have
]


def _open(spec: str, old: str, new: str) -> set[str]:
    """The obligations `facts are enforced` that are not proved in an edited text."""
    found = prove_host(edited(spec, (old, new)), *emitted(spec)[1:]).obligations
    facts = [one for one in found if one.subject == "facts are enforced"]
    return {one.says for one in facts if one.status is not PROVED}


def test_there_is_a_check_of_every_kind():
    kinds = {line.strip().partition("(")[0] for _, line in EVERY}
    assert kinds == {"check_tensor", "check_shape", "check_range", "check_choice"}
    assert len(EVERY) == 20 and len(HELPERS) >= 12


@pytest.mark.parametrize(("spec", "line"), EVERY, ids=lambda one: one.strip()[:40])
def test_each_check_of_the_entry_is_missed_by_the_fact_that_it_enforces(spec, line):
    name = line.partition('"')[2].partition('"')[0]
    left = _open(spec, line + "\n", "")
    assert left and any(name in says.split() for says in left)


@pytest.mark.parametrize(("spec", "line"), HELPERS, ids=lambda one: one.strip()[:60])
def test_each_test_of_a_helper_is_missed_by_some_fact(spec, line):
    assert _open(spec, line, "        pass")


def test_the_test_of_a_scales_single_element_is_missed_by_its_fact():
    (line,) = [line for line in _raises(SCALED) if "elements, not one" in line]
    assert _open(SCALED, line, "        pass") == {
        "k_scale has one element",
        "v_scale has one element",
    }
