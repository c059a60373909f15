"""Waivers: each covers the one statement that it says, and is a finding as soon as it covers none."""

from __future__ import annotations

import pytest

from kgen.diagnostics import KgenError
from kgen.plan.templates import Templates
from kgen.prove.statement import same_statement, statement_at
from kgen.prove.waivers import Claim, Where, waive
from kgen.spec import loads
from kgen.spec.waiver import Statement

TEXT = """\
def a_kernel(p, q):
    x = tl.load(p + 1)
    y = tl.load(
        p + 2,  # two
    )
    if x == y:
        z = tl.load(p + 2)
    z = tl.load(p + 2)
"""
INSIDE = "load p[n] stays inside"


def obligation(line=2, status="unknown", says=INSIDE, launcher="launch_a", **other):
    plain = {"kernel": "a_kernel", "subject": "bounds", "evidence": "why", "regime": "a"}
    return {**plain, "line": line, "status": status, "says": says, "launcher": launcher, **other}


def claim(places=(Where(None, "a_kernel"),), template="", **changes):
    waiver = {"subject": "bounds", "says": INSIDE, "verdict": "unknown", "reason": "padded"}
    return Claim(Statement(**{**waiver, **changes}), template, 0, tuple(places))


def waived(obligations, *claims):
    """(the numbers of the waived obligations, the findings as texts)."""
    found = waive(obligations, claims, TEXT)
    assert set(found.reasons.values()) <= {"padded"}
    return list(found.reasons), [
        f"{one['code']}: {one['message']}; {one['hint']}" for one in found.findings
    ]


def test_a_waiver_covers_the_statement_that_it_says_and_no_other():
    others = [
        obligation(says="store p[n] stays inside"),
        obligation(subject="widths"),
        obligation(kernel="b_kernel"),
    ]
    assert waived([*others, obligation()], claim()) == ([3], [])


def test_a_refuted_statement_is_waived_as_refuted_only():
    assert waived([obligation(status="refuted")], claim(verdict="refuted")) == ([0], [])
    numbers, (said,) = waived([obligation(status="refuted")], claim())
    assert numbers == []
    assert said == (
        f"KG814: `bounds: {INSIDE}` is refuted of a_kernel, and what is waived is unknown; look at it anew; "
        "write `verdict: refuted` only if the reason still holds"
    )


@pytest.mark.parametrize(
    ("obligations", "said"),
    [
        ([obligation(status="proved")], f"KG811: `bounds: {INSIDE}` is proved; remove the waiver"),
        (
            [obligation(says="load p[m] stays inside")],
            f"KG811: `bounds: {INSIDE}` is said nowhere of a_kernel; did you mean `load p[m] stays inside`?",
        ),
        (
            [],
            f"KG811: `bounds: {INSIDE}` is said nowhere of a_kernel; `kgen check -v` prints every statement",
        ),
    ],
)
def test_a_waiver_that_covers_nothing_is_a_finding(obligations, said):
    assert waived(obligations, claim()) == ([], [said])


def test_a_second_waiver_of_one_statement_is_a_finding():
    numbers, said = waived([obligation()], claim(), claim())
    assert (numbers, said) == (
        [0],
        [f"KG811: `bounds: {INSIDE}` is waived already; remove the waiver"],
    )


def test_several_launchers_are_told_apart_by_name():
    both = [obligation(), obligation(launcher="launch_b")]
    assert waived(both, claim()) == (
        [],
        [
            f"KG812: `bounds: {INSIDE}` is said 2 times, and a waiver covers one statement; "
            "name one with `launcher`: launch_a, launch_b"
        ],
    )
    assert waived(both, claim([Where("launch_b", "a_kernel")])) == ([1], [])


def test_several_lines_are_told_apart_by_their_code():
    lines = [obligation(2), obligation(3)]
    _, (said,) = waived(lines, claim())
    assert said.endswith("name one with `code`: `x = tl.load(p + 1)` or `y = tl.load(p + 2)`")
    assert waived(lines, claim(code="y = tl.load(p+2)  # any layout")) == ([1], [])
    _, (said,) = waived(lines, claim(code="y = tl.load(p + 3)"))
    assert said.endswith("it is said of other code than `y = tl.load(p + 3)`: lines 2, 3")


def test_lines_with_the_same_code_have_to_differ_first():
    numbers, (said,) = waived([obligation(7), obligation(8)], claim(code="z = tl.load(p + 2)"))
    assert numbers == []
    assert said.startswith("KG812") and "write these lines so that they differ" in said


def test_a_variants_waiver_covers_the_statement_in_each_of_its_kernels():
    places = [Where("launch_a", "a_kernel"), Where("launch_b", "a_kernel")]
    both = [obligation(), obligation(launcher="launch_b", status="proved"), obligation(launcher="")]
    assert waived(both, claim(places, "norm/own")) == ([0], [])
    proved = [{**one, "status": "proved"} for one in both]
    found = waive(proved, [claim(places, "norm/own")], TEXT)
    assert [(one["code"], one["template"]) for one in found.findings] == [("KG811", "norm/own")]


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "understood"},
        {"subject": "certificates"},
        {"subject": "signatures"},
        {"subject": "reached"},
        {"subject": "launches"},
        {"subject": "graph safety", "says": "every statement is one whose effect is known"},
    ],
)
def test_what_everything_rests_on_cannot_be_waived(changes):
    one = obligation(**changes)
    numbers, (said,) = waived([one], claim(**changes))
    assert numbers == [] and said.startswith("KG813") and "cannot be waived" in said


def test_the_statement_at_a_line_does_not_depend_on_its_layout():
    import ast

    tree = ast.parse(TEXT)
    assert statement_at(tree, 4) == "y = tl.load(p + 2)"
    assert statement_at(tree, 6) == "if x == y:"
    assert statement_at(tree, 0) == statement_at(tree, 99) == ""
    assert same_statement("if  x==y:", "if x == y:")
    assert not same_statement("if x == z:", "if x == y:")
    assert not same_statement("(", "if x == y:")


# ---------------------------------------------------------------- how they are written

SPEC = "specs/norm/rms_odd.yaml"
WAIVER = '{kernel: rms_kernel, subject: bounds, says: "load x", verdict: unknown, reason: "padded"}'


def problems(root, waiver: str) -> str:
    """What is said of a spec with that waiver."""
    text = f"{(root / SPEC).read_text()}waive:\n  - {waiver}\n"
    with pytest.raises(KgenError) as raised:
        loads(text, "spec.yaml")
    return str(raised.value)


def test_a_waiver_needs_a_reason(root):
    said = problems(root, WAIVER.replace(', reason: "padded"', ""))
    assert "KG202: the key `reason` is missing in `waive[0]`" in said
    said = problems(root, WAIVER.replace("padded", "  ..."))
    assert "KG205: a waiver has a reason, and this one is empty" in said
    assert "say why the statement may stay open" in said


def test_a_waiver_names_a_verdict_that_can_be_waived(root):
    said = problems(root, WAIVER.replace("unknown", "proved"))
    assert 'the text "proved" is no value of `verdict`' in said
    assert "unknown" in said and "refuted" in said


def test_a_waiver_has_no_other_keys(root):
    said = problems(root, WAIVER.replace("kernel", "kernle"))
    assert "KG201: unknown key `kernle`" in said and "did you mean `kernel`?" in said


def test_a_variants_waiver_names_one_of_its_kernels(root, tmp_path):
    folder = tmp_path / "norm" / "rms"
    folder.mkdir(parents=True)
    for name in ("variant.yaml", "kernel.py.j2"):
        folder.joinpath(name).write_text((root / "templates/norm/rms" / name).read_text())
    with folder.joinpath("variant.yaml").open("a") as file:
        file.write(f"waive:\n  - {WAIVER}\n")
    with pytest.raises(KgenError) as raised:
        Templates([tmp_path]).find("norm", "rms")
    said = str(raised.value)
    assert "norm/rms/variant.yaml:" in said
    assert "there is no kernel `rms_kernel` to waive a statement of" in said
    assert "help: kernels: rms" in said


def test_a_variant_may_waive_masks_that_only_some_specs_make_idle():
    idle = {"subject": "masks", "says": "every condition of the mask of x decides something"}
    assert waived([], claim(**idle, verdict="refuted", template="generic")) == ([], [])
    _, (said,) = waived([], claim(**idle, verdict="refuted"))
    assert said.startswith("KG811: ")
