"""Certificates as plain data that is read back: for files that outlive the run which found the proofs.

The certificates of one space are kept together: every polynomial, formula and definition once, and by its number
wherever it is used. Reading back trusts nothing: what is no certificate, such as a definition of a variable by itself,
raises `StoreError`. `identity` tells certificates apart by all that they say, however they are stored.
"""

from __future__ import annotations

import enum
import hashlib
import json
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_args, get_origin

from kgen.algebra import certificate as proof
from kgen.algebra import definitions as defs
from kgen.algebra import formula as logic
from kgen.algebra.certificate import Certificate, Step
from kgen.algebra.definition import Definition
from kgen.algebra.division import Quotient, Remainder
from kgen.algebra.formula import Formula, polynomials
from kgen.algebra.interval import Interval
from kgen.algebra.poly import Poly
from kgen.algebra.serial import as_json
from kgen.algebra.space import Space, Variable

Plain = Any

FORMULAS = get_args(Formula)
STEPS = (
    proof.Trivial,
    proof.Assumed,
    proof.Bounded,
    proof.FromDefinition,
    proof.Combined,
    proof.Powers,
    proof.Every,
    proof.Refuted,
    proof.Clash,
    proof.Cases,
    proof.Replaced,
    proof.Computed,
)
DEFINITIONS = (
    defs.Free,
    defs.Fixed,
    defs.Minimum,
    defs.Maximum,
    defs.Where,
    defs.PowerOfTwo,
    defs.Logarithm,
    defs.TableEntry,
    defs.Unknown,
    Quotient,
    Remainder,
)
PARTS = (defs.Table, Interval)
"""What has fields of its own and stands inside a definition."""
MOST_VARIABLES = 1_000_000
CLASSES = {one.__name__: one for one in (*FORMULAS, *STEPS, *DEFINITIONS)}


class StoreError(ValueError):
    """What was stored is no certificate."""


class Recalled(Space):
    """The variables of stored certificates by their definitions alone: what these mean is for the reader to say."""

    def __init__(self, definitions: Mapping[int, Definition]):
        super().__init__()
        for index in range(max(definitions, default=-1) + 1):
            definition = definitions.get(index, Definition())
            self._variables.append(Variable(index, definition, (), (), Interval()))


def identity(certificate: Certificate) -> str:
    """A hash of a certificate's statement, its steps, and the definitions of its variables."""
    text = json.dumps(as_json(certificate), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


# ---------------------------------------------------------------- writing


def stored(certificates: Sequence[Certificate]) -> dict[str, Plain]:
    """The certificates of one space as plain data."""
    writer = _Writer()
    plain = [writer.certificate(one) for one in certificates]
    space = certificates[0].space
    indices = space.closure(poly for one in certificates for poly in _mentioned(one))
    variables = [[index, *writer.record(space[index].definition)] for index in indices]
    return {
        "polynomials": [_terms(poly) for poly in writer.polynomials],
        "formulas": writer.texts,
        "variables": variables,
        "certificates": plain,
    }


def _mentioned(certificate: Certificate) -> Iterator[Poly]:
    """Every polynomial of a certificate."""
    for formula in (certificate.given, certificate.goal):
        yield from polynomials(formula)
    for step in certificate.steps:
        for name in _hints(type(step)):
            value = getattr(step, name)
            if isinstance(value, Poly):
                yield value
            elif isinstance(value, FORMULAS):
                yield from polynomials(value)
        variable = getattr(step, "variable", getattr(step, "source", None))
        if isinstance(variable, int):
            yield Poly.variable(variable)


def _terms(poly: Poly) -> list[list[int]]:
    return [[coefficient, *monomial] for monomial, coefficient in poly.sorted_terms()]


class _Writer:
    """Numbers polynomials and formulas as it meets them; a formula comes after its parts."""

    def __init__(self) -> None:
        self.polynomials: dict[Poly, int] = {}
        self.formulas: dict[Formula, int] = {}
        self.texts: list[list[Plain]] = []
        self._steps: dict[Step, int] = {}

    def certificate(self, one: Certificate) -> list[Plain]:
        self._steps = {step: number for number, step in enumerate(one.steps)}
        steps = [self.record(step) for step in one.steps]
        return [self._formula(one.given), self._formula(one.goal), steps]

    def record(self, item: object) -> list[Plain]:
        """The name of a class, and its fields."""
        return [type(item).__name__, *self._fields(item)]

    def _fields(self, item: object) -> Iterator[Plain]:
        return (self._value(getattr(item, name)) for name in _hints(type(item)))

    def _formula(self, formula: Formula) -> int:
        if formula not in self.formulas:
            text = self.record(formula)
            self.formulas[formula] = len(self.texts)
            self.texts.append(text)
        return self.formulas[formula]

    def _value(self, value: object) -> Plain:
        match value:
            case Poly():
                return self.polynomials.setdefault(value, len(self.polynomials))
            case Step():
                return self._steps[value]
            case defs.Table() | Interval():
                return list(self._fields(value))
            case tuple():
                return [self._value(part) for part in value]
            case enum.Enum():
                return value.value
            case None | int() | str():
                return value
        return [self._formula(value)]


# ---------------------------------------------------------------- reading


def restored(plain: Plain) -> list[Certificate]:
    """The certificates that `stored` made this of. Raises StoreError."""
    try:
        reader = _Reader(plain)
        return [reader.certificate(one) for one in plain["certificates"]]
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise StoreError(f"{type(error).__name__}: {error}") from None


class _Reader:
    def __init__(self, plain: Plain):
        self._polynomials = [_poly(terms) for terms in plain["polynomials"]]
        self._formulas: list[Formula] = []
        self._steps: list[Step] = []
        for text in plain["formulas"]:
            self._formulas.append(self._record(text, FORMULAS))
        definitions: dict[int, Definition] = {}
        for index, *text in plain["variables"]:
            definition = self._record(text, DEFINITIONS)
            earlier = all(
                max(poly.variables, default=-1) < index for poly in definition.arguments()
            )
            if (
                type(index) is not int
                or not 0 <= index < MOST_VARIABLES
                or index in definitions
                or not earlier
            ):
                raise StoreError(f"variable {index} is not defined by variables before it")
            definitions[index] = definition
        self._defined = set(definitions)
        self._space = Recalled(definitions)

    def certificate(self, plain: Plain) -> Certificate:
        given, goal, steps = plain
        self._steps = []
        for text in steps:
            self._steps.append(self._record(text, STEPS))
        found = Certificate(
            self._space, _at(self._formulas, given), _at(self._formulas, goal), self._steps[-1]
        )
        if not set(self._space.closure(_mentioned(found))) <= self._defined:
            raise StoreError("a certificate speaks of a variable that has no definition")
        return found

    def _record(self, text: Plain, kinds: Sequence[type]) -> Any:
        name, *fields = text
        kind = CLASSES[name]
        if kind not in kinds:
            raise StoreError(f"{name} is out of place")
        return self._made(kind, fields)

    def _made(self, kind: type, fields: Sequence[Plain]) -> Any:
        hints = _hints(kind)
        if len(fields) != len(hints):
            raise StoreError(
                f"{kind.__name__} has {len(hints)} fields, and {len(fields)} are given"
            )
        return kind(*(self._value(hint, one) for hint, one in zip(hints.values(), fields)))

    def _value(self, hint: Any, value: Plain) -> Any:
        """A field of the type that its class declares."""
        options = _options(hint)
        if value is None and type(None) in options:
            return None
        if isinstance(value, list) and any(one in FORMULAS for one in options):
            (number,) = value
            found = _at(self._formulas, number)
            return _of(found, tuple(one for one in options if one in FORMULAS))
        (kind,) = (one for one in options if one is not type(None) and one not in FORMULAS)
        if get_origin(kind) is tuple:
            return tuple(self._value(get_args(kind)[0], part) for part in value)
        if kind is Poly:
            return _at(self._polynomials, value)
        if kind in PARTS:
            return self._made(kind, value)
        if issubclass(kind, Step):
            return _of(_at(self._steps, value), kind)
        if issubclass(kind, enum.Enum):
            return kind(value)
        if type(value) is not kind:
            raise StoreError(f"{value!r} is no {kind.__name__}")
        return value


def _of(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise StoreError(f"a {type(value).__name__} is out of place")
    return value


def _at(items: Sequence[Any], number: Plain) -> Any:
    if type(number) is not int or not 0 <= number < len(items):
        raise StoreError(f"there is no number {number}")
    return items[number]


def _poly(terms: Plain) -> Poly:
    """A polynomial; none is written in two ways."""
    found: dict[tuple[int, ...], int] = {}
    for coefficient, *monomial in terms:
        numbers = all(type(one) is int for one in (coefficient, *monomial))
        if (
            not numbers
            or not coefficient
            or monomial != sorted(monomial)
            or min(monomial, default=0) < 0
        ):
            raise StoreError(f"{[coefficient, *monomial]} is no term")
        if tuple(monomial) in found:
            raise StoreError(f"a polynomial has two terms of {monomial}")
        found[tuple(monomial)] = coefficient
    return Poly(found)


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    """The fields of a class with their types, in order."""
    return types.MappingProxyType(typing.get_type_hints(kind))


@cache
def _options(hint: Any) -> tuple[Any, ...]:
    union = get_origin(hint) in (typing.Union, types.UnionType)
    return tuple(one for part in get_args(hint) for one in _options(part)) if union else (hint,)
