"""Hand-written kernels as subjects of the prover: what is declared about one launch, in a few words.

    Subject("copy", tensors={"x": T("fp32", "N"), "o": T("fp32", "N", role="output")},
            axes={"N": (1, 4096)}, grid=["ceil_div(N, BLOCK)"], constants={"BLOCK": 1024})

Parameters that are neither tensors nor constants are the axes of those names, 32 bits wide unless `types` says more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgen.algebra import TRUE, Formula, Interval, Poly, Space, lower, lower_condition, lt
from kgen.expr import parse
from kgen.families.model import DTYPES
from kgen.prove.facts import (
    Contents,
    Fact,
    IntegerArgument,
    KernelArgument,
    Launch,
    OtherArgument,
    PointerArgument,
    TensorFacts,
    World,
)
from kgen.prove.frontend import Frontend
from kgen.prove.launchers.tensors import rising_ends
from kgen.prove.replay.host import contiguous
from kgen.prove.replay.model import Dim, Instance, Number, Pointer, TensorSpec
from kgen.prove.replay.model import Launch as Run
from kgen.prove.replay.report import Finding
from kgen.prove.replay.run import run_grid
from kgen.prove.ttir import Function, read
from kgen.prove.world import WorldProof, prove_world

ELEMENTS = {
    "bf16": "bf16",
    "fp16": "f16",
    "fp32": "f32",
    "fp8_e4m3": "f8E4M3FN",
    "int32": "i32",
    "int8": "i8",
    "int16": "i16",
    "int64": "i64",
}
TRITON = {name: short for name, (_, short, _) in DTYPES.items()}
TRITON |= {"int8": "i8", "int16": "i16", "int64": "i64"}


class T:
    """A tensor: its type, its extents, strides where it is not contiguous, its role, the range of its entries, how many
    of them along the last dimension are `promised` (else all), and whether they are `rising`, by `steps` at most, or `distinct`.
    """

    def __init__(
        self,
        dtype: str,
        *extents: str | int,
        strides: Sequence[str | int] | None = None,
        role: str = "input",
        entries: tuple[str | int, str | int] | None = None,
        rising: bool = False,
        distinct: bool = False,
        promised: str | None = None,
        steps: str | int | None = None,
    ):
        self.steps = steps
        self.rising, self.distinct, self.promised = rising, distinct, promised
        self.dtype, self.extents, self.strides = dtype, extents, strides
        self.role, self.entries = role, entries


@dataclass(frozen=True)
class Subject:
    """A kernel with everything that its proof may assume. `assume` are conditions on axes, `order` its parameters."""

    function: str
    tensors: Mapping[str, T]
    axes: Mapping[str, int | tuple[int | str, int | str]] = field(default_factory=dict)
    grid: Sequence[str | int] = (1,)
    constants: Mapping[str, object] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    assume: Sequence[str] = ()
    dependent: bool = False

    def world(self, parameters: Sequence[str]) -> World:
        """The world of one launch of the kernel, whose parameters are in that order."""
        return world((self,), (parameters,))

    def signature(self, parameters: Sequence[str]) -> dict[str, object]:
        """What Triton's front end is asked for."""
        types = {name: self._type(name) for name in parameters}
        return {
            "function": self.function,
            "signature": types,
            "constants": dict(self.constants),
            "divisible_by_16": [],
            "num_warps": 4,
            "num_stages": 2,
        }

    def _type(self, name: str) -> str:
        if name in self.constants:
            return "constexpr"
        if name in self.tensors:
            return f"*{TRITON[self.tensors[name].dtype]}"
        return self.types.get(name, "i32")


def world(subjects: Sequence[Subject], parameters: Sequence[Sequence[str]]) -> World:
    """One world with a launch of each subject in order; axes and tensors of one name are the same."""
    space = Space()
    meanings: dict[str, Poly | int] = {}
    tensors: dict[str, TensorFacts] = {}
    facts: list[Fact] = []

    def size(text: str | int, own: Mapping[str, object] = {}) -> Poly:
        numbers = {name: value for name, value in own.items() if isinstance(value, int)}
        return lower(parse(str(text)), space, {**numbers, **meanings})

    for subject in subjects:
        for name, bounds in subject.axes.items():
            if name not in meanings:
                low, high = (bounds, bounds) if isinstance(bounds, int) else bounds
                meanings[name] = (
                    space.fixed(name, low)
                    if low == high
                    else space.axis(name, size(low), size(high))
                )
        for name, tensor in subject.tensors.items():
            extents = tuple(size(extent, subject.constants) for extent in tensor.extents)
            strides = [Poly.of(1)] if extents else []
            for extent in reversed(extents[1:]):
                strides.insert(0, strides[0] * extent)
            if tensor.strides is not None:
                strides = [size(stride, subject.constants) for stride in tensor.strides]
            made = _tensor(space, name, tensor, extents, tuple(strides), size)
            tensors.setdefault(name, made)
            if made.contents is not None and made.contents.rising:
                facts += rising_ends(space, name, made.contents, extents[0])
        for text in subject.assume:
            facts.append(Fact(lower_condition(parse(text), space, meanings), text))
    launches = [_launch(subject, names, size) for subject, names in zip(subjects, parameters)]
    return World(space, tuple(facts), tensors, tuple(launches))


def _tensor(space, name, tensor: T, extents, strides, size) -> TensorFacts:
    contents = None
    if tensor.dtype.startswith("int") and tensor.role == "input":
        bits = int(tensor.dtype.removeprefix("int"))
        whole = Interval(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        low, high = tensor.entries if tensor.entries is not None else whole
        table = space.table(name, size(low), size(high), whole)
        promised = tensor.promised

        def where(place: tuple[Poly, ...]) -> Formula:
            return TRUE if promised is None else lt(place[-1], size(promised))

        steps = None if tensor.steps is None else size(tensor.steps)
        contents = Contents(table, where, tensor.rising, tensor.distinct, steps)
    dims = tuple("ijkl"[: len(extents)])
    return TensorFacts(name, ELEMENTS[tensor.dtype], dims, extents, strides, tensor.role, contents)


def _launch(subject: Subject, parameters: Sequence[str], size) -> Launch:
    arguments: dict[str, KernelArgument] = {}
    for name in parameters:
        if name in subject.constants:
            continue
        if name in subject.tensors:
            arguments[name] = PointerArgument(name)
        elif subject.types.get(name, "i32").startswith("fp"):
            arguments[name] = OtherArgument()
        else:
            arguments[name] = IntegerArgument(
                size(subject.values.get(name, name), subject.constants)
            )
    grid = dict(zip("xyz", (size(extent, subject.constants) for extent in subject.grid)))
    return Launch(
        subject.function, grid, arguments, dict(subject.constants), dependent=subject.dependent
    )


def findings(text: str, subject: Subject, parameters: Sequence[str], **axes: int) -> list[Finding]:
    """What a run of all programs at these axes shows to be wrong, in one order of programs or the other."""
    call = instance(subject, parameters, axes)
    reports = (run_grid(text, call, backwards=backwards) for backwards in (False, True))
    return [found for report in reports for found in report.findings()]


def instance(subject: Subject, parameters: Sequence[str], axes: Mapping[str, int]) -> Instance:
    """One call of the kernel. Counters begin at 0; there are no integer inputs."""
    names = {**axes, **subject.constants, "ceil_div": lambda a, b: -(-a // b)}

    def size(text: str | int) -> int:
        return eval(str(text), {}, names)

    tensors = []
    for name, tensor in subject.tensors.items():
        extents = tuple(map(size, tensor.extents))
        strides = contiguous(extents) if tensor.strides is None else map(size, tensor.strides)
        dims = tuple(map(Dim, "ijkl", extents, strides))
        zeros = (lambda elements: 0 * elements) if tensor.role == "state" else None
        tensors.append(TensorSpec(name, TRITON[tensor.dtype], dims, tensor.role, zeros))
    grid = (*map(size, subject.grid), 1, 1)[:3]
    arguments = {name: _argument(subject, name, size) for name in parameters}
    return Instance(dict(axes), tuple(tensors), (Run(subject.function, arguments, grid),))


def _argument(subject: Subject, name: str, size) -> Pointer | Number | object:
    if name in subject.constants:
        return subject.constants[name]
    if name in subject.tensors:
        return Pointer(name)
    return Number(size(subject.values.get(name, name)), subject.types.get(name, "i32"))


def parameters_of(file: Path) -> dict[str, list[str]]:
    """The parameters of every function of a file."""
    import ast

    tree = ast.parse(file.read_text())
    return {
        node.name: [argument.arg for argument in node.args.args]
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }


def functions_of(file: Path, subjects: Sequence[Subject]) -> list[Function | str]:
    """The TTIR of each subject, read; a text where Triton refuses it."""
    parameters = parameters_of(file)
    wanted = [one.signature(parameters[one.function]) for one in subjects]
    with Frontend() as frontend:
        lowered = frontend.lower(file.read_text(), wanted, ["sm_90"], 120)
    return [one.refused or read(one.text, one.file) for one in lowered]


def proofs_of(file: Path, subjects: Sequence[Subject]) -> list[WorldProof | str]:
    """The proof of each subject alone."""
    parameters = parameters_of(file)
    found: list[WorldProof | str] = []
    for subject, function in zip(subjects, functions_of(file, subjects), strict=True):
        if isinstance(function, str):
            found.append(function)
        else:
            found.append(
                prove_world(subject.world(parameters[subject.function]), "test", [function])
            )
    return found
