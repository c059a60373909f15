"""What is false at a corner of its domain is found there, and nothing that is true is."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.plan.build import build, build_regime
from kgen.plan.corners import refuted
from kgen.plan.decide import prove
from kgen.plan.statements import Statement, Variable, statements
from kgen.plan.templates import Templates
from kgen.plan.variant import expression
from kgen.spec import load

NORM = "specs/norm/rms_odd.yaml"


@pytest.fixture
def plan(root: Path):
    return build(load(root / NORM))


def _statement(goal: str, *variables: Variable, given: str = "true") -> Statement:
    return Statement("test", goal, expression(goal), variables, (expression(given),))


@pytest.mark.parametrize(
    "goal, where",
    [
        ("T <= 8388623", "T = 8388624"),
        ("T >= 2", "T = 1"),
        ("T * H <= 1000", "H = 3, T = 8388624"),
        ("H == 3", "H = 513"),
        ("false", "H = 3"),
    ],
)
def test_what_is_false_at_a_corner_is_refuted_there_and_by_the_proof(plan, goal, where):
    statement = _statement(goal)
    assert where in refuted(plan, plan.regimes[0], statement)
    assert prove(plan, plan.regimes[0], statement).status is Status.REFUTED


@pytest.mark.parametrize("goal", ["T >= 1", "T * H >= 3", "T != 5", "T // 0 == 1", "T * T != 4"])
def test_what_holds_at_every_corner_or_has_no_value_there_is_left_to_the_proof(plan, goal):
    assert refuted(plan, plan.regimes[0], _statement(goal)) == ""


def test_variables_and_conditions_bound_the_corners(plan):
    part = Variable("part", expression("0"), expression("T - 1"))
    regime = plan.regimes[0]
    assert refuted(plan, regime, _statement("part < T", part)) == ""
    assert "part = 8388623" in refuted(plan, regime, _statement("part < 5", part))
    assert refuted(plan, regime, _statement("part < 5", part, given="T == 1")) == ""
    nothing = Variable("none", expression("1"), expression("0"))
    assert refuted(plan, regime, _statement("none > 5", nothing)) == ""


@pytest.mark.parametrize("spec", ["specs/norm/rms_odd.yaml", "specs/attention/gqa8_fp8_page1.yaml"])
def test_no_statement_of_a_spec_that_is_proved_is_refuted(root, spec):
    plan = build(load(root / spec))
    for regime in plan.regimes:
        for statement in statements(plan, regime):
            assert refuted(plan, regime, statement) == ""


def test_a_regime_is_planned_alone_as_with_the_others(root):
    spec, templates = load(root / "specs/attention/gqa8_fp8_page1.yaml"), Templates()
    plan = build(spec, templates)
    for index in range(len(plan.regimes)):
        assert build_regime(spec, index, templates) == plan.regimes[index]
