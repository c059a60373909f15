"""Evidence of a proof, written by `kgen prove -o` and followed again by `kgen recheck`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

SPEC = "specs/norm/rms_odd.yaml"
BUNDLE = "generated/norm/rms_odd"


@pytest.fixture
def bundle(tmp_path, root, kgen):
    """A bundle with its evidence."""
    folder = tmp_path / "bundle"
    shutil.copytree(root / BUNDLE, folder)
    told = kgen(
        "prove", folder / "submission.py", "--spec", root / SPEC, "-o", folder / "proof.json"
    )
    assert told.code == 0 and told.out.endswith(f"wrote {folder / 'proof.json'}\n")
    return folder


def test_evidence_says_what_it_belongs_to_and_is_confirmed(kgen, bundle):
    manifest = json.loads((bundle / "manifest.json").read_text())
    told = kgen("recheck", bundle / "proof.json")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith(f"rms_odd: core {manifest['core_sha256'][:16]}, spec ")
    assert f"compared with {bundle / 'submission.py'}" in told.out
    said = json.loads(kgen("recheck", bundle / "proof.json", "--json").out)
    assert said["ok"] and said["core_sha256"] == manifest["core_sha256"]
    assert said["certificates"] > 10 and said["obligations"]["with certificates"] > 5
    assert set(said["obligations"]) == {"proved", "with certificates"}
    evidence = json.loads((bundle / "proof.json").read_text())
    bounds = [one for one in evidence["obligations"] if one["subject"] == "bounds"]
    assert len(bounds) == 3 and all(one["certificates"] for one in bounds)
    once = [one for one in evidence["obligations"] if one["subject"] == "exactly once"]
    assert once and all(one["certificates"] for one in once)


def test_it_is_followed_without_triton_torch_and_the_search(bundle, root):
    program = (
        "import sys\n"
        "for name in ('triton', 'torch', 'kgen.prove.world', 'kgen.prove.frontend'):\n"
        "    sys.modules[name] = None\n"
        "import kgen.algebra.verdict\n"
        "kgen.algebra.verdict.prove = None  # the search\n"
        "sys.argv = ['kgen', 'recheck', sys.argv[1]]\n"
        "from kgen.cli import main\nmain()\n"
    )
    command = [sys.executable, "-c", program, str(bundle / "proof.json")]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "certificates confirmed" in done.stdout


def test_a_changed_file_is_named_and_a_changed_comment_is_not(kgen, bundle):
    path = bundle / "submission.py"
    text = path.read_text()
    path.write_text("# a comment\n" + text)
    assert kgen("recheck", bundle / "proof.json").code == 0
    path.write_text(text.replace("o_h < H", "o_h <= H"))
    told = kgen("recheck", bundle / "proof.json")
    assert told.code == 1 and "KG822: the core of the file is not what was proved" in told.err
    other = bundle / "other.py"
    other.write_text(text)
    assert kgen("recheck", bundle / "proof.json", "--file", other).code == 0


def test_a_changed_certificate_is_named_with_the_statement_that_rests_on_it(kgen, bundle):
    path = bundle / "proof.json"
    document = json.loads(path.read_text())
    bounds = next(one for one in document["obligations"] if one["subject"] == "bounds")
    name = bounds["certificates"][0]
    space = next(one for one in document["spaces"] if name in one["names"])
    certificate = space["certificates"][space["names"].index(name)]
    space["polynomials"].append([[12345]])
    space["formulas"].append(["AtLeast", len(space["polynomials"]) - 1])
    certificate[1] = len(space["formulas"]) - 1
    path.write_text(json.dumps(document))
    told = kgen("recheck", path)
    assert told.code == 1
    assert "KG823: the evidence was changed after it was made" in told.err
    assert f"rms_kernel: bounds: {bounds['says']} is not proved: 1 of " in told.err


def test_evidence_of_a_refuted_file_says_so(kgen, bundle, root):
    path = bundle / "submission.py"
    path.write_text(path.read_text().replace("o_h < H", "o_h <= H"))
    assert kgen("prove", path, "--spec", root / SPEC, "-o", bundle / "proof.json").code == 1
    told = kgen("recheck", bundle / "proof.json")
    assert (
        told.code == 1
        and "KG825: rms_kernel: bounds: load x[t, h] stays inside is refuted" in told.err
    )
    assert "KG822" not in told.err


def test_what_is_no_python_leaves_no_evidence(kgen, tmp_path, root):
    path = tmp_path / "broken.py"
    path.write_text("def (:\n")
    told = kgen("prove", path, "--spec", root / SPEC, "-o", tmp_path / "proof.json")
    assert told.code == 1 and "Traceback" not in told.err
    assert not (tmp_path / "proof.json").exists()


def test_a_missing_proof_is_wrong_use(kgen, tmp_path):
    assert kgen("recheck", tmp_path / "none.json").code == 2
