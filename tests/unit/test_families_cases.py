"""Every regime of a spec has a case, whatever its `when` compares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.families.attention.problem import cases as attention_cases
from kgen.families.cases import edges, unreached
from kgen.families.norm.problem import cases as norm_cases
from kgen.runner.case import Case

HEADS = 8


def regimes(*conditions: str) -> list[dict]:
    plain = {"fallback": False, "aligned": True, "parameters": {"BLOCK_N": 16}}
    found = [{"name": str(n), "when": when, **plain} for n, when in enumerate(conditions)]
    return [*found, {**plain, "name": "rest", "when": "otherwise", "fallback": True}]


def attention(*conditions: str) -> dict:
    return {
        "axes": {
            "B": {"range": [1, 256]},
            "Q": {"values": [1, 8]},
            "HK": {"const": HEADS},
            "G": {"const": 4},
            "D": {"const": 64},
            "PAGES": {"range": [1, 2**20]},
            "CAP": {"range": [1, 2**17]},
            "S": {"range": [0, "CAP"], "runtime": True},
        },
        "outside": "fallback",
        "page": 1,
        "regimes": regimes(*conditions),
        "workloads": {"check": [], "bench": []},
    }


def norm(*conditions: str) -> dict:
    axes = {"T": {"range": [1, 4096]}, "H": {"values": [512, 2880]}}
    return {
        "axes": axes,
        "regimes": regimes(*conditions),
        "workloads": {"check": [], "bench": []},
    }


@pytest.mark.parametrize("mode", ["interpret", "gpu"])
@pytest.mark.parametrize(
    "conditions",
    [
        ("B <= 16", "B > 16"),
        ("Q == 1 and B <= 4", "Q == 1 and 4 < B and B <= 16", "Q > 1 and B >= 200"),
        ("B * HK <= 64", "B * HK <= 640"),
        ("CAP <= 1024", "CAP > 1024 and B < 3", "B >= 3 and CAP >= 4096"),
    ],
)
def test_attention_reaches_each_regime(conditions, mode):
    problem = attention(*conditions)
    found = {case.regime for case in attention_cases(problem, mode)}
    assert found >= {regime["name"] for regime in problem["regimes"]}


@pytest.mark.parametrize("mode", ["interpret", "gpu"])
def test_norm_reaches_each_regime(mode):
    problem = norm("T <= 16", "T > 16 and H == 2880", "H == 512 and T >= 300")
    found = {case.regime for case in norm_cases(problem, mode)}
    assert found >= {"0", "1", "2", "rest"}


def test_what_takes_too_long_in_the_interpreter_has_no_case_there():
    problem = attention("B <= 600", "B > 600")
    problem["axes"]["B"] = {"range": [1, 4096]}
    assert "1" not in {case.regime for case in attention_cases(problem, "interpret")}
    assert "1" in {case.regime for case in attention_cases(problem, "gpu")}


@given(st.sets(st.integers(1, 255), min_size=1, max_size=4), st.booleans())
def test_edges_lie_on_both_sides_of_every_limit(limits, product):
    at = sorted(limits)
    scale = f"B * {HEADS}" if product else "B"
    conditions = [f"{scale} <= {limit * HEADS if product else limit}" for limit in at]
    found = edges(attention(*conditions), "B")
    assert {1, *at, *(limit + 1 for limit in at)} <= set(found)
    assert all(1 <= value <= 256 for value in found)


def test_only_regimes_without_a_case_get_one():
    problem = attention("B <= 16", "B > 16")
    first, *more = [Case(name, {}, {}, "plain", name[0]) for name in ("0", "0b", "1", "1b", "rest")]
    assert list(unreached(problem, [first], more)) == [more[1]]
