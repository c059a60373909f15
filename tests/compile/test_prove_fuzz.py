"""Random kernels: what is proved for all sizes goes wrong in no program of any small call."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proving"))

from fuzz import RULES  # noqa: E402
from fuzzing import Seen, check, outcomes, table  # noqa: E402


def test_a_few_random_kernels(tmp_path):
    seen = check(1, 3 * len(RULES), tmp_path)
    whole = outcomes(seen)
    assert whole["proved"] > 10 and whole["wrong"] > 10, table(seen)
    assert sum(whole.values()) == 3 * len(RULES)


@pytest.mark.full
def test_many_random_kernels_of_every_rule(tmp_path):
    seen: Seen = Counter()
    for seed in range(2, 8):
        seen += check(seed, 8 * len(RULES), tmp_path)
    for name in RULES:
        assert seen[name, "proved"] and seen[name, "wrong"], f"{name}\n{table(seen)}"
    changed = sum(count for (name, _), count in seen.items() if name == "changed once more")
    assert changed > 200
