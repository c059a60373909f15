"""Order facts from PTX that is written here, for the forms that Triton rarely emits."""

from __future__ import annotations

import pytest

from kgen.algebra import Status
from kgen.prove.ptx import OrderFacts, dependent_order, last_block_order, order_facts

PROVED, REFUTED, UNKNOWN = Status.PROVED, Status.REFUTED, Status.UNKNOWN

HEAD = """
.version 8.7
.target sm_90a
.address_size 64
.visible .entry kernel(
	.param .u64 .ptr .global .align 1 kernel_param_0,
	.param .u64 .ptr .global .align 1 kernel_param_1,
	.param .u32 kernel_param_2
)
.reqntid 128
{
	.reg .pred 	%p<9>;
	.loc	1 6 0                           // a.py:6:0
	ld.param.b64 	%rd1, [kernel_param_0];
	ld.param.b64 	%rd2, [kernel_param_1];
	ld.param.b32 	%r9, [kernel_param_2];
	mov.b32 %r0, 0;
"""
STORE = "st.global.b32 [ %rd1 + 0 ], { %r1 };"
LOAD = "ld.global.b32 { %r2 }, [ %rd1 + 0 ];"
RESET = "st.global.b32 [ %rd2 + 0 ], { %r0 };"
BARRIER = "bar.sync 0;"
TICKET = "@%p1 atom.global.gpu.acq_rel.add.u32 %r3, [ %rd2 + 0 ], %r4;"
RELAXED = TICKET.replace("acq_rel", "relaxed")
FENCE = "fence.acq_rel.gpu;"


def ptx(*body: str) -> str:
    return HEAD + "\n".join((*body, "ret;", "}", "// trailing"))


def facts(*body: str) -> OrderFacts:
    return order_facts(ptx(*body))


def statuses(*body: str) -> list[Status]:
    return [one.status for one in last_block_order(facts(*body))]


def test_the_whole_form_is_proved():
    assert statuses(STORE, BARRIER, TICKET, BARRIER, LOAD, RESET) == [PROVED] * 4


@pytest.mark.parametrize("fence", [FENCE, "fence.sc.sys;", "membar.gl;"])
def test_fences_do_for_a_relaxed_ticket_between_it_and_the_barriers(fence):
    body = (STORE, BARRIER, fence, RELAXED, fence, BARRIER, LOAD, RESET)
    assert statuses(*body) == [PROVED] * 4


@pytest.mark.parametrize(
    "fence", ["fence.acq_rel.cta;", "fence.proxy.async;", "membar.cta;", "@%p1 " + FENCE]
)
def test_a_fence_that_is_too_narrow_or_skipped_does_not(fence):
    body = (STORE, BARRIER, fence, RELAXED, fence, BARRIER, LOAD, RESET)
    assert statuses(*body) == [PROVED, REFUTED, REFUTED, PROVED]


def test_a_fence_on_the_far_side_of_a_barrier_covers_its_own_thread_only():
    body = (STORE, FENCE, BARRIER, RELAXED, BARRIER, FENCE, LOAD, RESET)
    assert statuses(*body) == [PROVED, REFUTED, REFUTED, PROVED]


def test_without_a_barrier_behind_the_ticket_other_threads_run_ahead():
    assert statuses(STORE, BARRIER, TICKET, LOAD, RESET) == [PROVED, PROVED, REFUTED, PROVED]


@pytest.mark.parametrize(
    ("barrier", "status"),
    [
        ("bar.sync 1;", PROVED),
        ("bar.sync 1, 128;", PROVED),
        ("barrier.sync.aligned 0;", PROVED),
        ("barrier.cta.sync 0, 128;", PROVED),
        ("bar.sync 1, 64;", REFUTED),
        ("bar.arrive 1, 128;", REFUTED),
        ("bar.warp.sync 0xffffffff;", REFUTED),
        ("@%p1 bar.sync 0;", REFUTED),
        ("barrier.cluster.wait;", REFUTED),
    ],
)
def test_only_a_barrier_of_all_threads_counts(barrier, status):
    assert statuses(STORE, barrier, TICKET, BARRIER, LOAD, RESET)[0] is status


def test_a_barrier_on_one_of_two_ways_is_not_enough():
    body = (STORE, "@%p2 bra $L1;", BARRIER, "$L1:", TICKET, BARRIER, LOAD, RESET)
    assert statuses(*body)[0] is REFUTED
    both = (STORE, "@%p2 bra $L1;", BARRIER, "bra.uni $L2;", "$L1:", BARRIER, "$L2:")
    assert statuses(*both, TICKET, BARRIER, LOAD, RESET)[0] is PROVED


def test_a_store_of_the_next_turn_reaches_the_ticket_of_a_loop():
    loop = ("$L1:", TICKET, BARRIER, LOAD, RESET, STORE, "@%p2 bra $L1;")
    assert statuses(STORE, BARRIER, *loop)[0] is REFUTED
    mended = (*loop[:-1], BARRIER, loop[-1])
    assert statuses(STORE, BARRIER, *mended)[0] is PROVED


def test_labels_of_inline_assembly_belong_to_their_braces():
    wait = ("{", ".reg .pred done;", "again:", "@!done bra.uni again;", "}")
    body = (STORE, *wait, BARRIER, *wait, TICKET, BARRIER, LOAD, RESET)
    assert statuses(*body) == [PROVED] * 4
    assert facts(*body).problem == ""


def test_a_pointer_that_a_loop_moves_keeps_its_tensor():
    body = ("mov.b64 %rd5, %rd1;", "$L1:", "st.global.b32 [ %rd5 + 0 ], { %r1 };")
    body += ("add.s64 %rd6, %rd5, 16;", "mov.b64 %rd5, %rd6;", "@%p2 bra $L1;")
    (ticket,) = facts(*body, BARRIER, TICKET, BARRIER, LOAD, RESET).tickets
    assert ticket.partials == (0,)


def test_an_index_that_was_loaded_does_not_make_its_table_the_base():
    body = ("ld.global.b32 { %r5 }, [ %rd2 + 0 ];", "mad.wide.s32 %rd5, %r5, 4, %rd1;")
    (ticket,) = facts(
        *body, "st.global.b32 [ %rd5 + 0 ], { %r1 };", BARRIER, TICKET, BARRIER, LOAD
    ).tickets
    assert ticket.partials == (0,)


def test_an_address_that_is_not_followed_may_be_any_tensor():
    store = ("add.s64 %rd5, %rd1, %rd2;", "st.global.b32 [ %rd5 + 0 ], { %r1 };")
    (ticket,) = facts(*store, TICKET, BARRIER, LOAD, RESET).tickets
    assert None in ticket.partials
    assert statuses(*store, TICKET, BARRIER, LOAD, RESET)[0] is REFUTED


def test_the_reset_is_found_by_what_its_address_is_computed_from():
    one = ("mad.wide.u32 %rd5, %r9, 4, %rd2;", TICKET.replace("%rd2", "%rd5"))
    other = ("mad.wide.u32 %rd6, %r9, 4, %rd2;", RESET.replace("%rd2", "%rd6"))
    assert statuses(STORE, BARRIER, *one, BARRIER, LOAD, *other)[3] is PROVED
    far = (other[0].replace(" 4,", " 8,"), other[1])
    assert statuses(STORE, BARRIER, *one, BARRIER, LOAD, *far)[3] is UNKNOWN


def test_copies_without_registers_are_accesses():
    copy = "cp.async.cg.shared.global [ %r7 + 0 ], [ %rd1 + 0 ], 0x10, 0x10;"
    assert statuses(STORE, BARRIER, TICKET, copy, RESET)[2] is REFUTED
    assert facts(copy, "griddepcontrol.wait;").early == {HEAD.count("\n") + 1: 0}
    out = "cp.async.bulk.global.shared::cta.bulk_group [ %rd1 + 0 ], [ %r7 ], %r8;"
    assert statuses(out, TICKET, BARRIER, LOAD, RESET)[0] is REFUTED


def test_what_cannot_be_followed_is_unknown():
    jump = "brx.idx %r1, $table;"
    body = (STORE, BARRIER, TICKET, BARRIER, LOAD, RESET)
    assert statuses(*body, jump) == [UNKNOWN] * 4
    (call,) = [one for one in last_block_order(facts(*body, "call.uni helper, (%r1);"))[:1]]
    assert call.status is UNKNOWN and "may touch memory" in call.evidence
    waited = dependent_order(facts("griddepcontrol.wait;", LOAD, jump))
    assert waited.status is UNKNOWN and "where a table says" in waited.evidence


def test_a_wait_on_one_way_only_leaves_the_other_open():
    body = ("@%p2 bra $L1;", "griddepcontrol.wait;", "$L1:", LOAD)
    assert dependent_order(facts(*body)).status is REFUTED
    assert dependent_order(facts("@%p1 griddepcontrol.wait;", LOAD)).status is REFUTED
    assert dependent_order(facts("griddepcontrol.wait;", *body)).status is PROVED


@pytest.mark.parametrize("text", ["", ".address_size 64", ptx() + ptx()])
def test_text_without_exactly_one_kernel_is_refused(text):
    with pytest.raises(ValueError, match="kernel"):
        order_facts(text)
