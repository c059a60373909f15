"""A planted fault is found and told: its code, the tensor, the element, the program, the line."""

from __future__ import annotations

import re

import pytest

from kgen.runner.results import Status

ADD_STORE = "tl.store(p_out + o, b_x + b_y, mask=m)"
ALLOCATE = "out = torch.empty_like(x)"
TICKET = 'done = tl.atomic_add(p_count + i_row, 1, sem="acq_rel")'
BARRIER = "    tl.debug_barrier()\n"

# name: (kernel file, honest text, planted text, code, what the message says, the named line)
FAULTS = {
    "a load without its mask": (
        "vector_add",
        "tl.load(p_x + o, mask=m, other=0.0)",
        "tl.load(p_x + o)",
        "KG703",
        r"load out of bounds: 'p_x' at element \[75\] lies 1 past the last element of the view of "
        r"shape \(75,\) \(and 20 more lanes\), in program \(2, 0, 0\) of kernel 'add_kernel'",
        "b_x = tl.load(p_x + o)",
    ),
    "a store without its mask": (
        "vector_add",
        ADD_STORE,
        "tl.store(p_out + o, b_x + b_y)",
        "KG703",
        r"store out of bounds: 'p_out' at element \[75\] lies 1 past .*in program \(2, 0, 0\)",
        "tl.store(p_out + o, b_x + b_y)",
    ),
    "a mask off by one": (
        "vector_add",
        "m = o < n",
        "m = o <= n",
        "KG703",
        r"load out of bounds: 'p_x' at element \[75\] lies 1 past .*lane \(11,\)",
        "b_x = tl.load(p_x + o, mask=m, other=0.0)",
    ),
    "a load before the tensor": (
        "vector_add",
        "tl.load(p_y + o, mask=m, other=0.0)",
        "tl.load(p_y + o - 3, mask=m, other=0.0)",
        "KG703",
        r"load out of bounds: 'p_y' at element \[-3\] lies 3 elements before the view of shape "
        r"\(32,\) \(and 2 more lanes\), in program \(0, 0, 0\)",
        "b_y = tl.load(p_y + o - 3, mask=m, other=0.0)",
    ),
    "a load from the gap between two rows": (
        "row_softmax",
        "m = o < n",
        "m = o < n + 1",
        "KG703",
        r"'p_x' at element \[0, 20\] lies in a gap of the view of shape \(3, 20\) with strides "
        r"\(28, 1\), in program \(0, 0, 0\) of kernel 'softmax_kernel'",
        "b_x = tl.load(p_x",
    ),
    "two programs that store the same element": (
        "vector_add",
        "tl.program_id(0) * BLOCK",
        "tl.program_id(0) * (BLOCK - 1)",
        "KG704",
        r"race: store of 'p_out' at element \[31\]: it was stored by program \(0, 0, 0\) of kernel "
        r"'add_kernel'; nothing orders the two programs, in program \(1, 0, 0\)",
        ADD_STORE,
    ),
    "a ticket without a barrier before it": (
        "split_sum",
        BARRIER,
        "",
        "KG704",
        r"race: load of 'p_part' at element \[0, 0, 0\]: it was stored by program \(0, 0, 0\) of "
        r"kernel 'split_sum_kernel'; its atomic releases, but no tl.debug_barrier\(\) is between "
        r"the store and the atomic, in program \(0, 3, 0\)",
        "b_total += tl.load(p_part",
    ),
    "a relaxed ticket": (
        "split_sum",
        'sem="acq_rel"',
        'sem="relaxed"',
        "KG704",
        r"race: load of 'p_part' at element \[0, 0, 0\]: .*they meet at an atomic that is relaxed "
        r"or of CTA scope, which orders nothing else, in program \(0, 3, 0\)",
        "b_total += tl.load(p_part",
    ),
    "a ticket that only acquires": (
        "split_sum",
        'sem="acq_rel"',
        'sem="acquire"',
        "KG704",
        r"race: load of 'p_part' at element \[0, 0, 0\]: .*orders nothing else",
        "b_total += tl.load(p_part",
    ),
    "a ticket of CTA scope": (
        "split_sum",
        'sem="acq_rel"',
        'sem="acq_rel", scope="cta"',
        "KG704",
        r"race: atomic of 'p_count' at element \[0\]: it was stored by program \(0, 0, 0\) of "
        r"kernel 'split_sum_kernel'; CTA scope holds within one program only, in program "
        r"\(0, 1, 0\)",
        TICKET[:-1],
    ),
    "a plain counter instead of an atomic": (
        "split_sum",
        TICKET,
        "done = tl.load(p_count + i_row)\n    tl.store(p_count + i_row, done + 1)",
        "KG704",
        r"race: load of 'p_count' at element \[0\]: it was stored by program \(0, 0, 0\)",
        "done = tl.load(p_count + i_row)",
    ),
    "the program's own partial sum read back without a barrier": (
        "split_sum",
        BARRIER,
        "    b_sum += tl.load(p_part + (i_row * SPLITS + i_split) * BLOCK + o)\n",
        "KG704",
        r"race: load of 'p_part' at element \[0, 0, 0\]: the same program stored it with no "
        r"tl.debug_barrier\(\) between the two",
        "b_sum += tl.load(p_part",
    ),
    "an index that overflows 32 bits": (
        "gather_rows",
        "stride_row: tl.int64",
        "stride_row",
        "KG705",
        r"int32 overflow: 2 \* 1073741824 is 2147483648, which wraps to -2147483648, in program "
        r"\(0, 0, 0\) of kernel 'gather_kernel'",
        "b = tl.load(p_table",
    ),
    "an argument too large for its annotation": (
        "gather_rows",
        "stride_row: tl.int64",
        "stride_row: tl.int16",
        "KG711",
        r"argument 'stride_row' of kernel 'gather_kernel' is 1073741824, which int16 can't hold",
        "gather_kernel[(ids.numel(),)]",
    ),
    "an index from nowhere": (
        "gather_rows",
        "row * stride_row + o, mask=o < n",
        "row * stride_row * 1000000007 + o, mask=o < n",
        "KG703",
        r"load out of bounds: 'p_table' at element \[\d+, \d+\] lies \d+ past the last element",
        "b = tl.load(p_table",
    ),
    "an output that is never written": (
        "vector_add",
        "m = o < n",
        "m = o < n - 1",
        "KG702",
        r"output 'out' was never written at element \[31\]: it still holds the poison that it was "
        r"allocated with; so do 1 of 32 elements",
        "",
    ),
    "a wrong value": (
        "vector_add",
        "b_x + b_y",
        "b_x - b_y",
        "KG701",
        r"output 'out' is wrong at element \[\d+\]: got \S+, wanted \S+, error \S+, allowed \S+ "
        r"\(float32 sums in another order\); 32 of 32 elements are wrong; program \(0, 0, 0\) of "
        r"kernel 'add_kernel' wrote it last",
        "",
    ),
    "a masked lane that counts as zero": (
        "row_softmax",
        'other=-float("inf")',
        "other=0.0",
        "KG701",
        r"output 'out' is wrong at element \[\d, \d+\]: .*program \(\d, 0, 0\) of kernel "
        r"'softmax_kernel' wrote it last",
        "",
    ),
    "a lane that no load filled": (
        "row_softmax",
        ', mask=m, other=-float("inf")',
        ", mask=m",
        "KG701",
        r"output 'out' is wrong at element \[0, 0\]: got nan, wanted",
        "",
    ),
    "poison times zero": (
        "split_sum",
        "other=0.0).to(tl.float32)",
        "other=float('nan')).to(tl.float32) * (start + o < n)",
        "KG701",
        r"output 'out' is wrong at element \[0\]: got nan, wanted .*kernel 'split_sum_kernel'",
        "",
    ),
    "a read of scratch that nothing wrote": (
        "split_sum",
        "for i in range(SPLITS):",
        "for i in range(SPLITS + 1):",
        "KG709",
        r"load of 'p_part' at element \[1, 0, 0\], which nothing has written since it was "
        r"allocated, in program \(0, 3, 0\)",
        "b_total += tl.load(p_part",
    ),
    "lanes of one store that disagree": (
        "vector_add",
        ADD_STORE,
        "tl.store(p_out + o // 2, b_x + b_y, mask=m)",
        "KG718",
        r"two lanes of one store give 'p_out' at element \[0\] different values",
        "tl.store(p_out + o // 2",
    ),
    "an input that a kernel stores to": (
        "vector_add",
        ALLOCATE,
        "out = x",
        "KG706",
        r"store to 'p_out' at element \[0\], which belongs to the input 'x', in program",
        ADD_STORE,
    ),
    "an input that the launcher changes": (
        "vector_add",
        "return out",
        "y[5] += 1\n    return out",
        "KG706",
        r"input 'y' was changed at element \[5\]",
        "",
    ),
    "a gap of an input that the launcher changes": (
        "row_softmax",
        "return out",
        "x.as_strided((1,), (1,), 20).zero_() if x.stride(0) > 20 else None\n    return out",
        "KG706",
        r"input 'x' was changed in bytes of none of its elements",
        "",
    ),
    "an output of the wrong dtype": (
        "row_softmax",
        "dtype=x.dtype",
        "dtype=torch.float32",
        "KG707",
        r"output 'out' has dtype torch.float32, not torch.bfloat16",
        "",
    ),
    "an output of the wrong shape": (
        "split_sum",
        "return out",
        "return out[:, None]",
        "KG707",
        r"output 'out' has shape \(2, 1\), not \(2,\)",
        "",
    ),
    "one output too many": (
        "split_sum",
        "return out",
        "return out, part",
        "KG707",
        r"run\(\) returned 2 values, the manifest declares 1 \(out\)",
        "",
    ),
    "no output": (
        "split_sum",
        "return out",
        "return None",
        "KG707",
        r"run\(\) returned 0 values, the manifest declares 1 \(out\)",
        "",
    ),
    "an output that is an input": (
        "vector_add",
        "return out",
        "return x",
        "KG708",
        r"output 'out' shares memory with the input 'x'",
        "",
    ),
    "a counter that is not armed again": (
        "split_sum",
        "        tl.store(p_count + i_row, 0)\n",
        "",
        "KG702",
        r"the second call, with other data: output 'out' was never written at element \[0\]",
        "",
    ),
    "an output in memory that the file keeps": (
        "split_sum",
        "out = torch.empty(rows, dtype=torch.float32, device=x.device)",
        "out = _counters.setdefault('out', torch.zeros(8)).fill_(0)[:rows]",
        "KG719",
        r"output 'out' of the first call was overwritten by the second",
        "",
    ),
    "another kernel than the regime's": (
        "vector_add",
        "return out",
        "add_kernel[(1,)](x, y, torch.empty_like(x), 1, BLOCK)\n    return out",
        "KG710",
        r"wrong regime: the case belongs to 'all', which launches add_kernel, but the call "
        r"launched add_kernel, add_kernel",
        "",
    ),
    "an exception in the launcher": (
        "vector_add",
        ALLOCATE,
        "raise ValueError('x must be short')",
        "KG711",
        r"the file raised ValueError: x must be short",
        "raise ValueError('x must be short')",
    ),
    "a launcher that refuses what it should serve": (
        "vector_add",
        ALLOCATE,
        "raise NotImplementedError('n == 32')",
        "KG711",
        r"the file raised NotImplementedError: n == 32",
        "raise NotImplementedError",
    ),
    "an exception in a kernel": (
        "vector_add",
        "m = o < n",
        "m = o < n.nonesuch",
        "KG711",
        r"the file raised AttributeError: 'tensor' object has no attribute 'nonesuch'",
        "m = o < n.nonesuch",
    ),
    "a failing device assertion": (
        "vector_add",
        "m = o < n",
        "m = o < n\n    tl.device_assert(n < 70, 'too long')",
        "KG711",
        r"the file raised AssertionError: .*too long",
        "tl.device_assert",
    ),
    "a grid with too many rows": (
        "vector_add",
        "(triton.cdiv(n, BLOCK),)",
        "(triton.cdiv(n, BLOCK), 65536)",
        "KG711",
        r"kernel 'add_kernel': grid \(\d, 65536, 1\) has 65536 programs along axis 1, a GPU allows "
        r"65535",
        "add_kernel[",
    ),
}


# one of each code is tried at every change, the others where slow tests run
FIRST = {code: name for name, (_, _, _, code, *_) in reversed(FAULTS.items())}


@pytest.mark.parametrize(
    "fault",
    [
        name if name in FIRST.values() else pytest.param(name, marks=pytest.mark.full)
        for name in FAULTS
    ],
)
def test_a_planted_fault_is_reported(interpret, fault):
    name, honest, planted, code, message, line = FAULTS[fault]
    report = interpret(name, (honest, planted))
    assert not report.passed
    found = [finding.failure for finding in report.findings if finding.failure.code == code]
    assert found, [finding.failure.message for finding in report.findings]
    assert any(re.search(message, failure.message) for failure in found), found[0].message
    told = next(failure for failure in found if re.search(message, failure.message))
    text = (report.directory / "submission.py").read_text().splitlines()
    assert (text[told.line - 1] if told.line else "").strip().startswith(line)


def test_a_fault_names_tensor_element_kernel_and_program_as_data(interpret):
    report = interpret("vector_add", ("m = o < n", "m = o <= n"))
    failure = report.findings[0].failure
    assert (failure.tensor, failure.element) == ("p_x", (75,))
    assert (failure.kernel, failure.program) == ("add_kernel", (2, 0, 0))


def test_a_case_that_failed_leaves_nothing_to_the_next(interpret):
    """The first case raises after it moved the counters; the second starts from fresh ones."""
    planted = "if rows == 2:\n        raise RuntimeError('too late')\n    return out"
    report = interpret("split_sum", ("return out", planted))
    assert [result.status for result in report.results] == [Status.FAILED, Status.PASSED]


@pytest.mark.parametrize(
    ("planted", "message"),
    [
        (
            "tl.inline_asm_elementwise('mov.b32 $0, $1;', '=f,f', [b_x], tl.float32, True, 1)",
            "assembly",
        ),
        ("b_x.to(tl.bfloat16, fp_downcast_rounding='rtz')", "rounding"),
        ("tl.extra.cuda.libdevice.exp(b_x)", "_semantic"),
    ],
)
def test_what_the_interpreter_cannot_run_is_an_error_and_no_verdict(interpret, planted, message):
    report = interpret(
        "vector_add", ("m = o < n", f"m = o < n\n    b_x = o * 1.0\n    b_z = {planted}")
    )
    assert {result.status for result in report.results} == {Status.ERROR}
    failure = report.findings[0].failure
    assert failure.code == "KG712"
    assert failure.message.startswith("Triton's interpreter can't run this line: ")
    assert message in failure.message
    assert not report.passed
