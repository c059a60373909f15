"""Whether the static estimates of a variant deserve to be shown as a ranking: only measured runs can say so."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from kgen.plan.model import Template
from kgen.plan.templates import DECLARATION
from kgen.render.hashes import core_sha256
from kgen.sweep import cost, figures, occupancy
from kgen.sweep.model import Candidate, Ranked
from kgen.sweep.rank import by_estimate

RECORDED = Path(__file__).with_name("trust.yaml")
TOP = 0.10
"""The measured best has to lie in this share of the candidates, the first by estimate."""
LEAST = 10
"""Fewer candidates have no such share."""


@dataclass(frozen=True)
class Confirmation:
    """What one receipt shows at one shape: of `candidates`, the measured best was the `place`th by estimate, from 1.

    `variant` is a template such as `attention/split_k`; `model` is `model_of` when the estimates were made, `compiled`
    whether they used what the compiler said; `correlation` is Spearman's, between estimated and measured times.
    """

    variant: str
    model: str
    compiled: bool
    receipt: str
    device: str
    shape: str
    candidates: int
    place: int
    correlation: float


@dataclass(frozen=True)
class Trust:
    """Whether a variant's estimates are confirmed, and why (not)."""

    variant: str
    confirmed: bool
    why: str

    @property
    def note(self) -> str:
        """What to write above candidates that have estimates only."""
        if self.confirmed:
            return f"{cost.NOTE}; confirmed for variant {self.variant}: {self.why}"
        return (
            f"estimate not yet confirmed for variant {self.variant}: not shown as a ranking"
            f" ({self.why})"
        )


def trusted(
    template: Template,
    recorded: Iterable[Confirmation],
    *,
    compiled: bool = True,
    fitted_to: frozenset[str] = cost.FITTED_TO,
) -> Trust:
    """Whether the measured best lay in the top 10 % by estimate, in every recorded comparison that counts.

    Those count that are of this variant by today's model, of kernels that were `compiled` or of none that were, have
    10 candidates at least, and come from receipts that the model was not fitted to. Where none counts, nothing is confirmed.
    """
    own = [one for one in recorded if (one.variant, one.compiled) == (template.name, compiled)]
    today = [one for one in own if one.model == model_of(template)]
    counted = [one for one in today if one.receipt not in fitted_to and one.candidates >= LEAST]
    missed = [one for one in counted if one.place > TOP * one.candidates]
    if not counted:
        return Trust(template.variant.variant, False, _why_none(own, today))
    if missed:
        return Trust(template.variant.variant, False, _seen(missed[0]))
    receipts = len({one.receipt for one in counted})
    why = f"the measured best lay in the top 10 % at {len(counted)} shapes of {receipts} receipts"
    return Trust(template.variant.variant, True, why)


def _seen(one: Confirmation) -> str:
    where = f"the measured best of {one.candidates} was number {one.place} at {one.shape}"
    return f"{where}, receipt {one.receipt}"


def _why_none(own: Sequence[Confirmation], today: Sequence[Confirmation]) -> str:
    if not own:
        return "nothing was measured"
    if not today:
        changed = "the model or the variant has changed since it was measured"
        missed = [one for one in own if one.place > TOP * one.candidates]
        return f"{changed}; before that {_seen(missed[0])}" if missed else changed
    return f"measured runs are of fewer than {LEAST} candidates, or the model was fitted to them"


def confirmation(
    template: Template,
    receipt: str,
    device: str,
    shape: str,
    ranked: Sequence[Ranked],
    measured: Mapping[Candidate, float],
) -> Confirmation:
    """What measured seconds show of the estimates of one shape.

    `ranked` are the candidates of the variant, all with estimates from before compiling or all from after; those that
    were not measured do not count. Raises ValueError where fewer than two were, and where some are compiled and some not.
    """
    order = [one for one in by_estimate(ranked, shape) if one.candidate in measured]
    if len(order) < 2:
        raise ValueError(f"{len(order)} candidates were measured at {shape}, which shows no order")
    kinds = {one.at(shape).compiled for one in order}
    if len(kinds) > 1:
        raise ValueError(f"some estimates at {shape} are of compiled kernels and some are not")
    seconds = [measured[one.candidate] for one in order]
    # equal estimates are one place: that of the last of them
    best = order[seconds.index(min(seconds))].at(shape).seconds
    place = sum(one.at(shape).seconds <= best for one in order)
    correlation = _correlation([one.at(shape).seconds for one in order], seconds)
    model = model_of(template)
    return Confirmation(
        template.name, model, kinds.pop(), receipt, device, shape, len(order), place, correlation
    )


def listed(ranked: Sequence[Ranked], shape: str, trust: Mapping[str, Trust]) -> list[Ranked]:
    """Candidates as they may be shown: those of confirmed variants by estimate, then the others in the space's order.

    `trust` has each variant's.
    """
    shown = [one for one in ranked if trust[one.candidate.variant].confirmed]
    hidden = [one for one in ranked if not trust[one.candidate.variant].confirmed]
    return [*by_estimate(shown, shape), *hidden]


def _correlation(estimated: Sequence[float], measured: Sequence[float]) -> float:
    """Spearman's; 0 where one of the two has no order."""
    if len(set(estimated)) < 2 or len(set(measured)) < 2:
        return 0.0
    from scipy.stats import spearmanr

    return float(spearmanr(estimated, measured).statistic)


def confirmations(path: Path = RECORDED) -> tuple[Confirmation, ...]:
    """What is recorded."""
    import yaml

    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(Confirmation(**entry) for entry in document["confirmations"])


def added(known: Sequence[Confirmation], new: Iterable[Confirmation]) -> str:
    """The text of the file with `new` recorded too; the comment on its top stays."""
    import yaml

    entries = [
        {field.name: getattr(one, field.name) for field in fields(one)} for one in (*known, *new)
    ]
    comment = [
        line for line in RECORDED.read_text(encoding="utf-8").splitlines() if line[:1] == "#"
    ]
    body = yaml.safe_dump({"confirmations": entries}, sort_keys=False, width=100)
    return "\n".join([*comment, body])


def model_of(template: Template) -> str:
    """What the estimates of a variant come from: the cost model's code, comments aside, and the declaration."""
    state = hashlib.sha256()
    for module in (cost, figures, occupancy):
        state.update(core_sha256(Path(module.__file__).read_text(encoding="utf-8")).encode())
    state.update(Path(template.directory, DECLARATION).read_bytes())
    return state.hexdigest()[:16]
