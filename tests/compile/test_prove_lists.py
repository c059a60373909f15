"""Elements that a family declares are read exactly once through lists of pages, one behind the other."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proving"))

from subjects import Subject, T, functions_of, parameters_of, world  # noqa: E402

from kgen.algebra import Poly, Status  # noqa: E402
from kgen.prove.facts import EntryOf, Part, Reads, World  # noqa: E402
from kgen.prove.obligations.model import Obligation  # noqa: E402
from kgen.prove.world import prove_world  # noqa: E402

FILE = Path(__file__).with_name("kernels") / "lists.py"
PAGE = 16


def subject(function: str) -> Subject:
    return Subject(
        function,
        {
            "k": T("fp32", "P", "PAGE"),
            "starts": T("int32", "R + 1", entries=(0, "LISTED"), rising=True),
            "pages": T("int32", "LISTED", entries=(0, "P - 1")),
            "lengths": T("int32", "R"),
            "o": T("fp32", "R", role="output"),
        },
        {"R": (1, 1000), "P": (1, 10**6), "LISTED": (1, 10**6)},
        ["R"],
        {"PAGE": PAGE, "B": 64},
    )


def declared(plain: World) -> World:
    """The world, in which each live key of each list is to be read once."""
    space, tensors = plain.space, plain.tensors

    def entry(name: str, at: Poly) -> Poly:
        return space.entry(tensors[name].contents.table, at)

    def bounds(indices, rows):
        b = indices["b"]
        most = (entry("starts", b + 1) - entry("starts", b)) * PAGE
        live = space.minimum(space.maximum(entry("lengths", b), Poly.of(0)), most)
        return {"b": (Poly.of(0), space.named("R")), "p": (Poly.of(0), live)}

    page = Part("p", "quotient", Poly.of(PAGE), EntryOf("starts", (Part("b"),)))
    at = (EntryOf("pages", (page,)), Part("p", "remainder", Poly.of(PAGE)))
    return replace(plain, reads=(Reads("k", ("b", "p"), at, bounds),))


def unproved(function: str) -> list[Obligation]:
    one = subject(function)
    (read,) = functions_of(FILE, [one])
    built = declared(one.world(parameters_of(FILE)[function]))
    found = prove_world(built, "test", [read]).obligations
    assert any(one.says.startswith("k is read exactly once") for one in found)
    return [one for one in found if one.status is not Status.PROVED]


def test_every_live_key_is_read_once_through_its_list():
    assert unproved("through_lists") == []


@pytest.mark.parametrize(
    "function",
    ["from_the_next_list", "one_too_few", "length_not_clamped", "slot_of_another_page_size"],
)
def test_what_reads_others_or_too_few_is_not_proved(function):
    assert unproved(function) != []


# ---------------------------------------------------------------- tables that a kernel makes


def scheduled(make: str, use: str, places: str = "N") -> list[Obligation]:
    """Two launches: one fills a table of rows, the other reads x at these."""
    axes = {"N": (1, 1000), "R": (1, 1000)}
    shared = {"who": T("int32", places, role="scratch")}
    first = Subject(make, {"lengths": T("int32", "R"), **shared}, axes, ["N"])
    reads = {"x": T("fp32", "R"), **shared, "o": T("fp32", "N", role="output")}
    second = Subject(use, reads, axes, ["N"])
    parameters = parameters_of(FILE)
    functions = functions_of(FILE, [first, second])
    built = world([first, second], [parameters[make], parameters[use]])
    found = prove_world(built, "test", functions).obligations
    assert len(found) > 6
    return [one for one in found if one.status is not Status.PROVED]


def test_entries_that_a_kernel_made_are_what_it_stored():
    assert scheduled("make_schedule", "use_schedule") == []


@pytest.mark.parametrize(
    ("make", "use"),
    [
        ("make_schedule", "use_schedule_one_further"),
        ("make_wide_schedule", "use_schedule"),
    ],
)
def test_entries_that_may_be_out_of_range_are_not_proved_to_be_inside(make, use):
    found = scheduled(make, use)
    assert any(one.subject == "bounds" for one in found)
