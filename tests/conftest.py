"""What every test shares: markers from folders, a GPU test never counted without a GPU, and one hypothesis profile."""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
NEEDS = ("interpret", "compile", "gpu")

# Examples are the same on every run and machine: a red test is red again when it is run alone.
hypothesis.settings.register_profile("kgen", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("kgen")


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


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT
