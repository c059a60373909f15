"""Tensors as kernels see them, and what is promised of their entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kgen.algebra import (
    FALSE,
    Formula,
    Interval,
    Maybe,
    Poly,
    Space,
    TRUE,
    conjunction,
    eq,
    le,
    lower,
    lower_condition,
    poly_text,
)
from kgen.algebra.definitions import TableEntry
from kgen.algebra.lower import Meaning
from kgen.expr import Name, names as names_of, parse, to_python
from kgen.families.model import Accesses, Chosen, DTYPES, Lookup, ReadOnce, Tensor
from kgen.families.model import Contents as Promise
from kgen.prove.coordinates import coordinates
from kgen.prove.facts import Contents, EntryOf, Fact, Part, Reads, Rows, TensorFacts

ELEMENTS: Mapping[str, str] = {
    "bf16": "bf16",
    "fp16": "f16",
    "fp32": "f32",
    "fp8_e4m3": "f8E4M3FN",
    "fp8_e5m2": "f8E5M2",
    "uint8": "i8",
    "int32": "i32",
    "int64": "i64",
}
"""MLIR's names of kgen's types."""

MOST_BYTES = 2**63 - 1
INT32 = Interval(-(2**31), 2**31 - 1)


def rising_ends(space: Space, name: str, contents: Contents, extent: Poly) -> Iterator[Fact]:
    """Rising entries begin with the least value and end with the largest."""
    for place, value in ((Poly.of(0), contents.table.low), (extent - 1, contents.table.high)):
        entry = space.entry(contents.table, place)
        says = (
            f"{name}[{poly_text(space, place)}] is {poly_text(space, value)}, for it rises so far"
        )
        yield Fact(eq(entry, value), says, frozenset(entry.variables))


class Tensors:
    """Makes the facts of a family's tensors in one space."""

    def __init__(self, space: Space, meanings: Mapping[str, Meaning], accesses: Accesses):
        self._space, self._meanings, self._accesses = space, meanings, accesses
        self.found: dict[str, TensorFacts] = {}
        self.facts: list[Fact] = []

    def add(self, tensor: Tensor) -> None:
        """A tensor that the entry checks or allocates: its shape is known, its strides are any but the last."""
        extents = tuple(self._lowered(dim.extent, {}) for dim in tensor.dims)
        strides = tuple(
            self._space.axis(f"{tensor.name}.stride({n})", 0, MOST_BYTES)
            for n in range(len(extents) - 1)
        )
        strides = (*strides, Poly.of(1)) if extents else ()
        self._keep(tensor, extents, strides, self._contents(tensor))

    def add_scratch(
        self, name: str, dtype: str, dims: tuple[str, ...], extents: tuple[Poly, ...]
    ) -> None:
        """A tensor that the launcher allocates, contiguous."""
        strides: list[Poly] = [Poly.of(1)]
        for extent in reversed(extents[1:]):
            strides.insert(0, strides[0] * extent)
        tensor = Tensor(name, name, dtype, (), "scratch", "")
        self._keep(tensor, extents, tuple(strides), None, dims)

    def _keep(
        self,
        tensor: Tensor,
        extents: tuple[Poly, ...],
        strides: tuple[Poly, ...],
        contents: Contents | None,
        dims: tuple[str, ...] | None = None,
    ) -> None:
        names = tuple(dim.name for dim in tensor.dims) if dims is None else dims
        if contents is not None and contents.rising:
            self.facts += rising_ends(self._space, tensor.name, contents, extents[0])
        element = ELEMENTS[tensor.dtype]
        self.found[tensor.name] = TensorFacts(
            tensor.name, element, names, extents, strides, tensor.role, contents
        )
        last = Poly.of(0)
        for extent, stride in zip(extents, strides):
            last = last + (extent - 1) * stride
        most = MOST_BYTES // DTYPES[tensor.dtype][2] - 1
        says = f"the last element of {tensor.name} lies within its storage, which has less than 2^63 bytes"
        about = frozenset().union(*(stride.variables for stride in strides))
        if tensor.role != "scratch" and about:
            self.facts.append(Fact(le(last, most), says, about))

    # What entries mean.

    def _contents(self, tensor: Tensor) -> Contents | None:
        if tensor.dtype != "int32":
            return None
        for one in self._accesses.contents:
            if one.tensor == tensor.name:
                low, high = self._lowered(one.low, {}), self._lowered(one.high, {})
                table = self._space.table(tensor.name, low, high, INT32)
                names = tuple(dim.name for dim in tensor.dims)

                def promised(place: tuple[Poly, ...]) -> Formula:
                    if one.first:
                        return self._in_a_list(one, names[0], *place)
                    return self._condition(one.where, dict(zip(names, place)))

                steps = None if one.steps is None else self._lowered(one.steps, {})
                return Contents(table, promised, one.rising, one.distinct, steps)
        table = self._space.table(tensor.name, INT32.low, INT32.high, INT32)
        return Contents(table, lambda place: TRUE)

    def _in_a_list(self, one: Promise, name: str, place: Poly) -> Formula:
        """What is promised of the entry at `place`: nothing, unless it is so far behind the start of a list."""
        lookup = self._accesses.values[one.first]
        place = self._space.concrete(place)
        starts = self.found[lookup.tensor]
        for variable in place.variables:
            entry = self._space[variable].definition
            if not isinstance(entry, TableEntry) or entry.table != starts.contents.table:
                continue
            where = coordinates(self._space, entry.address, starts)
            if where is None or place.split(variable)[0].constant != 1:
                continue
            known = dict(zip(lookup.at, where)) | {name: place - Poly.variable(variable)}
            return conjunction(entry.mask, self._condition(one.where, known))
        return FALSE

    def reads(self, claim: ReadOnce) -> Reads:
        """A family's claim about its reads, stated in the space."""

        def bounds(
            indices: Mapping[str, Poly], rows: Rows | None
        ) -> Mapping[str, tuple[Poly, Poly]]:
            own = {"ROW": rows.first, "ROWS": Poly.of(rows.count)} if rows else {}
            names = self._values_at({**indices, **own})
            over = {**claim.over, **claim.seen} if rows else claim.over
            return {
                index: (self._lowered(low, names), self._lowered(high, names))
                for index, (low, high) in over.items()
                if _known(low, names, self._meanings) and _known(high, names, self._meanings)
            }

        at = tuple(self._coordinate(text, claim) for text in claim.at)
        return Reads(claim.tensor, tuple(claim.over), at, bounds, claim.passes)

    def _coordinate(self, text: str, claim: ReadOnce) -> Part | EntryOf:
        """A coordinate over the indices, or over one of the lookups: `page`, `token // PAGE` or `token % PAGE`."""
        part = self._part(text)
        if part.index not in claim.lookups:
            return part
        lookup = claim.lookups[part.index]

        def used(entry: Poly) -> Formula:
            return self._condition(claim.where, {part.index: entry})

        at = tuple(map(self._part, lookup.at))
        return EntryOf(lookup.tensor, at, part.kind, part.divisor, used)

    def _part(self, text: str) -> Part:
        """`p`, `p // PAGE` or `p % PAGE`, perhaps behind one of the family's values: `START + p // PAGE`."""
        expr = parse(text)
        if isinstance(expr, Name):
            return Part(expr.id)
        if expr.op == "+":
            lookup = self._accesses.values[expr.left.id]
            first = EntryOf(lookup.tensor, tuple(map(self._part, lookup.at)))
            return replace(self._part(to_python(expr.right)), first=first)
        kind = {"//": "quotient", "%": "remainder"}[expr.op]
        return Part(expr.left.id, kind, lower(expr.right, self._space, self._meanings))

    def entry(self, lookup: Lookup, names: Mapping[str, Meaning]) -> Poly:
        """The entry of a table at coordinates over `names`."""
        tensor = self.found[lookup.tensor]
        place = tuple(self._lowered(at, names) for at in lookup.at)
        offset = Poly.of(0)
        for coordinate, stride in zip(place, tensor.strides, strict=True):
            offset = offset + coordinate * stride
        return self._space.entry(
            tensor.contents.table, offset, promised=tensor.contents.promised(place)
        )

    def _values_at(self, place: Mapping[str, Poly]) -> dict[str, Meaning]:
        """The family's values and what follows from them, as far as the names in `place` tell where."""
        names: dict[str, Meaning] = dict(place)
        for name, lookup in self._accesses.values.items():
            if all(_known(at, names) for at in lookup.at):
                names[name] = self.entry(lookup, names)
        for name, chosen in self._accesses.let.items():
            if _known(chosen.value, names, self._meanings):
                names[name] = self._chosen(chosen, names)
        return names

    def _chosen(self, chosen: Chosen, names: Mapping[str, Meaning]) -> Poly:
        known = {**self._meanings, **names}
        condition = lower_condition(parse(chosen.when), self._space, known)
        if condition == FALSE:
            return self._lowered(chosen.otherwise, names)
        present = {n: m.value if isinstance(m, Maybe) else m for n, m in known.items()}
        value = lower(parse(chosen.value), self._space, present)
        return self._space.where(condition, value, self._lowered(chosen.otherwise, names))

    def _condition(self, text: str, place: Mapping[str, Poly]) -> Formula:
        if text == "true":
            return TRUE
        names = self._values_at(place)
        return lower_condition(parse(text), self._space, {**self._meanings, **names})

    def _lowered(self, text: str, names: Mapping[str, Meaning]) -> Poly:
        return lower(parse(text), self._space, {**self._meanings, **names})


def _known(text: str, *scopes: Mapping[str, Meaning]) -> bool:
    return all(any(name in scope for scope in scopes) for name in names_of(parse(text)))
