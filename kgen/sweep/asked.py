"""What a person asks a sweep to vary: the `sweep` of a spec, and `--axis decode.tile.BLOCK_N=32,64,128` on top of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.expr import suggestion
from kgen.spec import Spec
from kgen.spec.scalars import resolve
from kgen.spec.text import printable, source_line
from kgen.sweep.model import Scalar

MOST_TOLD = 6
"""Of the values of one key that are wrong, how many are told one by one."""

FORM = "write for example `--axis decode.tile.BLOCK_N=32,64,128`"


@dataclass(frozen=True)
class Asked:
    """The values of one key of a regime; `mark` is a diagnostic without words, at the place where they stand."""

    regime: str
    key: str
    values: tuple[Scalar, ...]
    mark: Diagnostic

    def wrong(self, code: str, message: str, hint: str = "") -> Diagnostic:
        """A diagnostic about it."""
        return replace(self.mark, code=code, message=printable(message), hint=printable(hint))

    def first(self, problems: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
        """The first problems of its values, and how many more there are."""
        yield from problems[:MOST_TOLD]
        more = len(problems) - MOST_TOLD
        if more > 0:
            told = f"{more} more of the values of {self.key} are wrong"
            yield self.wrong(problems[-1].code, told, problems[-1].hint)


def asked(spec: Spec, texts: Sequence[str] = ()) -> Mapping[str, Mapping[str, Asked]]:
    """What is asked, by regime and key: an `--axis` in `texts` takes the place of the spec's values of its key.

    Raises KgenError (KG851, KG852, KG855) with everything that is wrong with `texts`.
    """
    found: dict[str, dict[str, Asked]] = {}
    for one in _of_spec(spec):
        found.setdefault(one.regime, {})[one.key] = one
    problems: list[Diagnostic] = []
    seen: set[tuple[str, str]] = set()
    for number, text in enumerate(texts, 1):
        try:
            one = _of_text(text, number)
        except KgenError as error:
            problems += error.diagnostics
            continue
        problems += _about(spec, one, seen)
        seen.add((one.regime, one.key))
        found.setdefault(one.regime, {})[one.key] = one
    if problems:
        raise KgenError(problems)
    return found


def _of_spec(spec: Spec) -> Iterator[Asked]:
    for regime, keys in spec.document.sweep.items():
        for key, values in keys.items():
            yield Asked(regime, key, values, spec.diagnostic("", "", "sweep", regime, key))


def _of_text(text: str, number: int) -> Asked:
    """One `--axis`. Raises KgenError (KG851)."""
    path, equals, rest = text.partition("=")
    regime, dot, key = path.partition(".")
    shown = source_line(text)
    mark = Diagnostic("", "", Place(f"<--axis {number}>", 1, 1, max(1, len(text))), "", shown)
    if not (equals and regime and dot and key and text.isprintable()):
        message = "this is not of the form `regime.key=value,value`"
        raise KgenError([replace(mark, code="KG851", message=message, hint=FORM)])
    words = [word.strip() for word in rest.split(",")]
    if not all(words):
        message = "there is no value behind `=`" if words == [""] else "a value is empty"
        raise KgenError([replace(mark, code="KG851", message=message, hint=FORM)])
    return Asked(regime, key, tuple(map(_value, words)), mark)


def _value(word: str) -> Scalar:
    """A value as YAML reads it; what is no scalar of a setting stays a text, for the parameter to refuse."""
    try:
        value = resolve(word)
    except OverflowError:
        return word
    return value if isinstance(value, (bool, int, str)) else word


def _about(spec: Spec, one: Asked, seen: set[tuple[str, str]]) -> Iterator[Diagnostic]:
    regimes = {regime.name: regime for regime in spec.document.regimes}
    if one.regime not in regimes:
        message = f"there is no regime `{one.regime}` to sweep"
        yield one.wrong("KG852", message, suggestion(one.regime, regimes, "regimes"))
    elif regimes[one.regime].variant is None:
        message = f"the regime `{one.regime}` is a fallback and has nothing to sweep"
        yield one.wrong("KG852", message, "name a regime that has a variant")
    if (one.regime, one.key) in seen:
        message = f"{one.regime}.{one.key} has two --axis"
        yield one.wrong("KG855", message, "write all its values in one of them")
    twice = [value for value, count in Counter(one.values).items() if count > 1]
    told = [
        one.wrong("KG855", f"{one.key} is to be {value} twice", "keep one of them")
        for value in twice
    ]
    yield from one.first(told)
