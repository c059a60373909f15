"""A spec's text with the winners written in, shown to be what was meant before anybody writes it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.make import make
from kgen.spec import Spec, loads
from kgen.sweep.conclude import Where
from kgen.sweep.rendered import Source
from kgen.sweep.served import served_core, served_signature
from kgen.sweep.space import current
from kgen.tune.choose import Choice, changes
from kgen.tune.edit import EditError, edited


@dataclass(frozen=True)
class Tuned:
    """The text before and after."""

    name: str
    before: str
    after: str

    def diff(self) -> Iterator[str]:
        """The lines of a unified diff, none where nothing changes."""
        lines = (self.before.splitlines(), self.after.splitlines())
        return difflib.unified_diff(*lines, self.name, f"{self.name} (tuned)", lineterm="", n=2)


def tuned(source: Source, spec: Spec, choices: Sequence[Choice], where: Where) -> Tuned:
    """The spec's text in which every regime that has a winner runs it.

    Raises `KgenError`: KG984 for a regime that stands in another file; KG985 where the changed text would not read as
    the old one with the winners in, or would not render to the code that was measured.
    """
    numbers = {regime.name: number for number, regime in enumerate(spec.document.regimes)}
    text = spec.text
    winners = [one for one in choices if one.winner is not None]
    for choice in winners:
        number = numbers[choice.regime]
        _stands_here(spec, number)
        present = current(spec, source.templates, number).settings
        try:
            text = edited(text, changes(number, present, choice, where.device))
        except EditError as error:
            raise _refused(spec, choice.regime, str(error)) from None
    if winners:
        _same_code(source, spec, text, winners)
    return Tuned(str(spec.path), spec.text, text)


def _stands_here(spec: Spec, number: int) -> None:
    place = spec.place("regimes", number)
    if place.file != str(spec.path):
        message = f"regime {spec.document.regimes[number].name} stands in {place.file}, and a winner is written there"
        hint = f"tune {place.file}, or copy its `regimes` into {spec.path}"
        raise KgenError([Diagnostic("KG984", message, place, hint)])


def _same_code(source: Source, spec: Spec, text: str, winners: Sequence[Choice]) -> None:
    """The changed spec gives for each winner the very code that was measured."""
    try:
        made = make(loads(text, str(spec.path)), source.templates, source.cache)
    except KgenError as error:
        raise _refused(spec, winners[0].regime, f"the changed spec is wrong: {error}") from None
    for one in winners:
        core = served_core(made.text, made.manifest, one.regime)
        signature = served_signature(made.manifest, one.regime)
        if (core, signature) != (one.winner.entry.core, one.winner.entry.signature):
            why = (
                "the changed spec renders to other code than was measured; the templates or the spec have "
                "changed since"
            )
            raise _refused(spec, one.regime, why)


def _refused(spec: Spec, regime: str, why: str) -> KgenError:
    message = f"the winner of regime {regime} is not written: {why}"
    hint = "nothing was changed; sweep again, or make the change by hand"
    return KgenError([Diagnostic("KG985", message, Place(str(spec.path)), hint)])
