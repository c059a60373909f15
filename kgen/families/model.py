"""What a family declares: tensors by named dimensions, and how arguments bind axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from kgen.diagnostics import Diagnostic
    from kgen.spec import Spec

Value = int | float | str | bool | None

# dtype name in a spec -> (torch name, Triton name, bytes an element)
DTYPES: Mapping[str, tuple[str, str, int]] = {
    "bf16": ("bfloat16", "bf16", 2),
    "fp16": ("float16", "fp16", 2),
    "fp32": ("float32", "fp32", 4),
    "fp8_e4m3": ("float8_e4m3fn", "fp8e4nv", 1),
    "fp8_e5m2": ("float8_e5m2", "fp8e5", 1),
    "uint8": ("uint8", "u8", 1),
    "int32": ("int32", "i32", 4),
    "int64": ("int64", "i64", 8),
}


@dataclass(frozen=True)
class Dim:
    """One dimension of a tensor: a short name, and its extent as an expression over axes and constants."""

    name: str
    extent: str


@dataclass(frozen=True)
class Tensor:
    """A tensor that the entry takes, returns, or allocates for its kernels.

    `short` names it inside kernels (`p_k` points to `k_cache`). The last dimension is contiguous, the others have
    any stride; scratch is contiguous. A tensor without dimensions holds one element.
    """

    name: str
    short: str
    dtype: str
    dims: tuple[Dim, ...]
    role: Literal["input", "output", "scratch"]
    doc: str

    @property
    def element_bytes(self) -> int:
        return DTYPES[self.dtype][2]


@dataclass(frozen=True)
class Lookup:
    """An integer that is read from `tensor` at coordinates `at`, expressions over what is known at its place."""

    tensor: str
    at: tuple[str, ...]


@dataclass(frozen=True)
class Chosen:
    """An expression where the condition `when` holds, else `otherwise`."""

    value: str
    when: str = "true"
    otherwise: str = "0"


@dataclass(frozen=True)
class Contents:
    """What the caller promises of an integer tensor: entries are from `low` to `high` wherever `where` holds.

    `where` is a condition on the tensor's dimensions, by name, and on the family's `values`. `rising` entries are `low`
    first and `high` last, and none is less than the one before it, like the offsets of ragged rows, nor more than `steps`
    above it, where that is given. Of `distinct` entries no two are equal, like the slots that new tokens go to. With
    `first`, one of these values, the tensor has lists one behind the other: its dimension then counts from there, and
    what is in no list is not promised.
    """

    tensor: str
    low: str
    high: str
    where: str = "true"
    rising: bool = False
    distinct: bool = False
    steps: str | None = None
    first: str = ""


@dataclass(frozen=True)
class ReadOnce:
    """Elements that a launcher's kernels read exactly once each, and nothing else of that tensor.

    `over` has indices with their bounds, the upper one excluded; each may use those before it. For each combination the
    element with coordinates `at` is read, if `where` holds of its lookups; these are expressions over the indices and
    over `lookups`. In several `passes`, each statement that reads the tensor may read all of it, like one for a mean and
    one for what is scaled.
    A program with query rows of its own, ROWS of them from ROW on, reads within the bounds that `seen` has instead.
    """

    tensor: str
    over: Mapping[str, tuple[str, str]]
    at: tuple[str, ...]
    lookups: Mapping[str, Lookup] = field(default_factory=dict)
    passes: bool = False
    where: str = "true"
    seen: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Accesses:
    """What proofs may assume of a family's integer tensors, and what has to be proved of its reads.

    `values` name what is read from tensors, for the place where the names in their coordinates are known; `let` what
    follows from these. Outputs are always to be written exactly once.
    """

    values: Mapping[str, Lookup] = field(default_factory=dict)
    let: Mapping[str, Chosen] = field(default_factory=dict)
    contents: tuple[Contents, ...] = ()
    reads: tuple[ReadOnce, ...] = ()


@dataclass(frozen=True)
class Binding:
    """How the entry finds an axis: a Python expression over its arguments, such as `q.shape[0]`."""

    axis: str
    python: str


@dataclass(frozen=True)
class Reason:
    """The spec key for which a call has a tensor, and how kernels call a tile of it."""

    key: str
    tile: str = ""


@dataclass(frozen=True)
class Family:
    """The functions through which the rest of kgen sees a family.

    - `tensors(spec)`: all tensors, inputs first, in their usual order; those of `optional` only where the spec has them.
    - `scalars(spec)`: arguments that are plain Python values, by the axis they give.
    - `choices(spec)`: the names of those that the interface may have, and may leave out.
    - `bindings(spec)`: in an order in which each may use those before it.
    - `constants(spec)`: names that variants may use besides axes, such as `PAGE` or `EPS`, and their documentation.
    - `keys`: the spec key behind each of these constants.
    - `reasons`: the key for which a call has a tensor that others have not.
    - `accesses(spec)`: what kernels may assume of tensors that hold integers, and have to read exactly once.
    - `batch_axes`: the axes that say something of a batch, and not of one request alone.
    - `limits`: the widest range of each axis that the family's generic variant is proved for.
    - `features(spec)`: dotted spec keys and values that a variant's `covers` is compared with.
    - `check(spec)`: what the schema cannot say.
    - `context(spec)`: names for the family's templates.
    - `problem(spec)`: plain data for `kgen.families.<name>.problem`.
    """

    name: str
    tensors: Callable[[Spec], tuple[Tensor, ...]]
    scalars: Callable[[Spec], Mapping[str, str]]
    choices: Callable[[Spec], frozenset[str]]
    bindings: Callable[[Spec], tuple[Binding, ...]]
    constants: Callable[[Spec], Mapping[str, tuple[Value, str]]]
    keys: Mapping[str, str]
    features: Callable[[Spec], Mapping[str, Value]]
    check: Callable[[Spec], list[Diagnostic]]
    context: Callable[[Spec], Mapping[str, Any]]
    problem: Callable[[Spec], Mapping[str, Any]]
    accesses: Callable[[Spec], Accesses]
    limits: Callable[[Spec], Mapping[str, tuple[int, int]]]
    optional: frozenset[str]
    batch_axes: frozenset[str] = frozenset()
    reasons: Mapping[str, Reason] = field(default_factory=dict)
