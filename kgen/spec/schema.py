"""The JSON Schema of the spec language, for editors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from kgen.spec.load import FAMILIES

_EXTENDS = {
    "type": "string",
    "description": "A spec file, relative to this one, on top of which this one is laid.",
}


class _Generator(GenerateJsonSchema):
    """pydantic's generator, without titles that only repeat a key, and strict about keys."""

    def field_title_should_be_set(self, schema: core_schema.CoreSchema) -> bool:
        return False

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        result = super().dict_schema(schema)
        if "patternProperties" in result:
            result["additionalProperties"] = False
        return result

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        # None stands for an absent key, or for the word `none`: never for YAML's null.
        result = super().default_schema(schema)
        return {key: value for key, value in result.items() if (key, value) != ("default", None)}


def json_schema() -> dict:
    """The schema of a spec file, generated from the models that read it.

    A file that `extends` another may leave out any key.
    """
    models = {name: module.SPEC for name, module in FAMILIES.items()}
    _, schema = models_json_schema(
        [(model, "validation") for model in models.values()], schema_generator=_Generator
    )
    definitions = schema["$defs"]
    for model in models.values():
        definition = definitions[model.__name__]
        definition["properties"]["extends"] = _EXTENDS
        definition["anyOf"] = [{"required": ["extends"]}, {"required": definition.pop("required")}]
    reached = _reached([model.__name__ for model in models.values()], definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A kgen kernel spec",
        "type": "object",
        "properties": {"family": {"enum": sorted(models)}},
        "anyOf": [{"required": ["extends"]}, {"required": ["family"]}],
        "allOf": [
            {
                "if": {"properties": {"family": {"const": name}}, "required": ["family"]},
                "then": {"$ref": f"#/$defs/{model.__name__}"},
            }
            for name, model in models.items()
        ],
        "$defs": {name: definitions[name] for name in sorted(reached)},
    }


def _reached(names: Iterable[str], definitions: Mapping[str, object]) -> set[str]:
    """The definitions that those in `names` lead to; pydantic also lists types of results."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += re.findall(r'"#/\$defs/(\w+)"', json.dumps(definitions[name]))
    return reached


def schema_text() -> str:
    """The schema as it is written to `kgen.schema.json`."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
