"""`kgen.diff.subjects` and `revision`: what an argument names, and what is said where it names nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.diff.every import every
from kgen.diff.subjects import Reader

SPEC = "specs/norm/rms_4096.yaml"
BUNDLE = "generated/norm/rms_4096"


@pytest.fixture(scope="module")
def repository(root, tmp_path_factory) -> Path:
    """A repository with two commits: a spec, its base and its generated files, then other rows and a new file."""
    home = tmp_path_factory.mktemp("repository")
    for name in (SPEC, BUNDLE):
        copy = shutil.copytree if (root / name).is_dir() else shutil.copy
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        copy(root / name, home / name)
    (home / "specs/norm/few.yaml").write_text(
        "extends: rms_4096.yaml\nname: few\naxes: {H: {const: 2048, doc: columns}}\n"
    )
    _git(home, "init", "--quiet")
    _commit(home, "one")
    text = (home / SPEC).read_text()
    (home / SPEC).write_text(text.replace("launch: {num_warps: 8}", "launch: {num_warps: 4}"))
    _commit(home, "two")
    return home


def _git(home: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=home, check=True, capture_output=True)


def _commit(home: Path, message: str) -> None:
    _git(home, "add", "--all")
    _git(home, "commit", "--quiet", "--message", message)


@pytest.fixture
def reader(repository, tmp_path, cache, monkeypatch) -> Reader:
    monkeypatch.chdir(repository)
    monkeypatch.setenv("KGEN_CACHE", str(cache))
    return Reader(tmp_path / "scratch")


def said(call, *arguments) -> str:
    """The one message of an error."""
    with pytest.raises(KgenError) as error:
        call(*arguments)
    (one,) = error.value.diagnostics
    return str(one)


def test_a_spec_is_rendered_with_its_changes(reader):
    (side,) = reader.read(SPEC, ["regimes.rows.launch.num_warps=16"]).sides.values()
    assert side.label == f"{SPEC} --set regimes.rows.launch.num_warps=16"
    assert "num_warps=16" in side.text
    assert side.document["regimes"][0]["launch"] == {"num_warps": 16}


def test_a_spec_of_a_revision_is_rendered_as_it_was(reader):
    before, now = (reader.read(name).sides[""] for name in (f"HEAD~1:{SPEC}", SPEC))
    assert (before.document["regimes"][0]["launch"], now.document["regimes"][0]["launch"]) == (
        {"num_warps": 8},
        {"num_warps": 4},
    )
    assert "num_warps=8" in before.text


def test_what_a_spec_of_a_revision_extends_is_of_that_revision(reader):
    (side,) = reader.read("HEAD~1:specs/norm/few.yaml").sides.values()
    assert side.document["regimes"][0]["launch"] == {"num_warps": 8}
    assert side.document["name"] == "few"


def test_a_bundle_is_named_by_its_folder_or_its_file(reader):
    folder, file = (reader.read(name) for name in (BUNDLE, f"{BUNDLE}/submission.py"))
    assert folder.sides[""].text == file.sides[""].text
    assert file.sides[""].manifest["spec"]["name"] == "rms_4096"


@pytest.mark.parametrize("name", ["generated", "HEAD:generated", "HEAD~1:./generated", "HEAD:"])
def test_a_folder_holds_its_bundles_by_path(reader, name):
    subject = reader.read(name)
    assert subject.folder
    assert [key.removeprefix("generated/") for key in subject.sides] == ["norm/rms_4096"]


def test_a_path_of_a_revision_may_count_from_here(reader, repository, monkeypatch):
    monkeypatch.chdir(repository / "specs")
    (side,) = reader.read("HEAD:./norm/rms_4096.yaml").sides.values()
    (other,) = reader.read("HEAD:../specs/norm/rms_4096.yaml").sides.values()
    assert side.text == other.text


def test_a_file_of_a_revision_has_its_manifest(reader):
    (side,) = reader.read(f"HEAD:{BUNDLE}/submission.py").sides.values()
    assert side.manifest is not None and side.note == ""


def test_a_file_that_was_edited_has_no_manifest_and_says_so(reader, tmp_path):
    shutil.copytree(BUNDLE, tmp_path / "edited")
    with open(tmp_path / "edited/submission.py", "a") as file:
        file.write("# by hand\n")
    (side,) = reader.read(str(tmp_path / "edited")).sides.values()
    assert (side.manifest, side.note) == (None, "it was edited after it was rendered")


def test_a_file_of_somebody_else_has_none_either(reader, tmp_path):
    (tmp_path / "own.py").write_text("def run(x):\r\n    return x\r\n")
    (side,) = reader.read(str(tmp_path / "own.py")).sides.values()
    assert (side.manifest, side.note) == (None, "no manifest.json lies beside it")
    assert side.text == "def run(x):\n    return x\n"


def test_a_manifest_of_another_kgen_is_said_to_be_one(reader, tmp_path):
    shutil.copytree(BUNDLE, tmp_path / "old")
    path = tmp_path / "old/manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["signatures"]
    path.write_text(json.dumps(manifest))
    (side,) = reader.read(str(tmp_path / "old")).sides.values()
    assert (side.manifest, side.note) == (
        None,
        "its manifest.json, of another kgen, has no signatures",
    )


def test_nothing_of_a_name(reader):
    told = said(reader.read, "nowhere")
    assert told.startswith("nowhere: KG180: there is no such file or folder")
    assert "REV:PATH such as HEAD:generated" in told


@pytest.mark.parametrize("name", ["nope", "--output=x", "HEAD~9", ""])
def test_no_such_revision(reader, name):
    told = said(reader.revision, name)
    assert told.startswith(f"{name}: KG181: the repository has no such revision")


def test_a_shallow_clone_is_called_one(reader, repository, tmp_path, monkeypatch):
    clone = tmp_path / "clone"
    _git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{repository}", str(clone))
    monkeypatch.chdir(clone)
    assert "`git fetch --unshallow` gets the rest" in said(reader.read, "HEAD~1:generated")


def test_no_such_path_in_a_revision(reader):
    told = said(reader.read, "HEAD:specs/norm/rms_496.yaml")
    assert told.startswith(
        "HEAD:specs/norm/rms_496.yaml: KG182: the revision HEAD has no such path"
    )
    assert "did you mean specs/norm/rms_4096.yaml?" in told
    assert "`git ls-tree -r --name-only HEAD` lists all" in said(reader.read, "HEAD:xyz")


def test_a_link_and_a_submodule_of_a_revision_are_called_so(reader, repository):
    commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=repository, text=True)
    (repository / "specs/links").mkdir()
    (repository / "specs/links/link.yaml").symlink_to("../norm/rms_4096.yaml")
    _git(repository, "add", "--all")
    _git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit.strip()},sub")
    _git(repository, "commit", "--quiet", "--message", "links")
    try:
        told = said(reader.read, "HEAD:specs/links/link.yaml")
        assert "KG182: specs/links/link.yaml is a link in the revision HEAD" in told
        told = said(reader.read, "HEAD:sub/generated")
        assert "HEAD:sub: KG182: sub is a submodule in the revision HEAD" in told
        assert "run kgen inside sub" in told
        assert not [name for name, a, b in every(reader, "HEAD").pairs() if (a and b) is None]
    finally:
        _git(repository, "reset", "--quiet", "--hard", "HEAD~1")


def test_no_repository(reader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    told = said(reader.read, "HEAD:generated")
    assert "KG181: git cannot be asked for a revision: not a git repository" in told


def test_no_git(reader, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "KG181: git cannot be asked for a revision: there is no `git` on the PATH" in said(
        reader.read, "HEAD:generated"
    )


def test_a_file_that_does_not_parse_is_shown_where(reader, tmp_path):
    (tmp_path / "broken.py").write_text("def run(x):\n    return x +\n")
    told = said(reader.read, str(tmp_path / "broken.py"))
    assert told.startswith(f"{tmp_path}/broken.py:2:")
    assert (
        "KG183: this is neither a spec nor a Python file that can be read: invalid syntax" in told
    )
    assert "2 |     return x +" in told


@pytest.mark.parametrize("content", [b"\xff\xfe\x00x", b"x = '\x00'"])
def test_a_file_that_is_no_text_is_refused(reader, tmp_path, content):
    (tmp_path / "binary.py").write_bytes(content)
    assert "KG183: this is neither a spec nor" in said(reader.read, str(tmp_path / "binary.py"))


def test_a_folder_without_anything_generated(reader):
    assert said(reader.read, "HEAD:specs").startswith(
        "HEAD:specs: KG184: no submission.py lies in this folder"
    )
    assert said(reader.read, "specs").startswith(
        "specs: KG184: no submission.py lies in this folder"
    )


def test_a_spec_of_a_revision_with_a_problem_is_named_as_git_names_it(reader, repository):
    (repository / "specs/norm/bad.yaml").write_text("kgen: 1\nname: bad\nfamily: nrom\n")
    _commit(repository, "bad")
    try:
        with pytest.raises(KgenError) as error:
            reader.read("HEAD:specs/norm/bad.yaml")
        assert {one.place.file for one in error.value.diagnostics} == {"HEAD:specs/norm/bad.yaml"}
    finally:
        (repository / "specs/norm/bad.yaml").unlink()
        _git(repository, "reset", "--quiet", "--hard", "HEAD~1")


def test_a_spec_whose_plan_is_refuted_is_not_compared(reader):
    assert "KG420" in said(reader.read, SPEC, ["axes.H.const=1000000"])


def test_every_spec_is_compared_with_its_file_of_the_revision(reader):
    found = every(reader, "HEAD")
    assert not found.failed
    rows = {name: (a.label, b.label) for name, a, b in found.pairs()}
    assert rows["norm/rms_4096"] == (f"HEAD:{BUNDLE}", SPEC)
    assert rows["norm/few"] == ("HEAD:specs/norm/few.yaml", "specs/norm/few.yaml")


def test_a_spec_that_is_broken_now_takes_its_old_file_with_it(reader, repository):
    text = (repository / SPEC).read_text()
    (repository / SPEC).write_text(text.replace("family: norm", "family: nrom"))
    try:
        found = every(reader, "HEAD")
        assert len(found.failed) == 2  # the spec, and the one that extends it
        assert "norm/rms_4096" not in {name for name, _, _ in found.pairs()}
    finally:
        (repository / SPEC).write_text(text)
