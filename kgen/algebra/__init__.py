"""The proof engine: what kgen claims about integers, it proves here.

A `Space` holds variables with their meaning; expressions are lowered into it as polynomials and
formulas; `decide` answers with a certificate, a counterexample, or neither. Two modules import
sympy and are therefore not imported here: `kgen.algebra.sympy_check` (`recheck`, a second opinion
on certificates) and `kgen.algebra.show` (`show`, simplified text for people).

    space = Space()
    N, B = space.axis("N", 0), space.axis("B", 1)
    verdict = decide(space, ge(space.ceiling_quotient(N, B) * B, N))
    assert verdict.status is Status.PROVED and check(verdict.certificate)
"""

from kgen.algebra.axes import space_of
from kgen.algebra.certificate import Certificate
from kgen.algebra.checker import check
from kgen.algebra.definitions import Kind, Table
from kgen.algebra.division import Rounding
from kgen.algebra.extremes import opened
from kgen.algebra.formula import (
    FALSE,
    TRUE,
    And,
    AtLeast,
    Formula,
    Not,
    Opaque,
    Or,
    Truth,
    conjunction,
    conjuncts,
    disjunction,
    disjuncts,
    eq,
    ge,
    gt,
    iff,
    implies,
    le,
    lt,
    ne,
    negate,
)
from kgen.algebra.interval import Interval
from kgen.algebra.lower import LowerError, Meaning, defined, lower, lower_condition
from kgen.algebra.point import Point, find_point, holds_at, some_points
from kgen.algebra.poly import Poly
from kgen.algebra.serial import as_json
from kgen.algebra.space import Maybe, Space, SpaceError
from kgen.algebra.substitution import substitute, substitute_formula
from kgen.algebra.text import formula_text, poly_text
from kgen.algebra.verdict import CertificateError, Status, Verdict, contradictory, decide

__all__ = [
    "FALSE",
    "TRUE",
    "And",
    "AtLeast",
    "Certificate",
    "CertificateError",
    "Formula",
    "Interval",
    "Kind",
    "LowerError",
    "Maybe",
    "Meaning",
    "Not",
    "Opaque",
    "Or",
    "Point",
    "Poly",
    "Rounding",
    "Space",
    "SpaceError",
    "Status",
    "Table",
    "Truth",
    "Verdict",
    "as_json",
    "check",
    "conjunction",
    "conjuncts",
    "contradictory",
    "decide",
    "defined",
    "disjunction",
    "disjuncts",
    "eq",
    "find_point",
    "formula_text",
    "ge",
    "gt",
    "holds_at",
    "iff",
    "implies",
    "le",
    "lower",
    "lower_condition",
    "lt",
    "ne",
    "negate",
    "opened",
    "poly_text",
    "some_points",
    "space_of",
    "substitute",
    "substitute_formula",
]
