"""A spec's regimes, made ready to be swept: ranked, the best of each compiled, and rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from kgen.spec import Spec
from kgen.sweep.compile_rank import CompileRanking, compile_best
from kgen.sweep.field import Field
from kgen.sweep.model import Compiled, Dropped
from kgen.sweep.rank import Ranking, rank
from kgen.sweep.rendered import Source, field
from kgen.sweep.space import axes, current


@dataclass(frozen=True)
class Asked:
    """What a person asks: the texts of `--axis`, whether to vary everything, and how many candidates are compiled."""

    axes: Sequence[str] = ()
    everything: bool = False
    count: int = 64
    shapes: str = ""
    workers: int = 2


@dataclass(frozen=True)
class Prepared:
    """One regime with its ranking before and after compiling."""

    ranking: Ranking
    compiled: CompileRanking

    @property
    def regime(self) -> str:
        return self.ranking.regime

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """What was not rendered, by rule."""
        return self.ranking.dropped + self.compiled.dropped

    def best(self) -> tuple[Compiled, ...]:
        """The compiled candidates, what takes least first."""
        return self.compiled.compiled


def prepared(
    source: Source, spec: Spec, asked: Asked, on_done: Callable[[str, int, int], None]
) -> Iterator[Prepared]:
    """Each regime that is swept. `on_done` is called with the regime, and how many kernels of how many are compiled.

    Raises `KgenError` as `space.axes`, `rank.rank` and `compile_rank.compile_best`.
    """
    every = axes(spec, source.templates, asked.axes, asked.everything)
    for regime, own in groupby(every, lambda one: one.regime):
        ranking = rank(spec, source.templates, list(own))
        compiled = compile_best(
            ranking,
            source.templates,
            asked.count,
            cache_dir=source.cache,
            workers=asked.workers,
            on_done=lambda done, total, regime=regime: on_done(regime, done, total),
        )
        yield Prepared(ranking, compiled)


def field_of(source: Source, spec: Spec, one: Prepared, shapes: str) -> Field:
    """The field of a prepared regime, every candidate rendered."""
    numbers = [regime.name for regime in spec.document.regimes]
    present = current(spec, source.templates, numbers.index(one.regime))
    return field(source, spec.document.name, present, one.best(), shapes)
