"""pydantic's errors in the words of kgen, at the places of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ValidationError

from kgen.diagnostics import Diagnostic, Place
from kgen.expr import listing, nearest, suggestion
from kgen.spec.fields import integer_hint
from kgen.spec.lookup import example_at, model_at
from kgen.spec.nodes import Key
from kgen.spec.origin import Origin
from kgen.spec.problem import KIND, describe

_TYPES = {
    "string_type": "text",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "`true` or `false`",
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "tuple_type": "a list",
    "finite_number": "a finite number",
}

_SWITCHES = {"yes": "true", "on": "true", "no": "false", "off": "false"}

_BOUNDS = {
    "greater_than_equal": "at least {ge}",
    "less_than_equal": "at most {le}",
}


def translate(
    error: ValidationError, model: type[BaseModel], origin: Origin
) -> Iterator[Diagnostic]:
    """A diagnostic for each of the errors that validating a document by `model` gave."""
    for item in error.errors(include_url=False):
        if item["type"] == "too_short" and item["input"]:
            # pydantic counts the valid items only; the others have errors of their own.
            continue
        key = tuple(part for part in item["loc"] if part != "[key]")
        yield _translate(item, key, model, origin)


def _translate(item: Mapping, key: Key, model: type[BaseModel], origin: Origin) -> Diagnostic:
    kind, context, value = item["type"], item.get("ctx", {}), item["input"]
    if kind == KIND:
        at_key = context["on_key"] or item["loc"][-1:] == ("[key]",)
        return origin.diagnostic(
            context["code"],
            context["message"],
            *key,
            *context["key"],
            hint=context["hint"],
            on_key=at_key,
        )
    if kind == "extra_forbidden":
        return _unknown_key(key, value, model, origin)
    if kind == "missing":
        return _missing(key, model, origin)
    if kind == "literal_error":
        return _choice(key, context["expected"], value, origin)
    if kind in _BOUNDS:
        bound = _BOUNDS[kind].format(**context)
        message = f"{describe(value)} is out of range: it has to be {bound}"
        return origin.diagnostic("KG205", message, *key)
    if kind == "too_short":
        return origin.diagnostic("KG205", "the list is empty; it needs at least one item", *key)
    expected = _TYPES.get(kind)
    if expected is None:  # a type of error that only another version of pydantic has
        return origin.diagnostic("KG203", item["msg"], *key)
    hint = _type_hint(kind, value)
    if not hint and (example := example_at(model, key)):
        hint = f"write for example `{example}`"
    return origin.diagnostic(
        "KG203", f"expected {expected}, found {describe(value)}", *key, hint=hint
    )


def _type_hint(kind: str, value: object) -> str:
    """What was probably meant."""
    if kind == "bool_type" and isinstance(value, str) and value.lower() in _SWITCHES:
        return f"write `{_SWITCHES[value.lower()]}`"
    if kind == "string_type" and isinstance(value, (int, float)):
        return "put it in quotes if it is meant as text"
    if kind == "tuple_type" and isinstance(value, (int, str)):
        return f"write `[{value}]`"
    return integer_hint(value) if kind == "int_type" else ""


def _unknown_key(key: Key, value: object, model: type[BaseModel], origin: Origin) -> Diagnostic:
    word = str(key[-1])
    parent = model_at(model, key[:-1])
    known = list(parent.model_fields) if parent else []
    if parent is model:
        known.append("extends")
    where = f" in `{key[-2]}`" if len(key) > 1 and isinstance(key[-2], str) else ""
    close = nearest(word, known)
    hint = f"did you mean `{close}`?" if close else f"known keys: {listing(known)}"
    if value is None and " " in word:
        hint = "inside `{...}` a comma ends the text before it: put that text in quotes"
    if word == "<<":
        hint = "merge keys are not part of YAML 1.2; use `extends` for shared parts"
    shown = describe(word).removeprefix("the text ").strip('"')
    return origin.diagnostic("KG201", f"unknown key `{shown}`{where}", *key, hint=hint, on_key=True)


def _missing(key: Key, model: type[BaseModel], origin: Origin) -> Diagnostic:
    field = model_at(model, key[:-1]).model_fields[key[-1]]
    owner = f" in `{_path(key[:-1])}`" if len(key) > 1 else ""
    hint = f"add `{key[-1]}: {example_at(model, key)}`"
    if field.description:
        hint += f" ({field.description.rstrip('.')})"
    message = f"the key `{key[-1]}` is missing{owner}"
    if len(key) == 1:
        return Diagnostic("KG202", message, Place(origin.root.mark.file), hint)
    return origin.diagnostic("KG202", message, *key[:-1], hint=hint)


def _choice(key: Key, expected: str, value: object, origin: Origin) -> Diagnostic:
    known = [word.strip("'") for word in re.split(", | or ", expected)]
    if isinstance(value, str):
        hint = suggestion(value, known, "allowed") if len(known) > 1 else f"write `{known[0]}`"
    else:
        hint = f"allowed: {listing(known)}"
    name = next((part for part in reversed(key) if isinstance(part, str)), "")
    return origin.diagnostic("KG204", f"{describe(value)} is no value of `{name}`", *key, hint=hint)


def _path(key: Key) -> str:
    """`regimes[0].tile` for the key ("regimes", 0, "tile")."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key)
    return text.lstrip(".")
