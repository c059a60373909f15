"""z3 as another judge: of no claim that is proved of a plan or of a kernel it shows the opposite."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from kgen.algebra import Certificate, formula_text
from kgen.algebra.division import Quotient, Remainder
from kgen.algebra.formula import polynomials
from kgen.algebra.z3_check import EFFORT, Answer, Opinion, ask
from kgen.plan.build import build
from kgen.plan.check import check
from kgen.plan.model import Plan
from kgen.plan.templates import Templates
from kgen.prove.check import prove
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

ROOT = Path(__file__).parents[2]
SPECS = sorted(str(path.relative_to(ROOT / "specs"))[:-5] for path in ROOT.glob("specs/*/*.yaml"))
CLAIMS = 100
"""So many of a file's claims are asked about, drawn with the same seed each time: each takes z3 up to half a second."""
LEAST = 0.75
"""The share of all claims of a file that z3 at least agrees with; of products it often knows no answer."""


def of_plan(plan: Plan) -> list[Certificate]:
    """What the plan checks prove: each certificate, as it is given to sympy."""
    result = check(plan)
    assert result.clean
    return [certificate for one in result.obligations for certificate in one.certificates]


def of_kernels(name: str, plan: Plan) -> list[Certificate]:
    """What is proved of the kernels of a committed file."""
    folder = ROOT / "generated" / name
    manifest = json.loads((folder / "manifest.json").read_text())
    text = (folder / "submission.py").read_text()
    proof = prove(plan, list(launchers(plan, workshop(Templates()))), text, manifest)
    assert proof.clean
    return list(proof.certificates)


def linear(claim: Certificate) -> bool:
    """Whether nowhere in a claim, and in what it depends on, two variables are multiplied."""
    space = claim.space
    polys = [*polynomials(claim.goal), *polynomials(claim.given)]
    for index in space.closure(polys):
        definition = space[index].definition
        polys += definition.arguments()
        if isinstance(definition, (Quotient, Remainder)) and definition.divisor.constant is None:
            return False
    return all(len(monomial) < 2 for poly in polys for monomial in space.concrete(poly).terms)


def shown(claim: Certificate, opinion: Opinion) -> str:
    goal, given = (formula_text(claim.space, one) for one in (claim.goal, claim.given))
    return f"{opinion.answer} at {opinion.point}: {goal}, given {given}"


def opinions(claims: Iterable[Certificate], effort: int = EFFORT) -> Counter[Answer]:
    """How often z3 gives each answer. Fails where it shows the opposite, or knows none without products."""
    seen: Counter[Answer] = Counter()
    for claim in claims:
        opinion = ask(claim.space, claim.goal, claim.given, effort=effort)
        open_ones = () if linear(claim) else (Answer.NONE,)
        assert opinion.answer in (Answer.AGREES, *open_ones), shown(claim, opinion)
        seen[opinion.answer] += 1
    return seen


@pytest.mark.full
@pytest.mark.parametrize("name", SPECS)
def test_no_proved_claim_is_contradicted_and_most_are_agreed_with(name, capsys):
    plan = build(load(ROOT / "specs" / f"{name}.yaml"))
    for what, claims in (
        ("plan", of_plan(plan)),
        ("kernels", of_kernels(name, plan)),
    ):
        claims = random.Random(name).sample(claims, min(CLAIMS, len(claims)))
        seen = opinions(claims)
        if seen[Answer.AGREES] < LEAST * len(claims):  # a file of few claims, many with products
            seen = opinions(claims, effort=10 * EFFORT)
        agrees, none = seen[Answer.AGREES], seen[Answer.NONE]
        with capsys.disabled():
            print(f"\n{name}, {what}: z3 agrees with {agrees} claims, no answer to {none}")
        assert claims and agrees >= LEAST * len(claims)
