"""Memory of the replay evaluator: offsets to elements, what is out of range, unwritten scratch,
counts, atomics."""

from __future__ import annotations

import numpy as np
import pytest

from kgen.prove.replay.layout import layout_of
from kgen.prove.replay.model import Reads, Unsupported
from kgen.prove.replay.run import run_grid


def elements_at(spec, *offsets: int) -> list[int | None]:
    found, inside = layout_of(spec).elements(np.array(offsets))
    return [int(e) if ok else None for e, ok in zip(found, inside, strict=True)]


# ---------------------------------------------------------------- layout


def test_an_offset_between_two_rows_is_no_element(tensor):
    spec = tensor("x", "fp32", 2, 3, strides=(8, 1))
    assert elements_at(spec, 0, 2, 3, 7, 8, 10, 11, 16, -1) == [
        0,
        2,
        None,
        None,
        3,
        5,
        None,
        None,
        None,
    ]


def test_dimensions_may_lie_in_any_order(tensor):
    spec = tensor("x", "fp32", 3, 2, strides=(1, 4))
    assert elements_at(spec, 0, 1, 2, 3, 4, 6) == [0, 2, 4, None, 1, 5]


def test_a_dimension_of_stride_0_is_one_place(tensor):
    spec = tensor("x", "fp32", 5, 4, strides=(0, 1))
    assert elements_at(spec, 0, 3, 4) == [0, 3, None]


def test_a_tensor_without_elements_has_no_place_and_one_without_dimensions_has_one(tensor):
    assert elements_at(tensor("x", "fp32", 0, 4), 0) == [None]
    assert elements_at(tensor("x", "fp32"), 0, 1) == [0, None]


def test_strides_that_let_elements_overlap_are_refused(tensor):
    with pytest.raises(Unsupported, match="the strides of x let its elements overlap"):
        layout_of(tensor("x", "fp32", 4, 4, strides=(3, 1)))


# ---------------------------------------------------------------- bounds


def test_only_active_lanes_count(kernel, tensor):
    body = "i = tl.arange(0, 8)\ntl.load(x + i, mask=i < N)"
    assert kernel(body, tensor("x", "fp32", 5), numbers={"N": 5}).findings() == []
    (found,) = kernel(body, tensor("x", "fp32", 5), numbers={"N": 7}).findings()
    assert (found.kind, found.tensor, found.line) == ("out of range", "x", 8)
    assert found.text == (
        "line 8: program (0, 0, 0) of k reads x at offset 5, past its last (elements 5, strides 1)"
    )


def test_running_from_one_row_into_the_gap_before_the_next_is_said(kernel, tensor):
    body = "i = tl.arange(0, 4)\ntl.store(x + tl.program_id(0) * 8 + i, 1.0)"
    subject = kernel(body, tensor("x", "fp32", 2, 3, strides=(8, 1), role="output"), grid=(2,))
    texts = [finding.text for finding in subject.findings() if finding.kind == "out of range"]
    assert "writes x at offset 3, between its rows (elements 2 x 3, strides 8, 1)" in texts[0]
    assert "offset 11, past its last" in texts[1]


def test_a_wrap_counts_only_where_its_lane_is_used(kernel, tensor):
    body = """
        i = tl.arange(0, 4)
        w = i * 1073741824
        tl.load(x + w, mask=i < N)
    """
    x = tensor("x", "fp32", 2**31)
    assert kernel(body, x, numbers={"N": 2}).findings() == []
    kinds = [finding.kind for finding in kernel(body, x, numbers={"N": 3}).findings()]
    assert kinds == ["out of range", "wraps"]


def test_a_mask_made_from_a_wrapped_index_is_a_finding_wherever_it_points(kernel, tensor):
    body = "i = tl.arange(0, 2) * B * B\ntl.load(x, mask=tl.sum(i, 0) < 5)"
    findings = kernel(body, tensor("x", "fp32", 4), numbers={"B": 65536}).findings()
    assert [finding.kind for finding in findings] == ["wraps"]
    assert findings[0].text == (
        "line 7: program (0, 0, 0) of k: * of 65536 and 65536 is 4294967296, which int32 does not "
        "hold, and becomes part of a mask at line 8"
    )


def test_an_input_that_is_written_is_a_finding(kernel, tensor):
    (found,) = kernel("tl.store(x + 1, 0.0)", tensor("x", "fp32", 4)).findings()
    assert (found.kind, found.text) == (
        "input written",
        "x[i=1] of an input is written by program (0, 0, 0)",
    )


# ---------------------------------------------------------------- counts


def test_each_access_of_an_element_is_counted_with_its_program_and_line(kernel, tensor):
    body = "p = tl.program_id(0)\ntl.store(o + p // 2, 1.0)\ntl.load(x + p)"
    subject = kernel(body, tensor("o", "fp32", 2, role="output"), tensor("x", "fp32", 3), grid=(3,))
    report = subject.report()
    assert report.counts("o", "store").tolist() == [2, 1]
    assert report.counts("x", "load").tolist() == [1, 1, 1]
    assert report.at("o", 0, "store") == ((0, (0, 0, 0), 8), (0, (1, 0, 0), 8))


def test_outputs_written_twice_and_never_are_named_with_their_programs(kernel, tensor):
    body = "p = tl.program_id(0)\ntl.store(o + p // 2, 1.0)"
    out = tensor("o", "fp32", 3, role="output")
    texts = {finding.kind: finding.text for finding in kernel(body, out, grid=(3,)).findings()}
    assert texts["never written"] == "o[i=2] is written never"
    assert texts["written twice"] == (
        "o[i=0] is written 2 times (program (0, 0, 0), line 8; program (1, 0, 0), line 8)"
    )


def test_scratch_that_one_launch_stores_twice_is_told_apart_from_what_is_read_wrongly(
    kernel, tensor
):
    body = "p = tl.program_id(0)\ntl.store(s + p + tl.arange(0, 2), 1.0)\ntl.load(s + p)"
    scratch = tensor("s", "fp32", 3, role="scratch")
    subject = kernel(body, scratch, grid=(2,))
    report = run_grid(subject.source, subject.instance)
    (twice,) = report.rewritten()
    assert (twice.kind, twice.tensor, twice.line) == ("written twice", "s", 8)
    assert twice.text == (
        "s[i=1] is written 2 times (program (0, 0, 0), line 8; program (1, 0, 0), line 8)"
    )
    assert "written twice" not in {one.kind for one in report.findings()}
    once = kernel(body.replace("s + p +", "s + 2 * p +"), tensor("s", "fp32", 4, role="scratch"))
    assert list(run_grid(once.source, once.instance).rewritten()) == []


def test_every_group_of_programs_has_to_read_what_is_expected_of_it(kernel, tensor):
    body = "p = tl.program_id(0)\ntl.load(x + p * 2 + tl.arange(0, 2), mask=tl.arange(0, 2) < N)"
    x = tensor("x", "fp32", 4)
    rows = Reads("x", 0, (0,), lambda group: np.arange(2) + 2 * group[0])
    assert kernel(body, x, numbers={"N": 2}, grid=(2,)).findings(rows) == []
    first, second = kernel(body, x, numbers={"N": 1}, grid=(2,)).findings(rows)
    assert first.text == "x[i=1] is read 0 times, not 1, by programs (0, *, *)"
    assert second.text == "x[i=3] is read 0 times, not 1, by programs (1, *, *)"


def test_reads_of_unsaid_number_have_to_be_equally_many(kernel, tensor):
    body = "for i in range(2):\n    tl.load(x + tl.arange(0, 2))\ntl.load(x, mask=N > 3)"
    rows = Reads("x", 0, (0,), lambda group: np.arange(2), times=None)
    x = tensor("x", "fp32", 2)
    assert kernel(body, x, numbers={"N": 3}).kinds(rows) == set()
    assert kernel(body, x, numbers={"N": 4}).kinds(rows) == {"read wrongly"}


# ---------------------------------------------------------------- contents


def test_scratch_is_uninitialised_until_it_is_written(kernel, tensor):
    scratch = tensor("s", "fp32", 4, role="scratch")
    body = (
        "i = tl.arange(0, 4)\ntl.store(s + i, 0.0, mask=i < N)\ntl.debug_barrier()\ntl.load(s + i)"
    )
    assert kernel(body, scratch, numbers={"N": 4}).findings() == []
    (found,) = kernel(body, scratch, numbers={"N": 3}).findings()
    assert found.kind == "uninitialised"
    assert found.text == "line 10: program (0, 0, 0) of k reads s[i=3], which nothing has written"


def test_integers_that_are_stored_are_found_again(kernel, tensor):
    body = "tl.store(t, N)\ntl.store(o + tl.load(t), 1.0)"
    subject = kernel(
        body,
        tensor("t", "i32", 1, role="scratch"),
        tensor("o", "fp32", 8, role="output"),
        numbers={"N": 6},
    )
    assert subject.trace(0).accesses[-1].elements.tolist() == [6]


def test_a_masked_load_without_other_leaves_its_other_lanes_unknown(kernel, tensor):
    table = tensor("t", "i32", 4, values=[3, 2, 1, 0])
    x = tensor("x", "fp32", 4)
    load = "i = tl.arange(0, 4)\np = tl.load(t + i, mask=i < 2{})\ntl.load(x + p{})"
    guarded = kernel(load.format("", ", mask=i < 2"), table, x).trace(0)
    assert guarded.accesses[-1].elements.tolist() == [3, 2] and not guarded.opaque
    bare = kernel(load.format("", ""), table, x).trace(0)
    assert [(use.use, use.line) for use in bare.opaque] == [("address", 9)]
    filled = kernel(load.format(", other=9", ""), table, x).trace(0)
    assert filled.out_of_range[0].offset == 9


def test_another_value_that_wraps_is_carried_by_the_masked_lanes_alone(kernel, tensor):
    table = tensor("t", "i8", 4, values=[3, 2, 1, 0])
    x = tensor("x", "fp32", 4)
    load = "i = tl.arange(0, 4)\np = tl.load(t + i, mask=i < 2, other=1024)\ntl.load(x + p{})"
    assert kernel(load.format(", mask=i < 2"), table, x).findings() == []
    assert kernel(load.format(""), table, x).kinds() == {"wraps"}


def test_an_atomic_gives_what_was_there_and_state_has_to_be_left_as_it_was(kernel, tensor):
    body = "t = tl.atomic_add(c, 1)\ntl.store(o + t, 1.0)"
    counter = tensor("c", "i32", 1, role="state", values=[0])
    out = tensor("o", "fp32", 3, role="output")
    (found,) = kernel(body, counter, out, grid=(3,)).findings()
    assert (found.kind, found.text) == (
        "left changed",
        "c[i=0] is left as 3; it was 0 before the call",
    )
    reset = body + "\nif t == 2:\n    tl.atomic_xchg(c, 0)"
    assert kernel(reset, counter, out, grid=(3,)).findings() == []


@pytest.mark.parametrize(
    ("call", "left"),
    [
        ("tl.atomic_max(c, 9)", 9),
        ("tl.atomic_min(c, 2)", 2),
        ("tl.atomic_and(c, 6)", 4),
        ("tl.atomic_or(c, 3)", 7),
        ("tl.atomic_xor(c, 1)", 5),
        ("tl.atomic_cas(c, 4, 8)", 8),
        ("tl.atomic_cas(c, 5, 8)", 4),
        ("tl.atomic_add(c + tl.zeros((2,), tl.int32), 1)", 6),
    ],
)
def test_atomics(kernel, tensor, call, left):
    counter = tensor("c", "i32", 1, role="state", values=[4])
    changed = kernel(call, counter).report().changed
    assert [change.now for change in changed] == ([] if left == 4 else [left])


def test_an_argument_that_the_launch_does_not_give_is_said(kernel, tensor):
    from dataclasses import replace

    from kgen.prove.replay.model import Launch
    from kgen.prove.replay.run import run_grid

    subject = kernel("tl.load(x + N)", tensor("x", "fp32", 4), numbers={"N": 1})
    bare = replace(subject.instance, launches=(Launch("k", {}, (1, 1, 1)),))
    with pytest.raises(Unsupported, match="the launch of k gives no x"):
        run_grid(subject.source, bare)
    with pytest.raises(Unsupported, match="N is 4294967296, which i32 does not hold"):
        kernel("tl.load(x + N)", tensor("x", "fp32", 4), numbers={"N": 2**32}).trace(0)
