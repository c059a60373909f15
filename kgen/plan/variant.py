"""The model of `variant.yaml`: what a template folder declares about its kernels.

Everything around the device code is made from this one declaration: argument lists, launchers, checks, warm-up, the
facts of proofs, the cost model. `docs/templates.md` tells authors what each key means.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from kgen.expr import Expr, ExprError, parse
from kgen.spec.problem import problem
from kgen.spec.waiver import Statement

Word = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,63}$")]
Repeated = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*( [%*] [A-Za-z][A-Za-z0-9_]*)?$")]
Scalar = bool | int | str
SCRATCH_DTYPES = ("fp32", "bf16", "fp16", "int32")


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _parsed(text: str) -> str:
    try:
        parse(text)
    except ExprError as error:
        raise problem("KG502", f"this is no expression: {error.message}", error.hint) from None
    return text


Expression = Annotated[str, BeforeValidator(_text), AfterValidator(_parsed)]
"""The text of an expression over axes, constants, parameters and derived values."""


@lru_cache(maxsize=None)
def expression(text: str) -> Expr:
    """The tree of an expression of a declaration; the same texts come again and again."""
    return parse(text)


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, protected_namespaces=())


class Parameter(_Model):
    """A number that a regime sets under `key`, such as `tile.BLOCK_N`; without a default it is none where none is set.

    An `optional` one is part of a way that few specs go: nothing mentions it where it has its default. In expressions a
    word is the number that `words` gives it. What is `instead` of others makes these meaningless: a regime sets either.
    One that may be a `knob` is in no kernel's text; `most` is the derived value that is the greatest it can have.
    """

    key: Annotated[str, Field(pattern=r"^(tile|splits|launch|combine)\.[A-Za-z][A-Za-z0-9_]*$")]
    type: Literal["int", "bool", "word"] = "int"
    default: int | bool | str | None = None
    words: dict[Word, int] = {}
    instead: tuple[str, ...] = ()
    min: int | None = None
    max: int | None = None
    choices: tuple[int, ...] | None = None
    optional: bool = False
    knob: bool = False
    most: Word | None = None
    doc: str

    def is_knob(self, value: int | bool | str | None) -> bool:
        """Whether a value names a knob: an integer by a name."""
        return self.type == "int" and isinstance(value, str) and value.isidentifier()

    def number(self, value: int | bool | str | None) -> int | bool | None:
        """What a value of the parameter is in expressions."""
        return self.words[value] if isinstance(value, str) else value

    def shown(self, number: int | bool | None) -> int | bool | str | None:
        """The value that is `number` in expressions."""
        return {one: word for word, one in self.words.items()}.get(number, number)


class Derived(_Model):
    """A value computed from axes and parameters; where `when` is false it is `otherwise` instead."""

    value: Expression
    when: Expression | None = None
    otherwise: Expression | None = None
    doc: str


class Constraint(_Model):
    """What has to hold over the whole domain of a regime, and why."""

    require: Expression
    why: str


class Tiling(_Model):
    """How tiles cover an extent.

    `turns` tiles of `tile` elements each, as many as needed where `turns` is absent. With `parts`, the extent is first
    divided into that many parts of whole tiles; `most_parts` bounds them. They are equal, or of `chunk` elements where
    that is a number.
    """

    extent: Expression
    tile: Expression
    turns: Expression | None = None
    parts: Expression | None = None
    most_parts: Expression | None = None
    chunk: Expression | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Tiling:
        if (self.parts is None) != (self.most_parts is None):
            raise problem(
                "KG502", "`parts` and `most_parts` go together", "write both, or neither of them"
            )
        return self


class Width(_Model):
    """A value that the kernel computes in 32 bits, at its largest."""

    value: Expression
    why: str


class Invariance(_Model):
    """Where a result does not depend on what else is in a batch; `why` it does elsewhere, and what to write `instead`."""

    when: Expression
    why: str = ""
    instead: str = ""


class Alignment(_Model):
    """Tensors whose base is a multiple of 16 bytes and whose strides are multiples of 16 elements."""

    tensors: tuple[Word, ...]
    when: Expression | None = None


class Scratch(_Model):
    """A tensor that the launcher allocates for its kernels, contiguous, uninitialised.

    Its dtype may be the word of a parameter of that name.
    """

    dtype: Word
    dims: dict[Word, Expression]
    doc: str


class Size(_Model):
    """A run-time integer argument. An axis that may be `none` is passed as the value of `none` then."""

    name: Word
    none: Expression | None = None
    when: Expression | None = None


class Launch(_Model):
    """Triton's launch options; a `dependent` kernel may start before the one before it has ended."""

    num_warps: Expression
    num_stages: Expression
    dependent: Expression = "false"


class Kernel(_Model):
    """One kernel: its grid, its arguments, what it writes, what runs before it, and what it costs.

    `bytes` are moved to and from memory by the whole grid, `shared` are bytes of shared memory of one program. A tensor
    in `repeats` is read anew by the programs along the grid dimensions that are listed with it, or, of `m % N`, by each N
    neighbours along m; of `m * N`, by each program along m, which has the N query rows from m * N on and reads what these
    see. Labels in `ignores` do not change its text, and its name leaves them out. It is launched
    `only` on the branch of that name, or `unless` on it.
    """

    doc: str
    grid: dict[Word, Expression]
    tensors: tuple[Word, ...]
    writes: tuple[Word, ...]
    sizes: tuple[Word | Size, ...] = ()
    constants: tuple[Word, ...] = ()
    after: tuple[Word, ...] = ()
    repeats: dict[Word, tuple[Repeated, ...]] = {}
    ignores: tuple[Word, ...] = ()
    only: Word | None = None
    unless: Word | None = None
    launch: Launch
    shared: Expression
    bytes: Expression
    operations: Expression


class KernelWaiver(Statement):
    """A statement about the kernel of that name in `kernels` that may stay open wherever the variant runs."""

    kernel: Word


class Variant(_Model):
    """A template folder. `cases` are axes of which each value is a constant; `labels` what else changes the text.

    `branches` are labels too: where nothing settles one before a launch, there are kernels for both answers, and every
    call chooses.
    """

    kgen: Literal[1]
    variant: Word
    family: Word
    doc: str
    covers: dict[str, tuple[Scalar, ...]]
    parameters: dict[Word, Parameter] = {}
    cases: tuple[Word, ...] = ()
    labels: dict[Word, Expression] = {}
    branches: dict[Word, Expression] = {}
    let: dict[Word, Derived] = {}
    constraints: tuple[Constraint, ...] = ()
    lanes: tuple[Expression, ...] = ()
    dots: tuple[tuple[Expression, Expression, Expression], ...] = ()
    tiling: dict[Word, Tiling] = {}
    int32: tuple[Width, ...] = ()
    aligned: Alignment | None = None
    batch_invariant: Invariance | None = None
    scratch: dict[Word, Scratch] = {}
    kernels: Annotated[dict[Word, Kernel], Field(min_length=1)]
    waive: tuple[KernelWaiver, ...] = ()

    @property
    def conditions(self) -> dict[str, str]:
        """What each label means."""
        return {**self.labels, **self.branches}

    @model_validator(mode="after")
    def _known_dtypes(self) -> Variant:
        for name, scratch in self.scratch.items():
            parameter = self.parameters.get(scratch.dtype)
            words = parameter.words if parameter else (scratch.dtype,)
            if not words or not {*words} <= {*SCRATCH_DTYPES}:
                known = (
                    f"write {', '.join(SCRATCH_DTYPES)}, or a parameter whose words are among them"
                )
                message = f"`{scratch.dtype}` is no type of scratch"
                raise problem("KG502", message, known, ("scratch", name, "dtype"))
        return self

    @model_validator(mode="after")
    def _known_most(self) -> Variant:
        for name, parameter in self.parameters.items():
            most = self.let.get(parameter.most or "")
            if parameter.most is not None and (most is None or most.value != name):
                message = (
                    f"`most` names `{parameter.most}`, which is no derived value that is {name}"
                )
                known = f"write `{parameter.most}: {{value: {name}, ...}}` under `let`"
                raise problem("KG502", message, known, ("parameters", name, "most"))
        return self

    @model_validator(mode="after")
    def _known_branches(self) -> Variant:
        for name in self.labels.keys() & self.branches.keys():
            raise problem(
                "KG502", f"`{name}` is a label and a branch", "rename one", ("branches", name)
            )
        for role, kernel in self.kernels.items():
            for key in ("only", "unless"):
                branch = getattr(kernel, key)
                if branch is not None and branch not in self.branches:
                    known = f"branches: {', '.join(self.branches) or 'none'}"
                    message = f"there is no branch `{branch}`"
                    raise problem("KG502", message, known, ("kernels", role, key))
        return self

    @model_validator(mode="after")
    def _waived_kernels(self) -> Variant:
        for index, waiver in enumerate(self.waive):
            if waiver.kernel not in self.kernels:
                raise problem(
                    "KG502",
                    f"there is no kernel `{waiver.kernel}` to waive a statement of",
                    f"kernels: {', '.join(self.kernels)}",
                    ("waive", index, "kernel"),
                )
        return self
