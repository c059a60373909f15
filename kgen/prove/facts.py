"""What a proof may assume about one launcher: sizes, tensors, arguments, grids.

All of it is stated in one `kgen.algebra.Space`. Shapes, ranges and conditions are what the entry of the emitted file
checks, and `kgen.prove.host` proves that it does. What it cannot check is assumed: that torch counts the bytes of a
tensor in 64 bits and has no negative strides, and what the caller promises of the entries of integer tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Union

from kgen.algebra import TRUE, Formula, Poly, Space, Table


@dataclass(frozen=True)
class Fact:
    """`formula` holds at every launch.

    It matters to statements about one of the variables in `about`, or about all of its own where `about` is empty.
    """

    formula: Formula
    says: str
    about: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Contents:
    """What the entries of an integer tensor are: from `table.low` to `table.high`.

    The entry with coordinates c is promised to be so where `promised(c)` holds. `rising` entries are `table.low` first
    and `table.high` last, and none is less than the one before it, nor more than `steps` above it, if given. Of
    `distinct` entries no two are equal.
    """

    table: Table
    promised: Callable[[tuple[Poly, ...]], Formula]
    rising: bool = False
    distinct: bool = False
    steps: Poly | None = None


@dataclass(frozen=True)
class TensorFacts:
    """A tensor as a kernel sees it: `dims` name its dimensions, strides count elements.

    The element with coordinates c lies at the sum of c * strides; each c is from 0 to its extent - 1. `element` is
    MLIR's name of the type. `role` is `input`, `output`, `scratch`, `state` for what is 0 before every call, or
    `updated` for what kernels overwrite in part. `contents` is there for integer inputs.
    """

    name: str
    element: str
    dims: tuple[str, ...]
    extents: tuple[Poly, ...]
    strides: tuple[Poly, ...]
    role: str
    contents: Contents | None = None


@dataclass(frozen=True)
class PointerArgument:
    """A parameter that points to the first element of a tensor."""

    tensor: str


@dataclass(frozen=True)
class IntegerArgument:
    """A parameter that is an integer."""

    value: Poly


@dataclass(frozen=True)
class OtherArgument:
    """A parameter that can reach no address: a real number."""


KernelArgument = Union[PointerArgument, IntegerArgument, OtherArgument]


@dataclass(frozen=True)
class Repeat:
    """Programs that read all of a tensor anew: those along `dim`, or each `count` neighbours along it.

    Where each has so many query `rows`, it reads what these see.
    """

    dim: str
    count: int | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Rows:
    """The query rows of one program: `count` of them from `first` on."""

    first: Poly
    count: int


@dataclass(frozen=True)
class Launch:
    """One kernel launch: its grid by name, and its run-time arguments in the order of the kernel's parameters.

    `repeats` has for a tensor which programs read all of it anew. `line` is that of the launch. A
    `dependent` launch may start before the one before it has ended. `annotations` are those of the parameters of the
    source, without those that have none; None where types are simply given.
    """

    function: str
    grid: Mapping[str, Poly]
    arguments: Mapping[str, KernelArgument]
    constants: Mapping[str, object]
    repeats: Mapping[str, tuple[Repeat, ...]] = field(default_factory=dict)
    line: int = 0
    dependent: bool = False
    annotations: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Part:
    """What a coordinate says of an index: all of it, its quotient by `divisor`, or its remainder.

    With `first` the coordinate is that entry plus the part, as in lists that lie one behind the other.
    """

    index: str
    kind: Literal["whole", "quotient", "remainder"] = "whole"
    divisor: Poly = Poly.of(1)
    first: EntryOf | None = None


@dataclass(frozen=True)
class EntryOf:
    """A coordinate that is read from a table, at a place that says something of indices: the entry, its quotient by
    `divisor`, or its remainder.

    Of an element that is read, `used` holds of the entry.
    """

    tensor: str
    at: tuple[Part, ...]
    kind: Literal["whole", "quotient", "remainder"] = "whole"
    divisor: Poly = Poly.of(1)
    used: Callable[[Poly], Formula] = lambda entry: TRUE


@dataclass(frozen=True)
class Reads:
    """Elements of `tensor` that are to be read exactly once, and no others.

    One for each combination of the indices; `bounds` gives the lowest value of each and the one behind its highest,
    for the indices before it, and for the query rows of a program where it has its own: the first, and how many. In several `passes` each statement may read all of them.
    """

    tensor: str
    indices: tuple[str, ...]
    at: tuple[Part | EntryOf, ...]
    bounds: Callable[[Mapping[str, Poly], Rows | None], Mapping[str, tuple[Poly, Poly]]]
    passes: bool = False


@dataclass(frozen=True)
class World:
    """Everything that holds while one launcher runs: its facts, its tensors, its launches in order."""

    space: Space
    facts: tuple[Fact, ...]
    tensors: Mapping[str, TensorFacts]
    launches: tuple[Launch, ...]
    reads: tuple[Reads, ...] = ()
