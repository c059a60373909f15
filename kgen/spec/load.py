"""YAML text to a checked spec, or to everything that is wrong with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType

from pydantic import ValidationError

from kgen.diagnostics import Diagnostic, KgenError
from kgen.expr import Expr, suggestion
from kgen.spec import attention, norm, partial_states
from kgen.spec.axis import AxisModel
from kgen.spec.checks import check_axes, check_regimes, check_sweep
from kgen.spec.common import SpecModel
from kgen.spec.draft import draft
from kgen.spec.expressions import Expressions
from kgen.spec.extends import Resolver
from kgen.spec.knob import check_knobs
from kgen.spec.files import read_file
from kgen.spec.nodes import Key, plain
from kgen.spec.origin import Origin
from kgen.spec.overrides import override, override_name
from kgen.spec.points import check_workloads
from kgen.spec.problem import describe
from kgen.spec.ranges import check_ranges
from kgen.spec.spec import Axis, Spec
from kgen.spec.translate import translate

FAMILIES: Mapping[str, ModuleType] = {"attention": attention, "merge": partial_states, "norm": norm}
"""The module of each family: its model `SPEC`, and `check` for what the model alone cannot say."""


def load(path: str | Path, overrides: Sequence[str] = ()) -> Spec:
    """The spec in the file `path`, with overrides such as `regimes.decode.tile.BLOCK_N=64`.

    Raises KgenError with all problems that the file, those it extends and the overrides have,
    sorted by position.
    """
    return loads(read_file(Path(path)), str(path), overrides)


def loads(text: str, name: str, overrides: Sequence[str] = ()) -> Spec:
    """The spec in `text`; `name` is its file, from whose folder `extends` counts.

    Raises KgenError as `load`.
    """
    resolver = Resolver()
    root = resolver.resolve(text, Path(name))
    texts = dict(resolver.texts)
    for number, change in enumerate(overrides, 1):
        root = override(root, change, number)
        texts[override_name(number)] = change
    return _checked(text, Path(name), Origin(root, texts))


def _checked(text: str, path: Path, origin: Origin) -> Spec:
    """The spec that the nodes of `origin` hold, or KgenError with every problem."""
    document = plain(origin.root)
    family = document.get("family")
    known = isinstance(family, str) and family in FAMILIES
    model = FAMILIES[family].SPEC if known else SpecModel
    expressions = Expressions(document, model.SLOTS, origin)
    problems = [*expressions.problems, *_across(model, document, expressions, origin)]
    if not known:
        problems += _unknown_family(family, origin)
        document = {key: value for key, value in document.items() if key in model.model_fields}
    try:
        checked = model.model_validate(document)
    except ValidationError as error:
        problems += translate(error, model, origin)
    if problems:
        raise KgenError(_in_order(problems, origin))
    trees = MappingProxyType(expressions.trees)
    axes = {name: _axis(name, axis, trees) for name, axis in checked.axes.items()}
    return Spec(checked, path, text, _digest(document), MappingProxyType(axes), trees, origin)


def _across(
    model: type[SpecModel],
    document: Mapping[str, object],
    expressions: Expressions,
    origin: Origin,
) -> Iterator[Diagnostic]:
    """Problems between the parts of the document, as far as these are right by themselves."""
    parts = draft(model, document, expressions.trees)
    yield from check_axes(model, document, origin)
    yield from check_ranges(expressions.trees, expressions.axes.constants, origin)
    yield from check_knobs(document, origin)
    yield from check_regimes(document, origin)
    yield from check_sweep(document, origin)
    yield from check_workloads(parts, origin)
    for module in FAMILIES.values():
        if module.SPEC is model:
            yield from module.check(parts, origin)


def _unknown_family(family: object, origin: Origin) -> Iterator[Diagnostic]:
    if isinstance(family, str):
        yield origin.diagnostic(
            "KG204",
            f"{describe(family)} is no family of kernels",
            "family",
            hint=suggestion(family, FAMILIES, "families"),
        )


def _in_order(problems: Iterable[Diagnostic], origin: Origin) -> list[Diagnostic]:
    """The problems by position, none twice."""
    return sorted(dict.fromkeys(problems), key=origin.order)


def _axis(name: str, axis: AxisModel, trees: Mapping[Key, Expr]) -> Axis:
    low, high = (trees.get(("axes", name, "range", index)) for index in (0, 1))
    return Axis(name, axis.const, low, high, axis.values, axis.runtime, axis.doc)


def _digest(document: Mapping[str, object]) -> str:
    """The SHA-256 of the document as canonical JSON."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
