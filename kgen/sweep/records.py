"""What a store holds: trials, what they say together of a key, and which settings and workloads the keys are about.

It needs the standard library alone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgen.evidence.plain import canonical, plain
from kgen.sweep.model import Settings
from kgen.sweep.trial import FINISHED, Status


@dataclass(frozen=True)
class Key:
    """What decides a result, and nothing else: a sweep that finds its key measured has nothing to do.

    `core` is the hash of the launchers and kernels that serve the shape, `signature` that of the types and constants
    they are compiled for, `shape` as `trial.shape_text` has it, `versions` as `trial.versions_text`.
    """

    core: str
    signature: str
    shape: str
    device: str
    versions: str


@dataclass(frozen=True)
class Trial:
    """What was found once. Seconds are of a call, the median of a turn, by round; `anchor` is the anchor's core."""

    key: Key
    status: Status
    seconds: tuple[float, ...]
    anchor_seconds: tuple[float, ...]
    anchor: str
    message: str
    finished: str

    @property
    def id(self) -> str:
        """The hash of all of it."""
        return hashlib.sha256(canonical(plain(self)).encode()).hexdigest()


@dataclass(frozen=True)
class Result:
    """All that was found of a key: `logs` of anchor over candidate, one a round; above 0 is faster than the anchor.

    `ids` name the trials it rests on.
    """

    key: Key
    status: Status
    logs: tuple[float, ...]
    seconds: tuple[float, ...]
    message: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """Which settings of a spec's regime gave a core, and what was expected of it, in seconds by workload's name."""

    spec: str
    regime: str
    settings: Settings
    core: str
    signature: str
    estimates: Mapping[str, float]


@dataclass(frozen=True)
class Measured:
    """A workload of a spec with the regime that served it."""

    spec: str
    name: str
    shape: str
    regime: str


def together(trials: Sequence[Trial], anchor: str | None) -> Result | None:
    """Trials of one key together; None where none of them counts.

    One that failed speaks for all: what is wrong once is wrong. Rounds against another anchor, which only a merged
    store can have, do not count.
    """
    ended = [one for one in trials if one.status in FINISHED]
    failed = [one for one in ended if one.status != "measured"]
    if failed:
        one = failed[0]
        return Result(one.key, one.status, (), (), one.message, (one.id,))
    counted = [one for one in ended if one.anchor == anchor]
    if not counted:
        return None
    pairs = [pair for one in counted for pair in zip(one.anchor_seconds, one.seconds)]
    return Result(
        key=counted[0].key,
        status="measured",
        logs=tuple(math.log(base / own) for base, own in pairs),
        seconds=tuple(own for _, own in pairs),
        message="",
        ids=tuple(one.id for one in counted),
    )
