"""In which order candidates are tried: by estimate, at random, or as optuna's TPE proposes from what was found."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from kgen.evidence.plain import canonical
from kgen.sweep.model import VARIANT, Scalar, Settings
from kgen.sweep.needs import needed

SMALL = 256
"""A space of at most so many candidates is searched exhaustively."""

FIRST = 5
"""The best estimates, which TPE begins with."""

REPEATS = 20
"""Proposals in a row that are no new candidate, after which the best estimate that is left is taken."""


@dataclass(frozen=True)
class Option:
    """A candidate as a strategy sees it; `estimate` is in seconds."""

    settings: Settings
    estimate: float


class Strategy(Protocol):
    """Proposes each option once; several may be asked for before the first is told."""

    def know(self, index: int, log: float | None) -> None:
        """What was found of an option before: it is not asked for. See `tell`."""

    def ask(self) -> int | None:
        """The index of the next option; None when there is no other."""

    def tell(self, index: int, log: float | None) -> None:
        """How much faster than the anchor it is, as a logarithm; None if it has no time."""


class InOrder:
    """By estimate, the shortest first; or in the order that is given."""

    def __init__(self, options: Sequence[Option], order: Sequence[int] | None = None):
        by_estimate = sorted(range(len(options)), key=lambda index: options[index].estimate)
        self._left = list(by_estimate if order is None else order)

    def know(self, index: int, log: float | None) -> None:
        self.take(index)

    def ask(self) -> int | None:
        return self._left.pop(0) if self._left else None

    def tell(self, index: int, log: float | None) -> None:
        """Nothing is learnt."""

    def take(self, index: int) -> bool:
        """Takes an option out of its turn; False if it has been asked for already."""
        if index not in self._left:
            return False
        self._left.remove(index)
        return True


class Tpe:
    """Optuna's tree-structured Parzen estimator (Bergstra et al., 2011) over the settings: numbers by their place among
    the values of their key, everything else as a choice.

    Settings that were dropped or asked for before are proposed too, since a study knows no such bounds; those are
    answered at once and another one is asked for. `storage` is a URL of any database that optuna takes: sweeps that
    share it propose together.
    """

    def __init__(self, options: Sequence[Option], seed: int, storage: str | None = None):
        optuna = needed("optuna")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna = optuna
        self._options = options
        self._index = {option.settings: index for index, option in enumerate(options)}
        self._choices = _choices(options)
        self._rest = InOrder(options)
        self._told: dict[int, float | None] = {}
        self._asked: dict[int, Any] = {}
        self._study = optuna.create_study(
            storage=storage,
            study_name=_name(options) if storage else None,
            load_if_exists=True,
            direction="maximize",
            sampler=optuna.samplers.TPESampler(seed=seed),
        )
        for option in sorted(options, key=lambda one: one.estimate)[:FIRST]:
            self._study.enqueue_trial(self._parameters(option.settings), skip_if_exists=True)

    def know(self, index: int, log: float | None) -> None:
        if self._rest.take(index):
            self.tell(index, log)

    def ask(self) -> int | None:
        for _ in range(REPEATS):
            trial = self._study.ask()
            index = self._index.get(self._suggested(trial))
            if index is not None and self._rest.take(index):
                self._asked[index] = trial
                return index
            self._finish(trial, self._told.get(index) if index is not None else None)
        return self._rest.ask()

    def tell(self, index: int, log: float | None) -> None:
        self._told[index] = log
        trial = self._asked.pop(index, None)
        if trial is not None:
            self._finish(trial, log)
        elif log is not None:
            self._study.add_trial(self._frozen(self._options[index].settings, log))

    def _suggested(self, trial: Any) -> Settings:
        """The settings that a trial proposes: a variant, then that variant's own."""
        variant = trial.suggest_categorical(VARIANT, list(self._choices))
        own = {}
        for key, values in self._choices[variant].items():
            name = f"{variant} {key}"
            if _ordered(values):
                own[key] = values[trial.suggest_int(name, 0, len(values) - 1)]
            else:
                own[key] = trial.suggest_categorical(name, list(values))
        return tuple(sorted({**own, VARIANT: variant}.items()))

    def _parameters(self, settings: Settings) -> dict[str, Any]:
        """Settings as a trial has them."""
        variant = str(dict(settings)[VARIANT])
        found: dict[str, Any] = {VARIANT: variant}
        for key, values in self._choices[variant].items():
            value = dict(settings)[key]
            found[f"{variant} {key}"] = values.index(value) if _ordered(values) else value
        return found

    def _finish(self, trial: Any, log: float | None) -> None:
        if log is None:
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, log)

    def _frozen(self, settings: Settings, log: float) -> Any:
        """A finished trial of an option that no trial of the study asked for."""
        distributions = self._optuna.distributions
        variant = str(dict(settings)[VARIANT])
        known = {VARIANT: distributions.CategoricalDistribution(list(self._choices))}
        for key, values in self._choices[variant].items():
            known[f"{variant} {key}"] = (
                distributions.IntDistribution(0, len(values) - 1)
                if _ordered(values)
                else distributions.CategoricalDistribution(list(values))
            )
        given = self._parameters(settings)
        return self._optuna.trial.create_trial(params=given, distributions=known, value=log)


STRATEGIES = ("exhaustive", "random", "tpe")


def strategy(
    name: str, options: Sequence[Option], seed: int, storage: str | None = None
) -> Strategy:
    """The strategy of that name; `auto` is exhaustive for a small space and TPE for a larger one."""
    if name == "auto":
        name = "exhaustive" if len(options) <= SMALL else "tpe"
    if name == "tpe":
        return Tpe(options, seed, storage)
    if name == "exhaustive":
        return InOrder(options)
    order = random.Random(seed).sample(range(len(options)), len(options))
    return InOrder(options, order)


def _choices(options: Sequence[Option]) -> Mapping[str, Mapping[str, tuple]]:
    """The values of each setting by variant, numbers in their order."""
    found: dict[str, dict[str, dict]] = {}
    for option in options:
        own = found.setdefault(str(dict(option.settings)[VARIANT]), {})
        for key, value in option.settings:
            if key != VARIANT:
                own.setdefault(key, {})[value] = None
    return MappingProxyType(
        {
            variant: {
                key: tuple(sorted(values)) if _ordered(values) else tuple(values)
                for key, values in own.items()
            }
            for variant, own in found.items()
        }
    )


def _ordered(values: Collection[Scalar]) -> bool:
    """Whether values are numbers, of which close ones are alike."""
    return all(isinstance(one, int) and not isinstance(one, bool) for one in values)


def _name(options: Sequence[Option]) -> str:
    """A study is about one space: optuna does not let a choice get another value later."""
    text = canonical([[list(pair) for pair in option.settings] for option in options])
    return f"kgen-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
