"""The JSON Schema for editors, and what fields say about themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from kgen.spec.attention import AttentionSpec
from kgen.spec.load import FAMILIES
from kgen.spec.lookup import flow, model_at
from kgen.spec.schema import json_schema, schema_text


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for name in model.model_fields:
        for key in ((name,), (name, 0), (name, "x")):
            inner = model_at(model, key)
            if inner is not None:
                yield from models(inner)


def test_the_committed_schema_is_current(root):
    assert (root / "kgen.schema.json").read_text(encoding="utf-8") == schema_text()


def test_the_schema_knows_every_key_of_every_family():
    schema = json.loads(json.dumps(json_schema()))
    for module in FAMILIES.values():
        properties = schema["$defs"][module.SPEC.__name__]["properties"]
        assert properties.keys() == module.SPEC.model_fields.keys() | {"extends"}


def test_a_spec_that_extends_another_may_leave_out_every_key():
    definition = json_schema()["$defs"]["AttentionSpec"]
    assert "required" not in definition
    assert {"required": ["extends"]} in definition["anyOf"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_field_has_a_description_and_required_ones_an_example(family):
    for model in models(FAMILIES[family].SPEC):
        for name, field in model.model_fields.items():
            assert field.description, (model, name)
            assert not field.is_required() or field.examples, (model, name)


def test_models_are_found_by_the_keys_that_lead_to_them():
    assert model_at(AttentionSpec, ()) is AttentionSpec
    assert model_at(AttentionSpec, ("regimes", 3)).__name__ == "Regime"
    assert model_at(AttentionSpec, ("axes", "B")).__name__ == "AxisModel"
    assert model_at(AttentionSpec, ("axes", "B", "const")) is None
    assert model_at(AttentionSpec, ("nothing", "here")) is None


def test_values_are_shown_as_yaml_writes_them():
    assert flow({"a": [1, True, "x"], "b": {"c": "none"}}) == "{a: [1, true, x], b: {c: none}}"
