"""A bundle is read whole or refused with the reason."""

from __future__ import annotations

import hashlib
import json

import pytest

from kgen.runner.bundle import BundleError, read_bundle

SOURCE = "def run(): ...\n"
MANIFEST = {
    "bytes_sha256": hashlib.sha256(SOURCE.encode()).hexdigest(),
    "entry": "run",
    "family": "attention",
    "arguments": ["q", "k", "residual"],
    "returns": ["out", "residual"],
    "regimes": [
        {"name": "decode", "launches": [["split", "combine"], ["split_window", "combine"]]},
        {"name": "rest", "launches": [], "capturable": False},
    ],
    "problem": {"page": 16},
}


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "submission.py").write_text(SOURCE)
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    return tmp_path


def test_a_bundle_says_what_the_runner_needs(directory):
    bundle = read_bundle(directory)
    assert not bundle.edited
    assert bundle.problem_module == "kgen.families.attention.problem"
    assert bundle.read_only == ("q", "k")
    decode, rest = bundle.regimes.values()
    assert decode.launches == (("split", "combine"), ("split_window", "combine"))
    assert (decode.capturable, rest.capturable) == (True, False)


def test_an_edited_file_is_known_by_its_hash(directory):
    (directory / "submission.py").write_text(SOURCE + "\n")
    assert read_bundle(directory).edited


@pytest.mark.parametrize("name", ["submission.py", "manifest.json"])
def test_a_missing_file_is_named(directory, name):
    (directory / name).unlink()
    with pytest.raises(BundleError, match=rf"{name}: No such file or directory"):
        read_bundle(directory)


def test_a_missing_key_is_named(directory):
    (directory / "manifest.json").write_text(json.dumps({**MANIFEST, "regimes": [{"name": "x"}]}))
    with pytest.raises(BundleError, match=r"manifest.json has no key 'launches'"):
        read_bundle(directory)


@pytest.mark.parametrize(
    "other", [[], None, {"regimes": 3}, {"regimes": [1]}, {**MANIFEST, "arguments": 1}]
)
def test_what_is_no_manifest_is_told(directory, other):
    (directory / "manifest.json").write_text(json.dumps(other))
    with pytest.raises(BundleError, match=r"manifest.json is no manifest: "):
        read_bundle(directory)


def test_a_broken_manifest_is_told(directory):
    (directory / "manifest.json").write_text("{")
    with pytest.raises(BundleError, match=r"manifest.json is not JSON: "):
        read_bundle(directory)
