"""Counted loops: closed forms of what a loop carries from turn to turn.

In turn t a carried value is one of

- unchanged: what it was before the loop;
- stepped: `before + d * t`, where each turn adds the same d (counters, moving pointers);
- computed anew: `g(t - 1)`, where a turn computes g(t) from nothing that is carried, or what it was before the loop in
  turn 0; where that is `g(-1)`, as for page ids fetched one turn early, `g(t - 1)` in every turn;
- or an unknown value between bounds that every turn keeps.

However a form was found, it is used only if one more turn leads from the form at t to the form at t + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kgen.algebra import (
    Interval,
    Kind,
    Opaque,
    Poly,
    ge,
    gt,
    lt,
    substitute,
    substitute_formula,
)
from kgen.algebra.definitions import TableEntry, Where
from kgen.algebra.formula import Formula, opaques, polynomials
from kgen.prove.reader.machine import Environment, Reader, merged, signed
from kgen.prove.reader.record import Loop
from kgen.prove.reader.values import (
    NONE,
    Condition,
    Data,
    Integer,
    Lost,
    Needs,
    Pointer,
    Value,
    needs_of,
)
from kgen.prove.ttir import Block, Operation

WIDENINGS = 3
"""Turns after which the bounds of a carried value become those of its type."""


def read_for(reader: Reader, operation: Operation, environment: Environment) -> Sequence[Value]:
    """`scf.for`: the body in every turn, and what the loop leaves."""
    low, high, step, *before = [environment[value] for value in operation.operands]
    if not all(isinstance(value, Integer) for value in (low, high, step)):
        reader.obstacle(operation, "the bounds of the loop are not known", True)
        return reader.unknowns(operation)
    if "unsigned" in operation.text.split("=")[0]:
        reader.obstacle(operation, "the loop counts without signs", True)
    needs = low.needs | high.needs | step.needs
    with reader.where(gt(high.poly, low.poly), needs):
        # the loop adds the step once more before it sees that it has to stop
        needs |= reader.fits(operation, high.poly - 1 + step.poly, low.bits)
        if not reader.certain(ge(step.poly, 1)):
            reader.obstacle(operation, "the step of the loop may be less than 1", True)
    return _Counted(reader, operation, environment, low, high, step, needs).read(before)


@dataclass
class _Carried:
    """A value that the loop carries: before it, and at the head of turn t.

    `own` are the needs of computing it anew in turn t, `new` what turn t computes if it does so from nothing that is
    carried. It is `open` until it has a form, and `bounded` if its form is an unknown.
    """

    before: Value
    head: Value
    own: Needs = NONE
    new: Value | None = None
    open: bool = True
    bounded: bool = False

    def settle(self, head: Value) -> None:
        self.head, self.open = head, False


class _Counted:
    """One counted loop, read in one place."""

    def __init__(
        self,
        reader: Reader,
        operation: Operation,
        environment: Environment,
        low: Integer,
        high: Integer,
        step: Integer,
        needs: Needs,
    ):
        self._reader, self._operation, self._environment = reader, operation, environment
        self._low, self._high, self._step, self._needs = low, high, step, needs
        self._block: Block = operation.regions[0][0]
        most = self._most_turns()
        self._turn = reader.once(
            "turn", operation.number, most, make=lambda name: self._counter(name, most)
        )
        (self._index,) = self._turn.variables
        self._value = Integer(low.poly + step.poly * self._turn, (), low.bits, needs)
        self._loop = Loop(self._turn, lt(self._value.poly, high.poly), operation.line)

    def read(self, before: Sequence[Value]) -> Sequence[Value]:
        """Reads the body in turn t and gives the values behind the loop."""
        self._carried = [_Carried(value, value) for value in before]
        self._find_forms()
        self._bound_the_rest()
        self._add_needs()
        behind = self._body()
        if not all(map(self._leads_on, self._carried, behind)):
            reason = "no closed form of what the loop carries was found"
            self._reader.obstacle(self._operation, reason, True)
        return [self._behind(n, carried) for n, carried in enumerate(self._carried)]

    def _most_turns(self) -> int | None:
        """A constant that no turn exceeds: known bounds are cheaper than proofs."""
        space = self._reader.space
        most = space.interval(space.concrete(self._high.poly - 1 - self._low.poly)).high
        least = max(space.interval(space.concrete(self._step.poly)).low or 1, 1)
        return None if most is None else max(0, most // least)

    def _counter(self, name: str, most: Poly | int | None) -> Poly:
        return self._reader.space.axis(name, 0, most, Kind.ITERATION)

    def _body(self) -> list[Value]:
        """One turn: what it passes to the next."""
        (counter, _), *names = self._block.arguments
        inner = {**self._environment, counter: self._value}
        inner.update((name, one.head) for (name, _), one in zip(names, self._carried, strict=True))
        with self._reader.inside(self._loop, self._needs):
            return self._reader.passed(self._block, inner)

    def _trial(self) -> list[Value]:
        with self._reader.silently():
            return self._body()

    # Finding forms.

    def _find_forms(self) -> None:
        """Closed forms, one after another, for what is found of one may show that of the next."""
        for n, carried in enumerate(self._carried):
            if isinstance(carried.before, (Data, Lost)):
                carried.settle(carried.before)
            else:
                carried.head = self._symbol(n, 0)
        progress = True
        while progress and any(one.open for one in self._carried):
            behind = self._trial()
            forms = [
                self._form(one, new) if one.open else None
                for one, new in zip(self._carried, behind)
            ]
            progress = any(form is not None for form in forms)
            for one, form in zip(self._carried, forms):
                if form is not None:
                    one.settle(form)

    def _form(self, carried: _Carried, new: Value) -> Value | None:
        """A closed form of a carried value that a turn makes `new`; None where none is seen yet."""
        first = carried.before
        if type(new) is not type(first):
            return Lost("a loop carries what is not known", first.shape)
        if self._same(new, carried.head):
            return first
        if isinstance(new, Pointer) and new.tensor != first.tensor:
            return Lost(
                f"it points into {first.tensor}, and into {new.tensor} a turn later", first.shape
            )
        symbols = frozenset().union(*(_symbols(one.head) for one in self._carried if one.open))
        if not isinstance(new, Condition):
            step = _number(new) - _number(carried.head)
            if self._mentions((step,)).isdisjoint(symbols | {self._index}):
                return _with_number(first, _number(first) + step * self._turn)
        if self._mentions(_polys(new), new).isdisjoint(symbols):
            ahead = self._at(new, self._turn - 1)
            if self._same(self._at(ahead, Poly.of(0)), first):
                return ahead
            carried.new = new
            later = Condition(ge(self._turn, 1), ())
            return merged(self._reader, later, ahead, first, first.shape)
        return None

    def _mentions(
        self, polys: Sequence[Poly], value: Value | None = None
    ) -> frozenset[int | Opaque]:
        """The variables and opaque conditions that polynomials, or a truth value, depend on."""
        space = self._reader.space
        indices = space.closure(polys)
        formulas = [f for index in indices for f in _conditions(space[index].definition)]
        if isinstance(value, Condition):
            formulas.append(value.formula)
        return frozenset(indices).union(*map(opaques, formulas))

    def _bound_the_rest(self) -> None:
        """Unknown values, integers within bounds that a turn does not leave, for what has no closed form."""
        rest = {n: one for n, one in enumerate(self._carried) if one.open}
        integers = {n: one for n, one in rest.items() if isinstance(one.before, Integer)}
        bounds = {n: self._reach(one.before) for n, one in integers.items()}
        for attempt in range(WIDENINGS + 1):
            for n, one in rest.items():
                one.bounded, one.open = True, False
                one.head = self._symbol(n, 1, bounds.get(n, Interval()))
            behind = self._trial() if integers else []
            grown = {n: bounds[n].union(self._reach(behind[n])) for n in integers}
            if grown == bounds:
                break
            if attempt == WIDENINGS - 1:
                grown = {n: signed(one.before.bits) for n, one in integers.items()}
            bounds = grown

    def _reach(self, value: Value) -> Interval:
        """Constant bounds of an integer. One that may wrap around can be anything its type holds."""
        if not isinstance(value, Integer):
            return Interval()
        whole = signed(value.bits)
        return whole if value.needs else whole.meet(self._reader.space.interval(value.poly))

    def _symbol(self, n: int, part: int, bounds: Interval = Interval()) -> Value:
        """An unknown for the carried value `n`; `part` tells trials, bounded values and results apart."""
        reader, first = self._reader, self._carried[n].before
        reason = f"{reader.name}: carried by the loop in line {self._operation.line}"
        serial = (self._operation.number * 64 + n) * 4 + part
        inputs = [*reader.place(first.shape), *([] if part == 2 else [self._turn])]
        if isinstance(first, Condition):
            return Condition(Opaque(reason, tuple(inputs), serial), first.shape)
        return _with_number(first, reader.space.unknown(reason, inputs, serial, bounds))

    # Using them.

    def _leads_on(self, carried: _Carried, behind: Value) -> bool:
        """Whether a turn leads from the form in turn t to the form in turn t + 1."""
        head = carried.head
        if isinstance(head, Lost):
            return True
        if isinstance(head, Data) or (carried.bounded and not isinstance(head, Integer)):
            return type(behind) is type(head) and _target(behind) == _target(head)
        if carried.bounded:
            known = self._reach(head)
            return isinstance(behind, Integer) and known.union(self._reach(behind)) == known
        if carried.new is not None:
            return self._same(carried.new, behind)
        return self._same(self._at(head, self._turn + 1), behind)

    def _add_needs(self) -> None:
        """A value is right only if every earlier turn that led to it was."""
        for one in self._carried:
            if hasattr(one.head, "needs"):
                one.head = replace(one.head, needs=needs_of(one.before))
        for one, new in zip(self._carried, self._trial()):
            one.own = needs_of(new) - needs_of(one.head)
        for one in self._carried:
            if one.own and not one.bounded:
                needs = one.head.needs | self._in_turns(one.own, self._turn)
                one.head = replace(one.head, needs=needs)

    def _in_turns(self, needs: Needs, end: Poly) -> Needs:
        """The needs of every turn before `end`."""
        earlier = self._reader.once(
            "earlier", self._operation.number, end, make=lambda name: self._counter(name, end - 1)
        )
        values = {self._index: earlier}
        return self._reader.needs_as(
            needs, lambda formula: substitute_formula(self._reader.space, formula, values)
        )

    def _behind(self, n: int, carried: _Carried) -> Value:
        """The value behind the loop: the form in the turn that no longer runs."""
        head = carried.head
        if isinstance(head, (Data, Lost)):
            return head
        if carried.bounded:
            bounds = self._reach(head) if isinstance(head, Integer) else Interval()
            return self._symbol(n, 2, bounds)
        space = self._reader.space
        length = space.maximum(self._high.poly - self._low.poly, Poly.of(0))
        turns = space.ceiling_quotient(length, space.concrete(self._step.poly))
        needs = needs_of(carried.before)
        if carried.own:
            needs |= self._in_turns(carried.own, turns)
        if self._same(self._at(head, turns), carried.before):
            return carried.before
        return replace(self._at(head, turns), needs=needs | self._needs)

    def _same(self, one: Value, other: Value) -> bool:
        """Equal but for needs."""
        concrete = self._reader.space.concrete
        if isinstance(one, Condition) and isinstance(other, Condition):
            return one.formula == other.formula
        if isinstance(one, Pointer) and isinstance(other, Pointer):
            moved = concrete(one.offset - other.offset)
            return one.tensor == other.tensor and not moved.terms
        integers = isinstance(one, Integer) and isinstance(other, Integer)
        return integers and not concrete(one.poly - other.poly).terms

    def _at(self, value: Value, turn: Poly) -> Value:
        """`value` in another turn."""
        space, values = self._reader.space, {self._index: turn}
        if isinstance(value, Condition):
            return replace(value, formula=substitute_formula(space, value.formula, values))
        return _with_number(value, substitute(space, _number(value), values))


def _number(value: Integer | Pointer) -> Poly:
    return value.offset if isinstance(value, Pointer) else value.poly


def _with_number(value: Integer | Pointer, number: Poly) -> Value:
    return replace(value, **{"offset" if isinstance(value, Pointer) else "poly": number})


def _polys(value: Value) -> list[Poly]:
    if isinstance(value, Condition):
        return list(polynomials(value.formula))
    return [_number(value)] if isinstance(value, (Integer, Pointer)) else []


def _symbols(value: Value) -> frozenset[int | Opaque]:
    """The unknown that a trial put in the place of a carried value."""
    if isinstance(value, Condition):
        return frozenset(opaques(value.formula))
    return frozenset().union(*(poly.variables for poly in _polys(value)))


def _conditions(definition: object) -> list[Formula]:
    """The formulas in the definition of a variable."""
    match definition:
        case Where(condition=condition):
            return [condition]
        case TableEntry(mask=mask, promised=promised):
            return [mask, promised]
    return []


def _target(value: Value) -> str:
    return value.tensor if isinstance(value, Pointer) else ""
