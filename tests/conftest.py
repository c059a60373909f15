"""What every test shares: markers from folders, a GPU test never counted without a GPU, and one hypothesis profile."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest

from kgen.cli import COLLECTED_AFTER

ROOT = Path(__file__).resolve().parent.parent
NEEDS = ("interpret", "compile", "gpu")

# Examples are the same on every run and machine: a red test is red again when it is run alone.
hypothesis.settings.register_profile("kgen", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("kgen")
gc.set_threshold(COLLECTED_AFTER)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks each test with what its folder under `tests/` says it needs."""
    for item in items:
        folder = item.path.relative_to(ROOT / "tests").parts[0]
        if folder in NEEDS:
            item.add_marker(folder)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a `gpu` test where no GPU is: it is reported as skipped, never as passed."""
    if item.get_closest_marker("gpu") is None:
        return
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a GPU, and torch sees none")


@dataclass(frozen=True)
class Outcome:
    """What one run of `kgen` gave."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """kgen's cache, one for all tests of a process, so that each spec is proved once."""
    return tmp_path_factory.mktemp("kgen-cache")


@pytest.fixture
def kgen(
    cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Runs `kgen` with these arguments in this process, as its console script does."""
    from kgen.cli import main

    monkeypatch.setenv("KGEN_CACHE", str(cache))
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr("sys.argv", ["kgen", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main()
        return Outcome(exited.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT
