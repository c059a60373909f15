"""A spec's text with the winners written in, shown to be what was meant before anybody writes it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.make import Made, make
from kgen.spec import Spec, loads
from kgen.sweep.conclude import Where
from kgen.sweep.rendered import Source
from kgen.sweep.served import served_core, served_signature
from kgen.sweep.space import current
from kgen.tune.choose import Choice, changes
from kgen.tune.edit import edited
from kgen.tune.nodes import EditError
from kgen.tune.split import Split, split_changes, undispatched

Decision = Choice | Split


@dataclass(frozen=True)
class Tuned:
    """The text before and after, and the decisions that make the difference.

    `absent` are regimes that were swept and that the spec has no longer, at least not with a variant.
    """

    name: str
    decisions: tuple[Decision, ...]
    before: str
    after: str
    absent: tuple[str, ...] = ()

    def told(self) -> Iterator[str]:
        """What becomes of each regime, and the difference."""
        for one in self.decisions:
            yield from one.told()
        for name in self.absent:
            yield f"{name}: was swept, and the spec has no regime of this name with a variant now"
        yield from self.diff()

    def diff(self) -> Iterator[str]:
        """The lines of a unified diff, none where nothing changes."""
        lines = (self.before.splitlines(), self.after.splitlines())
        return difflib.unified_diff(*lines, self.name, f"{self.name} (tuned)", lineterm="", n=2)


def tuned(source: Source, spec: Spec, decisions: Sequence[Decision], where: Where) -> Tuned:
    """The spec's text with each regime as its decision says.

    A regime of one value, such as B == 1, may render to other code than was measured within a wider one: then what was
    not measured beside it goes to it. Raises `KgenError`: KG984 for a regime that stands in another file; KG985 where the changed text would not read as
    the old one with the changes in, would not pass its checks, or would not render to the code that was measured.
    """
    try:
        return _written(source, spec, decisions, where)
    except KgenError:
        wider = [one.wider() if isinstance(one, Split) else one for one in decisions]
        if wider == list(decisions):
            raise
        return _written(source, spec, wider, where)


def _written(source: Source, spec: Spec, decisions: Sequence[Decision], where: Where) -> Tuned:
    numbers = {regime.name: number for number, regime in enumerate(spec.document.regimes)}
    wanted = [one for one in decisions if isinstance(one, Split) or one.winner is not None]
    text = spec.text
    # the last first: a copied regime moves those behind it
    for one in sorted(wanted, key=lambda one: -numbers[one.regime]):
        number = numbers[one.regime]
        _stands_here(spec, number)
        present = current(spec, source.templates, number).settings
        try:
            if isinstance(one, Split):
                text = edited(text, split_changes(spec, number, present, one, where))
            else:
                text = edited(text, changes(number, present, one, where.device))
        except EditError as error:
            raise _refused(spec, one.regime, str(error)) from None
    if wanted:
        _same_code(source, spec, text, wanted)
    return Tuned(str(spec.path), tuple(decisions), spec.text, text)


def _stands_here(spec: Spec, number: int) -> None:
    place = spec.place("regimes", number)
    if place.file != str(spec.path):
        message = f"regime {spec.document.regimes[number].name} stands in {place.file}, and a winner is written there"
        hint = f"tune {place.file}, or copy its `regimes` into {spec.path}"
        raise KgenError([Diagnostic("KG984", message, place, hint)])


def _same_code(source: Source, spec: Spec, text: str, wanted: Sequence[Decision]) -> None:
    """The changed spec passes its checks, and serves what was measured with the very code that was measured."""
    try:
        made = make(loads(text, str(spec.path)), source.templates, source.cache)
    except KgenError as error:
        raise _refused(spec, wanted[0].regime, f"the changed spec is wrong: {error}") from None
    if made.wrong:
        found = "; ".join(one.message for one in made.findings)
        raise _refused(
            spec, wanted[0].regime, f"the changed spec does not pass its checks: {found}"
        )
    for one in wanted:
        if isinstance(one, Split):
            why = undispatched(one, made.text, made.manifest)
        else:
            why = "" if _is_winner(one, made) else "the winner's settings give other code now"
        if why:
            stale = f"{why}; the templates or the spec have changed since, or the cut changes more than who serves"
            raise _refused(spec, one.regime, stale)


def _is_winner(one: Choice, made: Made) -> bool:
    core = served_core(made.text, made.manifest, one.regime)
    signature = served_signature(made.manifest, one.regime)
    return (core, signature) == (one.winner.entry.core, one.winner.entry.signature)


def _refused(spec: Spec, regime: str, why: str) -> KgenError:
    message = f"what regime {regime} was to become is not written: {why}"
    hint = "nothing was changed; sweep again, or make the change by hand"
    return KgenError([Diagnostic("KG985", message, Place(str(spec.path)), hint)])
