"""The record of one measuring run: plain data that the machine with the GPU writes, and all that comes after reads.

Times are seconds a call, sizes bytes, rates a second. A record holds what happened and draws no conclusion, so that
anybody can draw them again. It needs the standard library alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from kgen.evidence.plain import Misfit, canonical, digest, parse, plain, read, require

KIND, SCHEMA = "measurement", 1

FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "wrong_output": "KG901",
        "not_finite": "KG902",
        "not_fully_written": "KG903",
        "input_changed": "KG904",
        "depends_on_previous_call": "KG905",
        "stale_pointer": "KG906",
        "output_aliases_input": "KG907",
        "other_stream": "KG908",
        "synchronises": "KG909",
        "memory_grows": "KG910",
        "not_capturable": "KG911",
        "wrong_on_replay": "KG912",
        "compiles_while_timed": "KG913",
        "kernel_set_differs": "KG914",
        "crash": "KG915",
        "timeout": "KG916",
        "patches_measuring": "KG918",
    }
)
"""What can be held against a candidate, with the code whose page explains it."""

Role = Literal["candidate", "baseline", "again", "incumbent", "peer"]
"""`candidate` is judged, `baseline` what it is compared with, `again` the baseline once more in a process of its own,
`incumbent` the best so far, a `peer` is shown and never gated."""

Flagged = Literal[*FLAGS]
Option = str | int | float | bool | None


@dataclass(frozen=True)
class Settings:
    """How the run was asked to measure.

    `floor` is the half width that no interval is narrower than and `precision` the one at which measuring may stop, both
    as shares of a ratio (0.015 is 1.5 %). `rounds` is the most rounds of a shape, `replays` the recorded ones of a turn.
    `timed` says what a sample is: a replayed CUDA graph, or an eager call where no candidate can be captured. `options`
    are further ones by name, such as limits of time and memory; `problem` is the file or folder that the problem was asked of,
    empty where the manifest beside the judged file chose it.
    """

    floor: float
    precision: float
    rounds: int
    replays: int
    timed: Literal["graph", "eager"]
    options: Mapping[str, Option]


@dataclass(frozen=True)
class Clock:
    """Clock rates at one moment; null where the driver does not tell."""

    sm_mhz: int | None
    memory_mhz: int | None


@dataclass(frozen=True)
class Clocks:
    """Clock rates before the first turn and after the last."""

    before: Clock
    after: Clock


@dataclass(frozen=True)
class Environment:
    """Where it ran; a version that could not be found is an empty text."""

    device: str
    sms: int
    l2_bytes: int
    driver: str
    clocks: Clocks
    cuda: str
    torch: str
    triton: str
    ptxas: str
    python: str


@dataclass(frozen=True)
class SpecSource:
    """The spec that a file was rendered from, as its manifest says."""

    name: str
    file: str
    sha256: str


@dataclass(frozen=True)
class Source:
    """What the judged file was made from; null where it was not rendered, or lies in no git repository.

    `templates` is the manifest's hash of the templates, `git` the revision that was checked out and has this very file.
    """

    spec: SpecSource | None
    templates: str | None
    git: str | None


@dataclass(frozen=True)
class ProblemSource:
    """What is computed: a name (it is also the folder of receipts), the module with inputs and reference, its hash."""

    name: str
    module: str
    sha256: str


@dataclass(frozen=True)
class Candidate:
    """A file that took part. `name` is unique in the record, and all other parts refer to it.

    `file` is the Python file, from the folder that the run was started in where it lies below that. `terms` says what is not equal about the comparison, `unavailable` why it could not run
    here; empty texts otherwise. `tolerance` is the relative error that the file itself declares, null if it declares
    none; correctness is always checked against the problem's own.
    """

    role: Role
    name: str
    file: str
    bytes_sha256: str
    core_sha256: str
    terms: str
    tolerance: float | None
    unavailable: str


@dataclass(frozen=True)
class Limits:
    """What the device reached in this run: an empty launch, a streaming read, a large matrix product; null if not tried."""

    empty_launch_s: float | None
    read_bytes_per_s: float | None
    matmul_flops_per_s: float | None


@dataclass(frozen=True)
class Shape:
    """A workload. `name` is unique in the record.

    `axes` holds the static axes, `runtime` what only the device knows, `regime` the judged file's regime. `fallback` names
    the candidates whose fallback serves this shape. `bytes` and `operations` are the compulsory ones of a call, null
    where the problem does not tell. `sets` input sets of `input_bytes` each are rotated; `cold` says whether together
    they exceed twice L2. A graph holds `calls_per_graph` calls.
    """

    name: str
    axes: Mapping[str, int | None]
    runtime: Mapping[str, tuple[int, ...]]
    regime: str
    fallback: tuple[str, ...]
    bytes: int | None
    operations: int | None
    input_bytes: int
    sets: int
    cold: bool
    calls_per_graph: int


@dataclass(frozen=True)
class Turn:
    """One candidate's turn in a round, counted from 0: the seconds a call of each recorded replay."""

    candidate: str
    shape: str
    round: int
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class CheckFailure:
    """Why a check failed, with the code that the tests of a bundle give it too."""

    code: str
    message: str


@dataclass(frozen=True)
class Check:
    """A candidate's output against the reference on fresh inputs.

    `worst` is the largest error as a share of what is allowed, null where there is no finite one. One that could not be
    run says in its failures which probe it is and why.
    """

    candidate: str
    shape: str
    seed: int
    when: Literal["before", "after"]
    status: Literal["passed", "failed", "error", "not run"]
    worst: float | None
    failures: tuple[CheckFailure, ...]


@dataclass(frozen=True)
class Flag:
    """What is held against a candidate; `shape` is empty where it is about all of them."""

    candidate: str
    shape: str
    flag: Flagged
    message: str


@dataclass(frozen=True)
class Failure:
    """Why a candidate has no time at a shape; `shape` is empty where it is about all of them."""

    candidate: str
    shape: str
    what: Literal["crash", "timeout", "out_of_memory", "error"]
    message: str


@dataclass(frozen=True)
class Record:
    """One measuring run. `started` is a UTC time such as 2026-05-31T12:00:00Z.

    `sources` holds texts by their SHA-256, so that a receipt proves itself: those of the candidates' files.
    `incomplete` says why the run ended before everything was measured, or which shapes of the problem a file was not judged
    at, and is empty otherwise.
    """

    kind: Literal["measurement"]
    schema: int
    kgen: str
    started: str
    seed: int
    settings: Settings
    environment: Environment
    source: Source
    problem: ProblemSource
    candidates: tuple[Candidate, ...]
    sources: Mapping[str, str]
    limits: Limits
    shapes: tuple[Shape, ...]
    turns: tuple[Turn, ...]
    checks: tuple[Check, ...]
    flags: tuple[Flag, ...]
    failures: tuple[Failure, ...]
    incomplete: str

    def of_role(self, role: Role) -> Candidate | None:
        """The candidate of a role that only one can have; None if there is none."""
        return next((one for one in self.candidates if one.role == role), None)

    def text(self) -> str:
        """The record's canonical JSON."""
        return canonical(plain(self))


def read_record(data: Any, key: str = "") -> Record:
    """A record from plain data, checked in itself. Raises `ReadingError` with every misfit."""
    record = read(Record, data, key)
    require(lambda: _misfits(record, f"{key}." if key else ""))
    return record


def parse_record(text: str) -> Record:
    """A record from JSON. Raises `ReadingError` with every misfit."""
    return read_record(parse(text))


def _misfits(record: Record, key: str) -> Iterator[Misfit]:
    """What types alone do not say."""
    if record.schema != SCHEMA:
        yield Misfit(f"{key}schema", f"the number {record.schema}", f"{SCHEMA}")
    yield from _roles(record, key)
    yield from _references(record, key)
    yield from _numbers(record, key)
    for sha, text in record.sources.items():
        if digest(text) != sha:
            yield Misfit(f"{key}sources[{sha!r}]", "a text with another hash", "that hash's text")


def _roles(record: Record, key: str) -> Iterator[Misfit]:
    for group in ("candidates", "shapes"):
        for name, number in Counter(one.name for one in getattr(record, group)).items():
            if number > 1 or not name:
                found = f"the name {name!r} {number} times"
                yield Misfit(f"{key}{group}", found, "a name of its own for each")
    for role, number in Counter(one.role for one in record.candidates).items():
        if number > 1 and role != "peer":
            yield Misfit(f"{key}candidates", f"the role {role!r} {number} times", "one of each")
    baseline, again = record.of_role("baseline"), record.of_role("again")
    if again and (baseline is None or baseline.bytes_sha256 != again.bytes_sha256):
        yield Misfit(f"{key}candidates", "an A/A run of another file", "the baseline once more")


def _references(record: Record, key: str) -> Iterator[Misfit]:
    candidates = {one.name for one in record.candidates}
    shapes = {one.name for one in record.shapes}
    for one in record.candidates:
        if one.bytes_sha256 not in record.sources:
            yield Misfit(f"{key}sources", f"no text of {one.file}", "each file as it was measured")
    for index, shape in enumerate(record.shapes):
        for name in set(shape.fallback) - candidates:
            yield Misfit(f"{key}shapes[{index}].fallback", repr(name), "a candidate's name")
    for group, every in (("turns", ()), ("checks", ()), ("flags", ("",)), ("failures", ("",))):
        for index, one in enumerate(getattr(record, group)):
            at = f"{key}{group}[{index}]"
            if one.candidate not in candidates:
                yield Misfit(f"{at}.candidate", repr(one.candidate), "a candidate's name")
            if one.shape not in shapes and one.shape not in every:
                yield Misfit(f"{at}.shape", repr(one.shape), "a shape's name")


def _numbers(record: Record, key: str) -> Iterator[Misfit]:
    settings = record.settings
    for name in ("floor", "precision"):
        if not 0 <= getattr(settings, name) < 1:
            yield Misfit(f"{key}settings.{name}", str(getattr(settings, name)), "a share below 1")
    for name, value in plain(record.limits).items():
        if value is not None and not 1e-12 <= value <= 1e21:
            wanted = "a number from 1e-12 to 1e21, or null"
            yield Misfit(f"{key}limits.{name}", f"the number {value}", wanted)
    taken = Counter((one.candidate, one.shape, one.round) for one in record.turns)
    for index, turn in enumerate(record.turns):
        at = f"{key}turns[{index}]"
        if turn.round < 0 or taken[turn.candidate, turn.shape, turn.round] > 1:
            found = f"round {turn.round} of {turn.candidate!r} at {turn.shape!r}"
            yield Misfit(f"{at}.round", found, "each round once, counted from 0")
        if not turn.seconds or not all(map(plausible, turn.seconds)):
            wanted = "at least one time between a picosecond and a day"
            yield Misfit(f"{at}.seconds", str(list(turn.seconds)), wanted)


def plausible(seconds: float) -> bool:
    """Whether a call can have taken so long."""
    return 1e-12 <= seconds <= 86_400
