"""Order between programs: the last-block reduction and its mutants, dependent launches, order of
programs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgen.prove.replay.model import Launch, Pointer
from kgen.prove.replay.run import run_grid

LAST_BLOCK = """
    p = tl.program_id(0)
    i = tl.arange(0, 4)
    tl.store(part + p * 4 + i, 1.0)
    tl.debug_barrier()
    t = tl.atomic_add(count, 1, sem="acq_rel", scope="gpu")
    if t == P - 1:
        for q in range(P):
            tl.load(part + q * 4 + i)
        tl.store(o + i, 1.0)
        tl.atomic_xchg(count, 0)
"""


@pytest.fixture
def last_block(kernel, tensor):
    def make(old: str = "", new: str = "", body: str = LAST_BLOCK, programs: int = 3):
        assert old in body
        return kernel(
            body.replace(old, new, 1) if old else body,
            tensor("part", "fp32", programs, 4, role="scratch"),
            tensor("count", "i32", 1, role="state", values=[0]),
            tensor("o", "fp32", 4, role="output"),
            constants={"P": programs},
            grid=(programs,),
        )

    return make


def test_the_last_block_reduction_is_clean_in_either_order_of_its_programs(last_block):
    assert last_block().findings() == []
    assert last_block().findings(backwards=True) == []


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("tl.debug_barrier()", "pass", "no barrier stands between line "),
        ('sem="acq_rel"', 'sem="relaxed"', "is relaxed and does not release"),
        ('sem="acq_rel"', 'sem="acquire"', "is acquire and does not release"),
        ('sem="acq_rel"', 'sem="release"', "is release and does not acquire"),
        ('scope="gpu"', 'scope="cta"', "orders nothing beyond its own block"),
    ],
)
def test_without_barrier_release_acquire_or_scope_the_partial_sums_are_unordered(
    last_block, old, new, reason
):
    findings = last_block(old, new).findings()
    assert {finding.kind for finding in findings} == {"unordered"}
    assert "reads part[i=0, j=0], written by program (0, 0, 0), and nothing orders the two" in (
        findings[0].text
    )
    assert reason in findings[0].text
    assert " of program (0, 0, 0) may reach memory after line " in findings[0].text


def test_a_barrier_after_the_counter_is_none_before_it(last_block):
    swapped = LAST_BLOCK.replace("    tl.debug_barrier()\n", "", 1)
    swapped = swapped.replace("    if t ==", "    tl.debug_barrier()\n    if t ==")
    assert last_block(body=swapped).kinds() == {"unordered"}


def test_a_counter_that_is_not_set_back_is_left_changed(last_block):
    (found,) = last_block("        tl.atomic_xchg(count, 0)\n", "").findings()
    assert found.kind == "left changed"


def test_a_reset_by_an_ordinary_store_is_ordered_after_the_last_ticket(last_block):
    assert last_block("tl.atomic_xchg(count, 0)", "tl.store(count, 0)").findings() == []


def test_a_reset_before_the_others_have_counted_is_unordered(last_block):
    body = "    if tl.program_id(0) == 0:\n        tl.store(count, 0)\n" + LAST_BLOCK.lstrip("\n")
    kinds = last_block(body="\n" + body).kinds()
    assert "unordered" in kinds


def test_the_last_program_by_number_is_not_the_last_to_end(last_block):
    subject = last_block("if t == P - 1", "if p == P - 1")
    assert subject.kinds() == set()
    assert "uninitialised" in subject.kinds(backwards=True)


def test_reading_without_a_ticket_is_unordered(last_block):
    body = """
        p = tl.program_id(0)
        tl.store(part + p * 4 + tl.arange(0, 4), 1.0)
        tl.load(part + tl.arange(0, 4))
    """
    assert "unordered" in last_block(body=body).kinds()


def test_what_a_first_counter_has_ordered_a_second_passes_on(kernel, tensor):
    body = """
        p = tl.program_id(0)
        g = p // 2
        tl.store(part + p, 1.0)
        tl.debug_barrier()
        if tl.atomic_add(first + g, 1) == 1:
            tl.atomic_xchg(first + g, 0)
            if tl.atomic_add(second, 1) == 1:
                tl.load(part + tl.arange(0, 4))
                tl.atomic_xchg(second, 0)
    """
    tensors = (
        tensor("part", "fp32", 4, role="scratch"),
        tensor("first", "i32", 2, role="state", values=[0, 0]),
        tensor("second", "i32", 1, role="state", values=[0]),
    )
    assert kernel(body, *tensors, grid=(4,)).findings() == []
    weak = body.replace("atomic_add(second, 1)", 'atomic_add(second, 1, sem="relaxed")')
    assert kernel(weak, *tensors, grid=(4,)).kinds() == {"unordered"}


# ---------------------------------------------------------------- launches


@pytest.fixture
def two_launches(kernel, tensor):
    """A launch that fills scratch, and one that reads it."""

    def make(reader: str, *, dependent: bool):
        before = "@triton.jit\ndef fill(s):\n    tl.store(s + tl.program_id(0), 1.0)\n\n\n"
        subject = kernel(
            reader,
            tensor("s", "fp32", 4, role="scratch"),
            tensor("o", "fp32", 4, role="output"),
            grid=(4,),
            before=before,
        )
        fill = Launch("fill", {"s": Pointer("s")}, (4, 1, 1))
        read = replace(subject.instance.launches[0], dependent=dependent)
        instance = replace(subject.instance, launches=(fill, read))
        return [finding.kind for finding in run_grid(subject.source, instance).findings()]

    return make


READ = "p = tl.program_id(0)\n{}tl.load(s + p)\n{}tl.store(o + p, 1.0)"
WAIT = "tl.extra.cuda.gdc_wait()\n"


def test_a_launch_sees_what_the_launch_before_has_written(two_launches):
    assert two_launches(READ.format("", ""), dependent=False) == []


def test_a_dependent_launch_sees_it_only_after_its_wait(two_launches):
    assert two_launches(READ.format(WAIT, ""), dependent=True) == []
    assert two_launches(READ.format("", WAIT), dependent=True) == ["unordered"] * 4
    assert two_launches(READ.format("", ""), dependent=True) == ["unordered"] * 4
