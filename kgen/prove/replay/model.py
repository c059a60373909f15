"""What is replayed: tensors, launches, instances; and what the prover claims about one.

Everything is concrete. Sizes are elements, strides are elements, programs are grid coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np

Program = tuple[int, int, int]
Role = Literal["input", "output", "scratch", "state", "updated"]
Constant = int | float | bool | str | None


class Unsupported(Exception):
    """Something that the evaluator has no meaning for, or that Triton itself would refuse.

    `line` is the line of the source, 0 where there is none.
    """

    def __init__(self, message: str, line: int = 0):
        super().__init__(message)
        self.message = message
        self.line = line

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


@dataclass(frozen=True)
class Dim:
    """One dimension: its name, its extent, and the distance of two neighbours in elements."""

    name: str
    extent: int
    stride: int


@dataclass(frozen=True)
class TensorSpec:
    """A tensor in memory whose first element lies at offset 0 of its pointers.

    - `dtype` is Triton's short name: `bf16`, `fp8e4nv`, `fp32`, `i32`, `u8`, `i1` ...
    - `role`: an `input` is only read; of an `output` each element is written exactly once;
      `scratch` holds nothing at first; `state` lives from call to call, such as a counter, and has
      to be found as it was left; `updated` holds data that are overwritten in part.
    - `contents` takes element numbers (int64, row-major over the extents) and gives the values
      there. Integer inputs need it where they are read. Without it a float is opaque.
    """

    name: str
    dtype: str
    dims: tuple[Dim, ...]
    role: Role = "input"
    contents: Callable[[np.ndarray], np.ndarray] | None = field(default=None, compare=False)

    @property
    def extents(self) -> tuple[int, ...]:
        return tuple(dim.extent for dim in self.dims)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for dim in self.dims:
            size *= dim.extent
        return size

    def coordinates(self, element: int) -> tuple[int, ...]:
        """The coordinates of a row-major element number."""
        found = []
        for extent in reversed(self.extents):
            element, index = divmod(element, extent)
            found.append(index)
        return tuple(reversed(found))

    def show(self, element: int) -> str:
        """The element as a person writes it: `out[b=0, h=3, d=7]`."""
        pairs = zip(self.dims, self.coordinates(element), strict=True)
        return f"{self.name}[{', '.join(f'{dim.name}={index}' for dim, index in pairs)}]"


@dataclass(frozen=True)
class Pointer:
    """An argument that points to the first element of a tensor."""

    tensor: str


@dataclass(frozen=True)
class Number:
    """A run-time scalar and its type in the signature; the value of a float may be unknown."""

    value: int | float | None
    type: str


Argument = Pointer | Number | Constant
"""A plain Python value is a `tl.constexpr`."""


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel. A `dependent` one may start before the last has ended (PDL)."""

    function: str
    arguments: Mapping[str, Argument]
    grid: Program
    dependent: bool = False

    @property
    def programs(self) -> int:
        x, y, z = self.grid
        return x * y * z


@dataclass(frozen=True)
class Instance:
    """One call of an emitted file: its axis values, its tensors, its launches in order."""

    axes: Mapping[str, int | None]
    tensors: tuple[TensorSpec, ...]
    launches: tuple[Launch, ...]

    def tensor(self, name: str) -> TensorSpec:
        """The tensor called `name`. Raises KeyError where there is none."""
        return {tensor.name: tensor for tensor in self.tensors}[name]


Kind = Literal[
    "out of range",
    "wraps",
    "no value",
    "broken promise",
    "uninitialised",
    "written twice",
    "never written",
    "input written",
    "read wrongly",
    "consumed wrongly",
    "unordered",
    "left changed",
]
"""What can go wrong at an instance."""


@dataclass(frozen=True)
class Claim:
    """What a proof attempt says goes wrong at an instance.

    `launch` numbers the instance's launches, `program` is one of its grid; a `line` of 0 and a
    `tensor` of "" leave open where. Claims about single accesses name a program; claims about whole
    outputs have none.
    """

    kind: Kind
    launch: int = 0
    program: Program | None = None
    tensor: str = ""
    line: int = 0


@dataclass(frozen=True)
class Confirmation:
    """What the replay saw: `text` names line, program, kernel and element for a person."""

    claim: Claim
    line: int
    program: Program | None
    text: str


@dataclass(frozen=True)
class Reads:
    """The elements of a tensor that each group of programs reads, and no others.

    A group are the programs of launch `launch` with equal coordinates on the grid axes `per`;
    `expected` gives the elements of a group by these coordinates. `times` of None lets a group read
    them as often as it likes, if all equally often and at least once. `describe` names an element
    for people, given the group.
    """

    tensor: str
    launch: int
    per: tuple[int, ...]
    expected: Callable[[tuple[int, ...]], np.ndarray]
    describe: Callable[[tuple[int, ...], int], str] | None = None
    times: int | None = 1
