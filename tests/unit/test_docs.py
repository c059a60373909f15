"""The documents say what is so: links, commands, keys and examples."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kgen.spec import loads
from kgen.spec.schema import json_schema

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
# what `kgen explain` quotes and not what a reader is to type
HAND_WRITTEN = [path for path in DOCUMENTS if path.name != "errors.md"]
COMMAND = re.compile(r"^(?:\$ )?(?:\.venv/bin/)?kgen (ledger [a-z]+|[a-z]+)([^#\n]*)", re.MULTILINE)


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a document in one language."""
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)


def names(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_links_to_files_of_the_repository_lead_somewhere(path):
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text())
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (path.parent / target).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_links_within_a_document_lead_to_a_heading(path):
    text = path.read_text()
    headings = {
        re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) - headings == set()


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=names)
def test_commands_have_verbs_and_options_that_kgen_has(path, kgen):
    for verb, rest in (found for block in blocks(path, "sh") for found in COMMAND.findall(block)):
        told = kgen(*verb.split(), "--help")
        assert told.code == 0, f"kgen {verb}"
        options = re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest)
        assert [one for one in options if not re.search(rf"(?<!\S){one}\b", told.out)] == []


def test_make_targets_that_documents_name_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target
        for path in HAND_WRITTEN
        for target in re.findall(r"(?:`|^)make ([a-z-]+)", path.read_text(), re.MULTILINE)
    }
    assert named - targets == set()
    assert {"demo", "test"} <= named


def test_the_example_of_the_spec_language_is_a_valid_spec():
    (example,) = (b for b in blocks(ROOT / "docs/spec.md", "yaml") if b.startswith("kgen: 1"))
    workloads = next(b for b in blocks(ROOT / "docs/spec.md", "yaml") if b.startswith("workloads:"))
    assert loads(example + workloads, "example.yaml").document.name == "gqa8_bf16"


def test_the_spec_that_the_readme_shows_is_part_of_the_committed_one():
    (shown,) = blocks(README, "yaml")
    committed = (ROOT / "specs/norm/rms_4096.yaml").read_text().splitlines()
    assert [line for line in shown.splitlines() if line not in committed] == []
    assert loads(shown, "readme.yaml").document.name == "rms_4096"


def test_the_kernel_that_the_readme_shows_is_the_committed_one():
    (shown,) = blocks(README, "python")
    assert shown in (ROOT / "generated/norm/rms_4096/submission.py").read_text()


def test_the_message_that_the_readme_shows_is_what_kgen_prints(kgen, monkeypatch):
    monkeypatch.chdir(ROOT)
    (shown,) = blocks(README, "text")
    command, expected = shown.split("\n", 1)
    told = kgen(*command.removeprefix("$ kgen ").split())
    assert (told.code, told.err) == (1, expected)


def test_every_key_of_the_language_is_documented_and_no_other():
    text = (ROOT / "docs/spec.md").read_text()
    tables = re.findall(r"^\| key \| means \|\n\|-+\|-+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    cells = [row.split("|")[1] for table in tables for row in table.splitlines()]
    documented = {
        part for cell in cells for key in re.findall(r"`(.*?)`", cell) for part in key.split(".")
    }
    assert documented == set(_keys(json_schema()))


def _keys(schema: object) -> Iterator[str]:
    """Every key that some mapping of a spec has."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        for value in schema.values():
            yield from _keys(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _keys(value)


def test_the_devices_and_targets_that_are_listed_are_those_of_the_catalogue():
    text = (ROOT / "docs/spec.md").read_text()
    catalogue = yaml.safe_load((ROOT / "kgen/devices/devices.yaml").read_text())
    for key in ("devices", "targets"):
        row = re.search(rf"^\| `{key}` \|(.*)", text, re.MULTILINE)[1]
        listed = set(re.findall(r"`([a-z0-9_]+)`", row))
        assert listed >= set(catalogue[key])


def test_the_mapping_that_is_shown_reads_an_answer():
    from kgen.evidence.mapping import mapped, read_mapping

    (shown,) = (b for b in blocks(ROOT / "docs/measuring.md", "yaml") if b.startswith("mapping:"))
    times = {"median": 10.0, "interval": [9.0, 11.0]}
    answer = {
        "gpu": "NVIDIA H100",
        "job": {"id": 7},
        "judge": {"version": "3"},
        "type": "leaderboard",
        "finished_at": "2026-05-31T12:00:00Z",
        "quota": {"remaining": 4},
        "results": [{"shape": "B 1", "ours": times, "reference": times}],
        "tests": [{"id": "small", "outcome": "ok"}],
        "warnings": [],
    }
    found = mapped(read_mapping(yaml.safe_load(shown)), answer)
    assert found["shapes"][0].candidate.seconds == pytest.approx(1e-5)
    assert [case.passed for case in found["cases"]] == [True]


def test_the_gates_that_are_documented_are_those_that_are_judged():
    from typing import get_args, get_type_hints

    from kgen.evidence.gates import Gate

    text = (ROOT / "docs/measuring.md").read_text()
    table = re.search(r"^\| gate \| passes when \|\n\|-+\|-+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    documented = re.findall(r"^\| `(\w+)`", table[1], re.MULTILINE)
    assert tuple(documented) == get_args(get_type_hints(Gate)["name"])


def test_the_table_of_another_judge_is_of_files_that_are_there(root):
    text = (root / "docs/prover.md").read_text().split("### Another judge")[1]
    files = re.findall(r"^\| `(\w+/\w+)` \|(?: \d+ \|){4}$", text, re.MULTILINE)
    assert len(files) >= 9
    assert all((root / "generated" / name / "submission.py").is_file() for name in files)
