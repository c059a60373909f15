"""`kgen schema`: printed, written, and compared with the committed file."""

from __future__ import annotations

import json


def test_the_committed_schema_is_what_the_models_say_today(kgen, root):
    told = kgen("schema", "--check")
    assert (told.code, told.err) == (0, "")
    assert kgen("schema").out == (root / "kgen.schema.json").read_text()


def test_it_is_written_where_it_is_wanted(kgen, tmp_path):
    file = tmp_path / "schema.json"
    assert kgen("schema", "-o", file).out == f"wrote {file}\n"
    assert json.loads(file.read_text())["title"] == "A kgen kernel spec"
    assert kgen("schema", "-o", file).out == f"{file} is current\n"


def test_a_stale_schema_is_a_finding_with_the_command_that_mends_it(kgen, tmp_path):
    file = tmp_path / "schema.json"
    kgen("schema", "-o", file)
    file.write_text(file.read_text().replace("A kgen kernel spec", "Something else"))
    told = kgen("schema", "--check", "-o", file)
    assert told.code == 1
    assert f"{file}:3:1: KG190" in told.err
    assert "help: run `kgen schema -o schema.json`" in told.err


def test_a_program_gets_the_schema_in_the_object(kgen):
    assert json.loads(kgen("schema", "--json").out)["schema"]["type"] == "object"
