"""What a sweep is about: candidates, why some are dropped, and what is expected of the others."""

from __future__ import annotations

from dataclasses import dataclass

from kgen.diagnostics import Place

Scalar = bool | int | str
"""The value of a setting: a parameter's, or the name of a variant."""

Settings = tuple[tuple[str, Scalar], ...]
"""Spec keys below a regime with their values, sorted: ("splits.waves", 2), ("variant", "split_k")."""

VARIANT = "variant"
"""The key of the choice of a variant among the settings."""

SECTIONS = ("tile", "splits", "launch", "combine")
"""The sections of a regime, in the order in which a spec has them."""


@dataclass(frozen=True)
class Candidate:
    """One way to serve a regime: a variant and every parameter that it has.

    The settings are complete, so that a candidate means the same whatever the spec says of the regime now.
    """

    regime: str
    settings: Settings

    @property
    def variant(self) -> str:
        return str(dict(self.settings)[VARIANT])

    def overrides(self) -> tuple[str, ...]:
        """The texts for `--set` that make a spec run this candidate.

        Sections are replaced as a whole: a parameter of another variant must not stay behind.
        """
        where = f"regimes.{self.regime}"
        sections = (f"{where}.{name}={{{self._section(name)}}}" for name in SECTIONS)
        return f"{where}.{VARIANT}={self.variant}", *sections

    def _section(self, name: str) -> str:
        pairs = (key.partition(".") + (value,) for key, value in self.settings)
        return ", ".join(f"{key}: {text(value)}" for part, _, key, value in pairs if part == name)

    def __str__(self) -> str:
        return " ".join(f"{key}={text(value)}" for key, value in self.settings)


def text(value: Scalar) -> str:
    """A setting as YAML has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Dropped:
    """Candidates of one variant that a rule drops before anything is rendered.

    `count` of them, of which `example` is the first; `rule` is what does not hold, `why` what breaks without it, and
    `place` where the rule's subject stands in the spec.
    """

    rule: str
    why: str
    place: Place
    count: int
    example: Candidate

    @property
    def variant(self) -> str:
        return self.example.variant


@dataclass(frozen=True)
class KernelEstimate:
    """What one kernel of a candidate is expected to take for one shape.

    `programs` is its grid, of which `resident` fit on one multiprocessor at once, so that it runs in `waves`.
    `registers` and `spill_bytes` are a thread's, `shared_bytes` a program's; `bytes` move through memory.
    """

    role: str
    programs: int
    resident: int
    waves: float
    bytes: int
    operations: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """What a candidate is expected to take for one shape: never a measurement.

    `seconds` are those of its `kernels` and of launching them. With `compiled`, registers, spills and shared memory
    are the compiler's own, otherwise they are guessed too.
    """

    shape: str
    seconds: float
    kernels: tuple[KernelEstimate, ...]
    compiled: bool


@dataclass(frozen=True)
class Ranked:
    """A candidate with an estimate for each shape."""

    candidate: Candidate
    estimates: tuple[Estimate, ...]

    def at(self, shape: str) -> Estimate:
        """The estimate for one shape. Raises KeyError where there is none."""
        return {one.shape: one for one in self.estimates}[shape]


@dataclass(frozen=True)
class Compiled:
    """What became of a candidate that was rendered and compiled without a GPU.

    `same` are other candidates whose files have the same core, so that they are this one. Where `refused` says why no
    kernel came of it, its estimates are those from before. What spills is kept: `spill_bytes` is the most of a thread.
    """

    ranked: Ranked
    core_sha256: str
    same: tuple[Candidate, ...] = ()
    spill_bytes: int = 0
    refused: str = ""
