"""Random kernels: what is proved for all sizes goes wrong in no program of any small call."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proving"))

from fuzz import RULES  # noqa: E402
from fuzzing import check, outcomes, table  # noqa: E402


def test_a_few_random_kernels(tmp_path):
    seen = check(1, 3 * len(RULES), tmp_path)
    whole = outcomes(seen)
    assert whole["proved"] > 10 and whole["wrong"] > 10, table(seen)
    assert sum(whole.values()) == 3 * len(RULES)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 8))
def test_many_random_kernels(seed, tmp_path):
    seen = check(seed, 8 * len(RULES), tmp_path)
    whole = outcomes(seen)
    assert whole["proved"] > 40 and whole["wrong"] > 40, table(seen)
    assert all(any(seen[name, one] for one in ("proved", "unknown")) for name in RULES), table(seen)
    changed = sum(count for (name, _), count in seen.items() if name == "changed once more")
    assert changed > 20
