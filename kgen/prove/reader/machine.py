"""The reader: runs a kernel once, with polynomials for numbers.

Each kind of operation has a handler in one of the modules beside this one. What no handler knows gives values about
which nothing is known, and an obstacle that is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from kgen.algebra import (
    TRUE,
    AtLeast,
    Formula,
    Interval,
    Kind,
    Opaque,
    Poly,
    conjunction,
    conjuncts,
    ge,
    le,
)
from kgen.prove.facts import (
    IntegerArgument,
    Launch,
    PointerArgument,
)
from kgen.prove.obligations.engine import Engine
from kgen.prove.reader.record import Access, Barrier, Event, Loop, Need, Obstacle, Reading
from kgen.prove.reader.values import (
    NONE,
    Condition,
    Data,
    Integer,
    Lost,
    Needs,
    Pointer,
    Shape,
    Value,
    needs_of,
)
from kgen.prove.ttir import Block, Function, Operation, Type

Environment = dict[str, Value]
Handler = Callable[..., "Value | Sequence[Value] | None"]

QUICK_STEPS = 300
TERMINATORS = frozenset({"tt.return", "scf.yield", "scf.condition", "cf.br", "cf.cond_br"})


HINTS = ("tt.divisibility", "tt.contiguity", "tt.constancy")
"""What `tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy` say."""
NO_HINT = (
    "leave it out: of arguments, what the plan declares divisible is known to the compiler already"
)
INSTEAD = "write it with tl.load, tl.store and arithmetic of integers"


def signed(bits: int) -> Interval:
    """The integers that a signed type of `bits` bits holds."""
    return Interval(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class Reader:
    """Reads one launch of a kernel. `name` tells its variables from those of other launches in the same space.

    Entries of tensors in `written` are not what was promised; `stored(tensor, offset, where)` gives what an earlier
    launch left in one, where that is known.
    """

    def __init__(
        self,
        engine: Engine,
        launch: Launch,
        function: Function,
        name: str,
        written: frozenset[str] = frozenset(),
        stored: Callable[[str, Poly, Sequence[Formula]], Poly | None] = lambda *_: None,
    ):
        self.engine, self.world, self.space = engine, engine.world, engine.space
        self.name, self.written, self.stored = name, written, stored
        self._function, self._launch = function, launch
        self._path: list[Formula] = []
        self._control: list[Needs] = []
        self._loops: list[Loop] = []
        self._events: list[Event] = []
        self._needs: dict[tuple[int, Formula, Formula], int] = {}
        self._need_list: list[Need] = []
        self._obstacles: dict[tuple[int, str], Obstacle] = {}
        self._silent = 0
        self._variables: dict[tuple, Poly] = {}
        self.extents = tuple(map(self.space.concrete, launch.grid.values()))
        self.programs = {
            dim: self._program(dim, extent) for dim, extent in zip(launch.grid, self.extents)
        }

    def read(self) -> Reading:
        """The accesses and obstacles of the whole kernel."""
        from kgen.prove.reader.control import read_function

        read_function(self, self._function, self._arguments())
        return Reading(
            tuple(self._events),
            tuple(self._need_list),
            tuple(self._obstacles.values()),
            self.programs,
        )

    def _program(self, dim: str, extent: Poly) -> Poly:
        """The index of a program along a grid dimension, 0 where there is one."""
        if extent.constant == 1:
            return Poly.of(0)
        return self.space.axis(f"{self.name}.{dim}", 0, extent - 1, Kind.PROGRAM)

    def groups(self, program: Poly, size: Poly) -> Poly | None:
        """How many groups of `size` neighbours a grid has along the dimension of a program id, where that is no number."""
        for one, extent in zip(self.programs.values(), self.extents):
            if one == program and len(size.terms) == 1:
                groups, rest = extent.divide_by_term(size)
                return groups if groups.variables and not rest.terms else None
        return None

    def _arguments(self) -> Environment:
        """The kernel's parameters by name; they are matched by position, for TTIR may rename them."""
        found: Environment = {}
        given = self._launch.arguments.values()
        for (name, kind), argument in zip(self._function.arguments, given, strict=True):
            if isinstance(argument, PointerArgument):
                found[name] = Pointer(argument.tensor, Poly.of(0), kind.element, ())
            elif isinstance(argument, IntegerArgument) and kind.bits:
                needs = self.fits(_parameter(name), argument.value, kind.bits)
                found[name] = Integer(argument.value, (), kind.bits, needs)
            elif kind.bits:
                found[name] = Lost(f"nothing is known of the argument {name}", ())
            else:
                found[name] = Data(())
        return found

    # What is known here.

    def path(self) -> Formula:
        """What holds wherever the current operation runs."""
        return conjunction(*self._path)

    def control_needs(self) -> Needs:
        """What has to hold for the program to be where the reader is."""
        return frozenset().union(*self._control)

    def certain(self, formula: Formula) -> bool:
        """Whether a short search proves the formula here. What holds everywhere is kept for later proofs.

        So is what bounds alone show: stated as a fact, it is found by searches that would not come upon it.
        """
        return self.engine.lemma(formula, self.path(), steps=QUICK_STEPS)

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(self._loops)

    @contextmanager
    def where(self, formula: Formula, needs: Needs) -> Iterator[None]:
        """A part of the program that runs only where `formula` holds."""
        self._path.append(formula)
        self._control.append(needs)
        try:
            yield
        finally:
            self._path.pop()
            self._control.pop()

    @contextmanager
    def inside(self, loop: Loop, needs: Needs) -> Iterator[None]:
        """The body of a loop."""
        self._loops.append(loop)
        try:
            with self.where(loop.guard, needs):
                yield
        finally:
            self._loops.pop()

    @contextmanager
    def silently(self) -> Iterator[None]:
        """A trial that leaves no events and obstacles."""
        self._silent += 1
        try:
            yield
        finally:
            self._silent -= 1

    # Variables.

    def once(self, *key: object, make: Callable[[str], Poly]) -> Poly:
        """The variable that belongs to `key` in this launch, made when it is first asked for."""
        if key not in self._variables:
            label = f"{self.name}.{'.'.join(map(str, key))}"
            self._variables[key] = make(label)
        return self._variables[key]

    def lanes(self, shape: Shape) -> list[Poly]:
        """The lane variables of a block."""
        return [self.space.lane(axis, size) for axis, size in enumerate(shape) if size > 1]

    def place(self, shape: Shape) -> list[Poly]:
        """Everything that a value computed here may depend on."""
        turns = [loop.turn for loop in self._loops]
        programs = [program for program in self.programs.values() if program.variables]
        return [*self.lanes(shape), *turns, *programs]

    def unknown(
        self,
        operation: Operation,
        kind: Type,
        part: int = 0,
        bounds: Interval | None = None,
        needs: Needs = NONE,
    ) -> Value:
        """A value of type `kind` that cannot be looked into; the same each time the operation is read in one place.

        `needs` are those of `bounds`: without these the bounds are the type's.
        """
        if kind.pointer:
            return Lost(f"the pointer that {operation.name} gives", kind.shape)
        if kind.bits is None:
            return Data(kind.shape)
        reason = f"{self.name}: {operation.name} in line {operation.line}"
        serial = operation.number * 16 + part
        if kind.bits == 1:
            return Condition(Opaque(reason, tuple(self.place(kind.shape)), serial), kind.shape)
        whole = signed(kind.bits)
        bounds = whole if bounds is None or needs else whole.meet(bounds)
        poly = self.space.unknown(reason, self.place(kind.shape), serial, bounds)
        return Integer(poly, kind.shape, kind.bits)

    def unknowns(self, operation: Operation) -> list[Value]:
        """An unknown for each result; nothing is known of one whose type the text does not tell."""
        kinds = operation.result_types
        if len(kinds) != len(operation.results):
            return [Lost(f"a result of {operation.name}", ()) for _ in operation.results]
        return [self.unknown(operation, kind, number) for number, kind in enumerate(kinds)]

    # Needs.

    def need(self, operation: Operation, says: str, formula: Formula) -> Needs:
        """The number of a condition that the result depends on; nothing where bounds alone make it true."""
        open_parts = [part for part in conjuncts(formula) if not self._bounded(part)]
        if not open_parts:
            return NONE
        formula = conjunction(*open_parts)
        key = (operation.number, formula, self.path())
        if key not in self._needs:
            self._needs[key] = len(self._need_list)
            self._need_list.append(Need(operation, says, formula, self.path()))
        return frozenset((self._needs[key],))

    def needs_as(self, needs: Needs, change: Callable[[Formula], Formula]) -> Needs:
        """The same conditions at another turn of a loop, as `change` states them."""
        found: Needs = NONE
        for number in needs:
            need = self._need_list[number]
            found |= self.need(need.operation, need.says, change(need.formula))
        return found

    def sure(self, condition: Condition) -> bool:
        """Whether a short search proves the condition here, with everything that its own meaning depends on."""
        needs = condition.needs | self.control_needs()
        return self.meant(needs) and self.certain(condition.formula)

    def meant(self, needs: Needs) -> bool:
        """Whether short searches prove all of the needs here, so that what has them is what it says."""
        return all(self.certain(self._need_list[number].formula) for number in sorted(needs))

    def fits(self, operation: Operation, poly: Poly, bits: int) -> Needs:
        """That an integer type holds the value."""
        low, high = signed(bits)
        says = f"it fits {bits} bits"
        return self.need(operation, says, conjunction(ge(poly, low), le(poly, high)))

    def _bounded(self, formula: Formula) -> bool:
        if not isinstance(formula, AtLeast):
            return formula == TRUE
        low = self.space.interval(self.space.concrete(formula.poly)).low
        return low is not None and low >= 0

    # Events.

    def obstacle(self, operation: Operation, reason: str, opaque: bool) -> None:
        """Something that is not understood."""
        if not self._silent:
            key = (operation.number, reason)
            self._obstacles.setdefault(key, Obstacle(operation, reason, opaque))

    def barrier(self, operation: Operation) -> None:
        if not self._silent:
            self._events.append(Barrier(operation, self.path(), self.loops, len(self._events)))

    def access(
        self,
        kind: str,
        operation: Operation,
        pointer: Value,
        mask: Condition | None,
        value: Value | None = None,
        result: Value | None = None,
        followed: bool = False,
    ) -> None:
        """A memory access, or an obstacle where the pointer is not known."""
        if not isinstance(pointer, Pointer):
            reason = getattr(pointer, "reason", "no pointer")
            self.obstacle(operation, f"the address is not known: {reason}", True)
            return
        if self._silent:
            return
        self._events.append(
            Access(
                kind=kind,
                operation=operation,
                tensor=pointer.tensor,
                offset=pointer.offset,
                element=pointer.element,
                shape=pointer.shape,
                mask=TRUE if mask is None else mask.formula,
                path=self.path(),
                loops=self.loops,
                needs=pointer.needs,
                control_needs=self.control_needs() | (NONE if mask is None else mask.needs),
                value=value,
                result=result,
                followed=followed,
                order=len(self._events),
            )
        )

    # Running.

    def block(self, block: Block, environment: Environment) -> Operation | None:
        """Runs the operations of a block in `environment`; returns where it goes on, None where the text does not say."""
        from kgen.prove.reader.control import CONTROL

        for operation in block.operations:
            if operation.name in TERMINATORS:
                return operation
            self._hinted(operation)
            if operation.name in CONTROL:
                results = CONTROL[operation.name](self, operation, environment)
            else:
                results = self._results(operation, [environment[v] for v in operation.operands])
            environment.update(zip(operation.results, results, strict=True))
        return None

    def _hinted(self, operation: Operation) -> None:
        """The compiler believes hints about values, and joins accesses that only they make neighbours."""
        for hint in HINTS:
            if hint in operation.text or any(one.startswith(hint) for one in operation.attributes):
                reason = f"the compiler believes {hint} of a value, and nothing shows that it is true; {NO_HINT}"
                self.obstacle(operation, reason, True)

    def passed(self, block: Block, environment: Environment) -> list[Value]:
        """Runs a block; what it passes on."""
        last = self.block(block, environment)
        return [] if last is None else [environment[value] for value in last.operands]

    def _results(self, operation: Operation, operands: list[Value]) -> Sequence[Value]:
        from kgen.prove.reader.handlers import HANDLERS, PURE

        handler = HANDLERS.get(operation.name)
        if handler is not None:
            found = handler(self, operation, *operands)
            return found if isinstance(found, (tuple, list)) else () if found is None else (found,)
        touches = any(isinstance(value, (Pointer, Lost)) for value in operands)
        if operation.name not in PURE or touches:
            opaque = touches or not operation.results or bool(operation.regions)
            reason = f"the operation {operation.name} is not known, so what it computes is not"
            if operation.name in PURE:
                reason = f"{operation.name} is given an address"
            self.obstacle(operation, f"{reason}; {INSTEAD}", opaque)
        return self.unknowns(operation)


def merged(
    reader: Reader, condition: Condition, then: Value, otherwise: Value, shape: Shape
) -> Value:
    """What a value is where two ways meet: `then` where the condition holds, else `otherwise`."""
    needs = condition.needs | needs_of(then) | needs_of(otherwise)
    match then, otherwise:
        case Integer(), Integer():
            poly = reader.space.where(condition.formula, then.poly, otherwise.poly)
            return Integer(poly, shape, then.bits, needs)
        case Condition(), Condition():
            return Condition(
                _chosen(condition.formula, then.formula, otherwise.formula), shape, needs
            )
        case Pointer(), Pointer() if (
            then.tensor == otherwise.tensor and then.element == otherwise.element
        ):
            offset = reader.space.where(condition.formula, then.offset, otherwise.offset)
            return replace(then, offset=offset, shape=shape, needs=needs)
        case Data(), Data():
            return Data(shape)
        case Pointer(), Pointer():
            return Lost(f"it may point into {then.tensor} or {otherwise.tensor}", shape)
    return Lost("two ways leave values of different kinds", shape)


def _chosen(condition: Formula, then: Formula, otherwise: Formula) -> Formula:
    from kgen.algebra import disjunction, negate

    if then == otherwise:
        return then
    return disjunction(conjunction(condition, then), conjunction(negate(condition), otherwise))


def _parameter(name: str) -> Operation:
    """Stands for the binding of a parameter, where a need has to name an operation."""
    text = f"argument {name}"
    return Operation("argument", (), (), (), {}, (), (), (), (), -1, 0, text)
