"""Kept evidence followed again: what holds is confirmed, and what was changed is named with what rested on it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kgen.algebra import Space, Status, ge, lt
from kgen.algebra.verdict import decide
from kgen.plan.obligation import Obligation
from kgen.prove.evidence import digest, evidence_of, evidence_text
from kgen.prove.rechecking import follow, read_evidence
from kgen.diagnostics import KgenError

FILE = '"""Doc."""\nX = 1\n'
MANIFEST = {"spec": {"name": "small", "sha256": "5" * 64}, "templates": "7" * 64}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """Evidence of three obligations: one with two certificates, one with one, one with none."""
    space = Space()
    n = space.axis("N", 1, 4096)
    place = space.program(0, space.quotient(n + 63, space.fixed("TILE", 64))) * 64
    inside = [
        decide(space, goal).certificate for goal in (ge(place, 0), lt(place, n), lt(place, n + 1))
    ]
    obligations = [
        Obligation("a", "bounds", "it stays inside", Status.PROVED, "so", 0, tuple(inside[:2])),
        Obligation("a", "widths", "it fits", Status.PROVED, "so", 0, tuple(inside[2:])),
        Obligation("a", "understood", "all is followed", Status.PROVED, "so"),
    ]
    record = {
        "obligations": [
            {**one.as_json(), "launcher": "launch_a", "kernel": "a_kernel", "line": 1}
            for one in obligations
        ],
        "promises": ["ids are pages"],
    }
    spec = SimpleNamespace(document=SimpleNamespace(name="small"), sha256="5" * 64)
    proof = SimpleNamespace(host=obligations, kernels=(), idle_masks=lambda: ())
    return evidence_of(spec, MANIFEST, FILE, "3.7.1", record, proof)


def said(document: dict[str, Any], text: str | None = FILE, manifest: Any = MANIFEST) -> list[str]:
    """What is found, as `code: message`."""
    found = follow(document, "proof.json", text, manifest)
    return [f"{one.code}: {one.message}" for one in found.findings]


def test_evidence_that_holds_has_no_findings(document, tmp_path):
    path = tmp_path / "proof.json"
    path.write_text(evidence_text(document))
    back = read_evidence(path)
    assert back == json.loads(json.dumps(document))
    assert said(back) == [] and follow(back, "", None, None).confirmed == 3
    assert [len(one["certificates"]) for one in back["obligations"]] == [2, 1, 0]


def test_a_comment_does_not_matter_and_a_changed_core_does(document):
    assert said(document, "# why\n" + FILE) == []
    (found,) = said(document, FILE.replace("1", "2"))
    assert found.startswith("KG822: the core of the file is not what was proved: its hash is ")
    assert document["core_sha256"][:16] in found
    assert said(document, "(")[0].startswith("KG822")


@pytest.mark.parametrize(
    ("manifest", "what"),
    [
        ({**MANIFEST, "templates": "8" * 64}, "the set of templates"),
        ({**MANIFEST, "spec": {"name": "small", "sha256": "6" * 64}}, "the spec"),
    ],
)
def test_another_spec_or_template_is_named(document, manifest, what):
    (found,) = said(document, FILE, manifest)
    assert found.startswith(f"KG822: {what} is not what was proved")


def leaves(plain: Any, path: tuple = ()) -> Iterator[tuple]:
    if isinstance(plain, (list, dict)):
        for key, value in plain.items() if isinstance(plain, dict) else enumerate(plain):
            yield from leaves(value, (*path, key))
    else:
        yield path


def changed(document: dict[str, Any], path: tuple, change: Any) -> dict[str, Any]:
    spoiled = copy.deepcopy(document)
    part = spoiled
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = change(part[path[-1]])
    return spoiled


def other(value: Any) -> Any:
    return value + 1 if isinstance(value, int) else f"{value}0"


def test_every_value_that_is_changed_is_noticed(document):
    for path in leaves(document):
        assert said(changed(document, path, other)), path


def test_every_coefficient_that_is_changed_with_a_new_hash_is_noticed_at_its_obligations(document):
    places = [path for path in leaves(document["spaces"]) if path[1] == "polynomials"]
    assert len(places) > 20
    for path in places:
        spoiled = changed(document, ("spaces", *path), other)
        spoiled["sha256"] = digest(spoiled)
        found = said(spoiled)
        assert found and all("a_kernel: " in one and "is not proved" in one for one in found), path


def test_a_claim_that_its_certificate_does_not_prove_is_named_with_its_obligation(document):
    spoiled = copy.deepcopy(document)
    (space,) = spoiled["spaces"]
    first, last = space["certificates"][0], space["certificates"][2]
    first[1], last[1] = last[1], first[1]
    spoiled["sha256"] = digest(spoiled)
    found = said(spoiled)
    assert any(
        one.startswith(
            "KG824: a_kernel: bounds: it stays inside is not proved: 1 of 2 certificates"
        )
        and one.endswith("it does not prove its claim")
        for one in found
    )


def test_a_missing_certificate_is_named(document):
    spoiled = copy.deepcopy(document)
    for part in ("names", "certificates"):
        spoiled["spaces"][0][part].pop()
    spoiled["sha256"] = digest(spoiled)
    (found,) = said(spoiled)
    assert found.startswith("KG823: a_kernel: widths: it fits is not proved: 1 of 1 certificates")
    assert found.endswith("it is missing")


def test_an_open_obligation_is_a_finding_unless_it_is_waived(document):
    spoiled = copy.deepcopy(document)
    spoiled["obligations"][2]["status"] = "unknown"
    spoiled["sha256"] = digest(spoiled)
    (found,) = said(spoiled)
    assert found == "KG825: a_kernel: understood: all is followed is unknown: so"
    spoiled["obligations"][2]["waived"] = "padded"
    spoiled["sha256"] = digest(spoiled)
    assert said(spoiled) == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"evidence": 1}', '{"evidence": 2}', "null", "[" * 9999]
)
def test_what_is_no_evidence_is_refused(tmp_path, text):
    path = tmp_path / "proof.json"
    path.write_text(text)
    with pytest.raises(KgenError, match="KG821: this is no evidence that can be read"):
        read_evidence(path)
    with pytest.raises(KgenError, match="KG821"):
        read_evidence(tmp_path)


def test_evidence_of_another_version_is_refused(document, tmp_path):
    path = tmp_path / "proof.json"
    path.write_text(json.dumps({**document, "evidence": 2}))
    with pytest.raises(KgenError, match="it has version 2, and this kgen reads 1"):
        read_evidence(path)
