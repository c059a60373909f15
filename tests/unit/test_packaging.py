"""The wheel: what it carries, and that it works where there is no checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

SPEC = "specs/norm/rms_odd.yaml"


def run(*command: str | Path, cwd: Path) -> str:
    """What the command printed on stdout; the test fails with its whole output when it fails."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env = {**own, "KGEN_CACHE": str(cwd / "cache")}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command} exited {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout with the build backend that the lock pins."""
    target = tmp_path_factory.mktemp("wheel")
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", target)
    run(sys.executable, "-m", "pip", "wheel", *options, root, cwd=target)
    (built,) = target.glob("kgen-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of a new environment that holds the wheel; its dependencies come from this one."""
    home = tmp_path_factory.mktemp("elsewhere")
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    run(
        *(sys.executable, "-m", "pip", "--python", python),
        *("install", "--quiet", "--no-deps", "--no-index", wheel),
        cwd=home,
    )
    purelib = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home)
    # a plain path line: path files over there, such as an editable checkout's, are not followed
    Path(purelib.strip(), "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return home / "bin"


def test_the_wheel_carries_every_module_data_file_template_and_the_schema(root: Path, wheel: Path):
    def under(folder: str, prefix: str, *suffixes: str) -> set[str]:
        files = (root / folder).rglob("*")
        return {prefix + p.relative_to(root).as_posix() for p in files if p.suffix in suffixes}

    expected = under("kgen", "", ".py", ".yaml")
    expected |= under("templates", "kgen/_data/", ".j2", ".yaml")
    expected |= {"kgen/_data/kgen.schema.json"}
    carried = set(zipfile.ZipFile(wheel).namelist())
    assert expected - carried == set()
    strangers = {name for name in carried if not name.startswith(("kgen/", "kgen-"))}
    assert strangers == set()


def test_a_wheel_of_the_same_tree_has_the_same_names_and_no_caches(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    assert len(names) == len(set(names))
    assert [n for n in names if "__pycache__" in n or n.endswith(".pyc")] == []


def test_outside_the_checkout_kgen_is_the_wheel_and_finds_its_own_data(installed: Path):
    program = (
        "import kgen, kgen.paths as p; "
        "print(kgen.__file__, p.templates_dir(), p.schema_path(), sep='\\n'); "
        "assert p.templates_dir().is_dir() and p.schema_path().is_file()"
    )
    places = run(installed / "python", "-c", program, cwd=installed).splitlines()
    assert [place for place in places if not place.startswith(str(installed.parent))] == []


def test_outside_the_checkout_a_spec_renders_to_the_same_bytes(
    root: Path, installed: Path, tmp_path: Path
):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    run(sys.executable, "-m", "kgen", "render", root / SPEC, "-o", here, cwd=here)
    run(installed / "kgen", "render", root / SPEC, "-o", there, cwd=installed)
    rendered = sorted(p.relative_to(there) for p in there.rglob("*.py"))
    assert [p.name for p in rendered] == ["submission.py"]
    assert [(there / p).read_bytes() for p in rendered] == [
        (here / p).read_bytes() for p in rendered
    ]


def test_the_dependencies_that_rendering_needs_leave_out_torch_and_triton():
    required = distribution("kgen").requires or []
    plain = {r for r in required if "extra ==" not in r}
    assert {r for r in plain if r.startswith(("torch", "triton", "numpy"))} == set()
    assert "black==26.10.1" in plain


def test_the_lock_pins_every_dependency_exactly_and_satisfies_each_bound(root: Path):
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    lines = (root / "requirements-dev.lock").read_text().splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    locked = {}
    for pin in pins:
        (specifier,) = pin.specifier
        assert specifier.operator == "==" and "+" not in specifier.version, f"{pin} is no plain pin"
        locked[canonicalize_name(pin.name)] = specifier.version
    for requirement in map(Requirement, distribution("kgen").requires or []):
        name = canonicalize_name(requirement.name)
        assert name in locked, f"{requirement} is not in the lock"
        assert requirement.specifier.contains(locked[name]), f"{requirement}, locked {locked[name]}"
