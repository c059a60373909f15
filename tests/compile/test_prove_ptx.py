"""Order of memory accesses in what Triton makes of last-block reductions and dependent launches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import triton
from triton.compiler import ASTSource

from kgen.algebra import Status
from kgen.compile.loading import load
from kgen.compile.standin import gpu_target, stand_in
from kgen.devices import target as find_target
from kgen.prove.ptx import OrderFacts, dependent_order, last_block_order, order_facts

KERNELS = Path(__file__).with_name("kernels") / "last_block.py"
BARRIER, RELEASE, ACQUIRE, RESET = range(4)
PROVED, REFUTED, UNKNOWN = Status.PROVED, Status.REFUTED, Status.UNKNOWN


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory) -> Iterator[None]:
    """Triton's own cache, apart from the user's."""
    with triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(tmp_path_factory.mktemp("triton"))
        yield


def text_of(function: str, target: str = "sm_90", **changes: int) -> str:
    """The PTX or AMD assembly of a kernel of `last_block.py`."""
    found = find_target(target)
    with stand_in(found):
        kernel = getattr(load(KERNELS, target), function)
        names = kernel.arg_names
        constants = {"PARTS": 8, "BLOCK": 512, **changes}
        constants = {name: constants[name] for name in names if name in constants}
        types = {name: "*i32" if name == "p_count" else "*fp32" for name in names}
        source = ASTSource(
            fn=kernel,
            signature=types | dict.fromkeys(constants, "constexpr"),
            constexprs=constants,
            attrs={(i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if n[:2] == "p_"},
        )
        compiled = triton.compile(source, target=gpu_target(found), options={"num_warps": 4})
    return compiled.asm["ptx" if found.backend == "cuda" else "amdgcn"]


def facts_of(function: str, target: str = "sm_90", **changes: int) -> OrderFacts:
    return order_facts(text_of(function, target, **changes))


def statuses(function: str, target: str = "sm_90") -> list[Status]:
    return [one.status for one in last_block_order(facts_of(function, target))]


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_an_honest_last_block_reduction_is_proved_with_its_lines(target):
    text = text_of("honest", target)
    facts = order_facts(text)
    (ticket,) = facts.tickets
    lines = text.splitlines()
    assert "atom.global.gpu.acq_rel.add.u32" in lines[ticket.line - 1]
    assert "st.global" in lines[ticket.reset - 1]
    assert (ticket.parameter, ticket.partials) == (2, (1,))
    assert [one.status for one in last_block_order(facts)] == [PROVED] * 4


@pytest.mark.parametrize(
    ("function", "refuted", "evidence"),
    [
        ("no_barrier", {BARRIER}, "no barrier between it and the store at line"),
        ("relaxed", {RELEASE, ACQUIRE}, "does not release the store at line"),
        ("release_only", {ACQUIRE}, "does not acquire for the load at line"),
        ("cta_scope", {RELEASE, ACQUIRE}, "does not release the store at line"),
        ("no_reset", {RESET}, "nothing is stored to the counter after it"),
    ],
)
def test_each_missing_piece_is_refuted_and_no_other(function, refuted, evidence):
    found = last_block_order(facts_of(function))
    assert {place for place, one in enumerate(found) if one.status is REFUTED} == refuted
    assert all(one.status is PROVED for place, one in enumerate(found) if place not in refuted)
    assert evidence in found[min(refuted)].evidence


@pytest.mark.parametrize("function", ["reset_of_another", "reset_to_one"])
def test_a_store_that_may_not_be_the_reset_is_not_taken_for_it(function):
    assert statuses(function) == [PROVED, PROVED, PROVED, UNKNOWN]


def test_triton_puts_no_barrier_between_stores_and_a_ticket_but_one_behind_it():
    text = text_of("no_barrier")
    before, after = text.split("atom.global")
    assert "bar.sync" not in before and "bar.sync" in after
    (ticket,) = order_facts(text).tickets
    assert ticket.unbarriered_stores and not ticket.unbarriered_loads


def test_an_atomic_after_which_nothing_is_read_is_no_ticket():
    assert facts_of("counts").tickets == ()


def test_on_amd_a_wave_may_carry_its_stores_through_the_barrier():
    assert statuses("honest", "gfx942") == [UNKNOWN, PROVED, PROVED, UNKNOWN]
    text = text_of("honest", "gfx942")
    (ticket,) = order_facts(text).tickets
    assert "store" in text.splitlines()[ticket.in_flight[0] - 1]
    assert statuses("no_barrier", "gfx942")[BARRIER] is REFUTED
    assert statuses("relaxed", "gfx942")[RELEASE : ACQUIRE + 1] == [REFUTED, REFUTED]


def test_a_dependent_launch_that_waits_first_is_proved():
    found = dependent_order(facts_of("waits"))
    assert found.status is PROVED
    assert "griddepcontrol.wait at line" in found.evidence


def test_a_load_before_the_wait_is_refuted_with_its_line():
    text = text_of("waits_after_its_load")
    found = dependent_order(order_facts(text))
    assert found.status is REFUTED
    (load,) = [n for n, line in enumerate(text.splitlines(), 1) if "ld.global" in line]
    assert found.evidence.endswith(f"and line {load} comes before")


def test_what_the_grid_before_does_not_write_may_be_loaded_early():
    facts = facts_of("waits_after_its_load")
    assert dependent_order(facts, written=frozenset({1})).status is PROVED
    assert dependent_order(facts, written=frozenset({0})).status is REFUTED


def test_a_kernel_without_a_wait_is_refuted():
    found = dependent_order(facts_of("never_waits"))
    assert found.status is REFUTED
    assert "nothing waits" in found.evidence
