"""Waivers: which open obligation each one covers, and which waivers cover none.

A waiver means one statement: of a launcher and a kernel, under a subject, in the verdict's own words, with the verdict
that it had, and where several lines have the same statement, the code of the line. Line numbers are no part of it, for
they move. A variant's waiver means that statement in every kernel that its template makes. What covers nothing is a
finding, so that no waiver outlives its reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgen.expr.nearest import nearest
from kgen.plan.model import Plan
from kgen.prove.host.findings import Rule
from kgen.prove.statement import same_statement, statement_at
from kgen.prove.verdicts import MASKS
from kgen.render.model import Launcher
from kgen.spec.waiver import Statement

Plain = Mapping[str, Any]

FOUNDATIONS = frozenset({"understood", "certificates", "signatures", "reached", "launches"})
"""Subjects that every other statement about a kernel rests on."""
HIDING = frozenset({Rule.UNDERSTOOD.value, Rule.FOREIGN.value})
"""Statements about host code behind which anything may happen."""

NEEDLESS, AMBIGUOUS, REFUSED, CHANGED = "KG811", "KG812", "KG813", "KG814"


@dataclass(frozen=True)
class Where:
    """A kernel of a launcher; a launcher that is None is any."""

    launcher: str | None
    kernel: str

    def holds(self, one: Plain) -> bool:
        return one["kernel"] == self.kernel and self.launcher in (None, one["launcher"])


@dataclass(frozen=True)
class Claim:
    """One waiver as it is written: item `index` of the spec's list, or of that of `template`."""

    waiver: Statement
    template: str
    index: int
    places: tuple[Where, ...]


@dataclass(frozen=True)
class Waived:
    """The reason for each obligation that is waived, by its number, and what is wrong with waivers, as plain data."""

    reasons: Mapping[int, str]
    findings: tuple[Plain, ...]


def claims(plan: Plan, launchers: Sequence[Launcher]) -> Iterator[Claim]:
    """The waivers of a spec and of the variants that its file is made from."""
    for index, waiver in enumerate(plan.spec.document.waive):
        yield Claim(waiver, "", index, (Where(waiver.launcher, waiver.kernel or ""),))
    templates = {one.regime.template.name: one.regime.template for one in launchers}
    for name, template in templates.items():
        for index, waiver in enumerate(template.variant.waive):
            places = tuple(
                Where(launcher.function, kernel.function)
                for launcher in launchers
                if launcher.regime.template.name == name
                for kernel in launcher.kernels
                if kernel.plan.role == waiver.kernel
            )
            yield Claim(waiver, name, index, places)


def waive(obligations: Sequence[Plain], made: Sequence[Claim], text: str) -> Waived:
    """What the claims cover of a file's obligations."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        tree = ast.Module([], [])
    reasons: dict[int, str] = {}
    findings: list[Plain] = []
    for claim in made:
        covered, wrong = _covered(obligations, claim, tree, reasons)
        reasons |= dict.fromkeys(covered, claim.waiver.reason)
        findings += [{**one, "template": claim.template, "index": claim.index} for one in wrong]
    return Waived(reasons, tuple(findings))


def _covered(
    obligations: Sequence[Plain], claim: Claim, tree: ast.Module, taken: Mapping[int, str]
) -> tuple[list[int], list[Plain]]:
    """The numbers of the obligations that a claim covers, and what is wrong with it."""
    waiver = claim.waiver
    if waiver.subject in FOUNDATIONS or waiver.says in HIDING:
        message = f"{_said(waiver)} cannot be waived: what else is said of the file rests on it"
        return [], [
            _finding(REFUSED, message, "remove the waiver, and mend what the verdict names")
        ]
    meant: list[int] = []
    for place in claim.places:
        found = _matching(obligations, waiver, place, tree)
        if len(found) > 1:
            return [], [_ambiguous(obligations, waiver, found, tree)]
        meant += found
    still_open = [n for n in meant if obligations[n]["status"] != "proved"]
    fresh = [n for n in still_open if n not in taken]
    covered = [n for n in fresh if obligations[n]["status"] == waiver.verdict]
    if not meant:
        # of a mask something is said only where a spec makes it idle, and a variant is for many specs
        silent = claim.template and waiver.subject == MASKS
        return [], [] if silent else [_unmatched(obligations, claim)]
    if not fresh:
        reason = "is proved" if not still_open else "is waived already"
        return [], [_finding(NEEDLESS, f"{_said(waiver)} {reason}", "remove the waiver")]
    return covered, [
        _changed(obligations[n], waiver)
        for n in fresh
        if obligations[n]["status"] != waiver.verdict
    ]


def _matching(
    obligations: Sequence[Plain], waiver: Statement, place: Where, tree: ast.Module
) -> list[int]:
    def meant(one: Plain) -> bool:
        said = place.holds(one) and (one["subject"], one["says"]) == (waiver.subject, waiver.says)
        return said and (
            waiver.code is None or same_statement(waiver.code, statement_at(tree, one["line"]))
        )

    return [number for number, one in enumerate(obligations) if meant(one)]


# ---------------------------------------------------------------- what is wrong with a waiver


def _finding(code: str, message: str, hint: str) -> Plain:
    return {"code": code, "message": message, "hint": hint}


def _said(waiver: Statement) -> str:
    return f"`{waiver.subject}: {waiver.says}`"


def _unmatched(obligations: Sequence[Plain], claim: Claim) -> Plain:
    """Nothing is said like this: what is said most like it, of these kernels if there is something."""
    waiver = claim.waiver
    own = [one for one in obligations if any(place.holds(one) for place in claim.places)]
    said = {one["says"]: one for one in own if one["subject"] == waiver.subject}
    close = nearest(waiver.says, said)
    hint = f"did you mean `{close}`?" if close else "`kgen check -v` prints every statement"
    if waiver.says in said and waiver.code is not None:
        lines = ", ".join(sorted({str(one["line"]) for one in own if one["says"] == waiver.says}))
        hint = f"it is said of other code than `{waiver.code}`: lines {lines}"
    kernels = ", ".join(
        sorted({place.kernel or place.launcher or "the file" for place in claim.places})
    )
    return _finding(NEEDLESS, f"{_said(waiver)} is said nowhere of {kernels or 'the file'}", hint)


def _ambiguous(
    obligations: Sequence[Plain], waiver: Statement, found: Sequence[int], tree: ast.Module
) -> Plain:
    """Several are meant: by which launcher or code they are told apart."""
    launchers = dict.fromkeys(obligations[n]["launcher"] for n in found)
    if len(launchers) > 1:
        hint = f"name one with `launcher`: {', '.join(launchers)}"
    else:
        codes = dict.fromkeys(statement_at(tree, obligations[n]["line"]) for n in found)
        hint = f"name one with `code`: {' or '.join(f'`{code}`' for code in codes)}"
        if len(codes) == 1:
            hint = f"write these lines so that they differ: `{next(iter(codes))}`"
    message = f"{_said(waiver)} is said {len(found)} times, and a waiver covers one statement"
    return _finding(AMBIGUOUS, message, hint)


def _changed(one: Plain, waiver: Statement) -> Plain:
    where = f"{one['kernel'] or one['launcher']}"
    message = (
        f"{_said(waiver)} is {one['status']} of {where}, and what is waived is {waiver.verdict}"
    )
    hint = f"look at it anew; write `verdict: {one['status']}` only if the reason still holds"
    return _finding(CHANGED, message, hint)
