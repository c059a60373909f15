"""Search strategies: none asks twice, all come to an end, and their replay on a store is the same every time."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.sweep.drive import Sweep
from kgen.sweep.race import Rules, Standing, in_question, next_rung, standing
from kgen.sweep.replay import replay
from kgen.sweep.search import STRATEGIES, Option, Tpe, strategy
from kgen.sweep.state import Plan
from kgen.sweep.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "sweep"))

from fields import PLACE, TIMING, Script, entrant, field  # noqa: E402


def options() -> list[Option]:
    """A space with a gap: not every product of values is in it."""
    found = []
    for tile, warps, stages in itertools.product((16, 64, 128), (4, 8), (2, 4)):
        if tile * stages < 512:
            values = {"tile.BLOCK_N": tile, "launch.num_warps": warps, "launch.num_stages": stages}
            one = tuple(sorted({**values, "variant": "split_k"}.items()))
            found.append(Option(one, abs(tile - 60) + warps + stages / 8))
    return [*found, Option((("tile.BLOCK_M", 16), ("variant", "generic")), 500.0)]


def asked(name: str, seed: int = 0, answer=lambda index: -float(index)) -> list[int]:
    """What a strategy asks for, in its order."""
    searching, order = strategy(name, options(), seed), []
    while (index := searching.ask()) is not None:
        order.append(index)
        searching.tell(index, answer(index))
    return order


@pytest.mark.parametrize("name", STRATEGIES)
def test_each_candidate_is_asked_for_once(name):
    assert sorted(asked(name)) == list(range(len(options())))


@pytest.mark.parametrize("name", STRATEGIES)
def test_one_seed_gives_one_order(name):
    assert asked(name, 3) == asked(name, 3)


@pytest.mark.parametrize("name", ["random", "tpe"])
def test_another_seed_gives_another_order(name):
    assert asked(name, 3) != asked(name, 4)


def test_the_exhaustive_one_goes_by_estimate():
    estimates = [options()[index].estimate for index in asked("exhaustive")]
    assert estimates == sorted(estimates)


@pytest.mark.parametrize("name", STRATEGIES)
def test_what_is_known_is_not_asked_for(name):
    searching = strategy(name, options(), 0)
    known = range(0, len(options()), 2)
    for index in known:
        searching.know(index, None if index == 4 else 1.0)
    left = [searching.ask() for _ in range(len(options()) - len(known))]
    assert sorted(left) == [index for index in range(len(options())) if index % 2]
    assert searching.ask() is None


def test_all_candidates_that_fail_are_no_end():
    assert len(asked("tpe", answer=lambda index: None)) == len(options())


def test_a_small_space_is_searched_exhaustively_and_a_large_one_is_not():
    assert not isinstance(strategy("auto", options(), 0), Tpe)
    many = [Option((("tile.N", n), ("variant", "toy")), 1.0) for n in range(300)]
    assert isinstance(strategy("auto", many, 0), Tpe)


def test_tpe_finds_a_good_one_sooner_than_chance():
    """On a bowl of 1,600 candidates whose estimates tell nothing."""
    names = ("launch.A", "launch.B", "tile.C", "tile.D")
    axes = (range(8), range(8), range(5), range(5))
    space = [
        Option((*zip(names, point), ("variant", "toy")), 1.0) for point in itertools.product(*axes)
    ]

    def slowness(index: int) -> int:
        return sum(
            (value - best) ** 2
            for (_, value), best in zip(space[index].settings, (6, 2, 3, 1), strict=False)
        )

    def needed(name: str, seed: int) -> int:
        searching = strategy(name, space, seed)
        for number in itertools.count(1):
            index = searching.ask()
            if slowness(index) <= 1:
                return number
            searching.tell(index, -float(slowness(index)))

    assert sum(needed("tpe", seed) for seed in (0, 1)) < sum(
        needed("random", seed) for seed in (0, 1)
    )


def test_studies_of_one_storage_propose_together(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    first, second = (strategy("tpe", options(), seed, url) for seed in (0, 1))
    for _ in range(3):
        index = first.ask()
        first.tell(index, 1.0)
    assert second.ask() is not None
    assert len(second._study.trials) >= 4


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A store in which thirty candidates were measured; the estimates are in the wrong order."""
    store = Store(tmp_path_factory.mktemp("replay") / "store.sqlite")
    entrants = [
        entrant(n, 1.0 + abs(n - 20), estimates={"short": float(n), "long": 1.0}) for n in range(29)
    ]
    crew = Script().crew()
    Sweep(field(*entrants, entrant(29, 1.0, "wrong")), store, crew, TIMING, Plan()).run(PLACE)
    crew.close()
    yield store
    store.close()


def test_a_replay_needs_no_gpu_and_is_the_same_every_time(recorded):
    once, again = list(replay(recorded, 7)), list(replay(recorded, 7))
    assert [one.trials for one in once] == [one.trials for one in again]
    assert {one.strategy: one.candidates for one in once} == dict.fromkeys(STRATEGIES, 30)


def test_a_replay_counts_until_within_one_percent_of_the_best(recorded):
    trials = {one.strategy: one.trials for one in replay(recorded, 0)}
    # the 21st by its estimate, and the wrong one costs a trial too
    assert trials["exhaustive"] == 22
    assert all(1 <= number <= 30 for number in trials.values())


def test_a_store_without_results_has_nothing_to_replay(tmp_path):
    assert list(replay(Store(tmp_path / "s.sqlite"), 0)) == []


LOGS = st.lists(st.floats(-1, 1), min_size=5, max_size=12)


@settings(max_examples=60)
@given(st.lists(st.lists(LOGS, min_size=2, max_size=2), min_size=1, max_size=6))
def test_the_best_is_always_in_question_and_a_race_ends(every):
    standings = {number: standing(logs) for number, logs in enumerate(every)}
    best = max(standings, key=lambda number: standings[number].log)
    left = in_question(standings)
    assert standings[left[0]].log == standings[best].log
    assert all(standings[number].high >= standings[left[0]].low for number in left)
    rules, made, rungs = Rules(), 5, 0
    while (rung := next_rung(standings, made, rules))[0]:
        assert rung[1] > made
        made, rungs = rung[1], rungs + 1
    assert made <= rules.most and rungs <= 4


def test_a_race_ends_where_more_rounds_would_tell_nothing():
    narrow = {name: Standing(0.0, 0.001) for name in "ab"}
    assert next_rung(narrow, 5, Rules()) == ([], 5)
    wide = {"a": Standing(0.0, 0.1), "b": Standing(0.05, 0.1), "c": Standing(-1.0, 0.1)}
    assert next_rung(wide, 5, Rules()) == (["b", "a"], 10)
    assert next_rung(wide, 40, Rules(most=60)) == (["b", "a"], 60)
    assert next_rung(wide, 60, Rules(most=60)) == ([], 60)
