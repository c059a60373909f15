"""What the models say about the value at a key: which model reads it, and an example of it."""

from __future__ import annotations

import types
import typing

from pydantic import BaseModel

from kgen.spec.nodes import Key


def example_at(model: type[BaseModel], key: Key) -> str:
    """An example of the value at `key`, as YAML; empty where neither field nor model has one."""
    parent, own = model_at(model, key[:-1]), model_at(model, key)
    field = parent.model_fields.get(key[-1]) if parent else None
    examples = field.examples if field else None
    if not examples and own:
        examples = own.model_config.get("json_schema_extra", {}).get("examples")
    return flow(examples[0]) if examples else ""


def model_at(model: type[BaseModel], key: Key) -> type[BaseModel] | None:
    """The model that reads the value at `key`; None where another type does."""
    annotation: object = model
    for part in key:
        annotation = _step(annotation, part)
    return _model(annotation)


def _step(annotation: object, part: str | int) -> object:
    model = _model(annotation)
    if model is not None:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        return field.annotation if field else None
    for option in _options(annotation):
        arguments = typing.get_args(option)
        if arguments:
            return arguments[0] if isinstance(part, int) else arguments[-1]
    return None


def _model(annotation: object) -> type[BaseModel] | None:
    for option in _options(annotation):
        if isinstance(option, type) and issubclass(option, BaseModel):
            return option
    return None


def _options(annotation: object) -> tuple:
    """The members of a union; `Annotated` stripped."""
    if typing.get_origin(annotation) is typing.Annotated:
        return _options(typing.get_args(annotation)[0])
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        return typing.get_args(annotation)
    return (annotation,)


def flow(value: object) -> str:
    """`value` as YAML writes it on one line."""
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(flow, value)) + "]"
    return str(value)
