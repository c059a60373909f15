"""Functions of `triton.language` in the replay evaluator, and the refusal of what it does not
know."""

from __future__ import annotations

import pytest

from kgen.prove.replay.model import Unsupported


@pytest.fixture
def elements(kernel, tensor):
    """The elements that a store to `o + <expression>` touches; `x` holds 5 3 8 1, `m` 0..5 as 2 x 3
    ints."""

    def run(expression: str, *lines: str, before: str = "", **numbers: int) -> list[int]:
        body = "\n".join([*lines, f"tl.store(o + ({expression}), 1.0)"])
        subject = kernel(
            body,
            tensor("o", "fp32", 1 << 20, role="output"),
            tensor("x", "i32", 4, values=[5, 3, 8, 1]),
            tensor("f", "fp32", 4, values=[5, 3, 8, 1]),
            tensor("p8", "u8", 8, values=range(8)),
            numbers={"N": 10, **numbers},
            constants={"B": 4},
            before=before,
        )
        trace = subject.trace(0)
        assert not trace.opaque and not trace.out_of_range
        return trace.accesses[-1].elements.tolist()

    return run


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("tl.arange(0, B)", [0, 1, 2, 3]),
        ("tl.full((2,), N, tl.int32) + tl.zeros([2], tl.int64)", [10, 10]),
        ("tl.cdiv(N, 4)", [3]),
        ("tl.cdiv(B, 3)", [2]),
        ("tl.minimum(N, 4) + tl.maximum(N, 40)", [44]),
        ("tl.where(tl.arange(0, B) < 2, 7, 9)", [7, 7, 9, 9]),
        ("tl.abs(4 - N)", [6]),
        (
            "tl.arange(0, B)[:, None] * 10 + tl.arange(0, 2)[None, :]",
            [0, 1, 10, 11, 20, 21, 30, 31],
        ),
        ("tl.expand_dims(tl.arange(0, B), 0)", [0, 1, 2, 3]),
        ("tl.reshape(tl.arange(0, B), (2, 2)).trans()", [0, 2, 1, 3]),
        ("tl.arange(0, B).reshape(2, 2).T", [0, 2, 1, 3]),
        ("tl.permute(tl.arange(0, B).reshape(2, 2), (1, 0))", [0, 2, 1, 3]),
        ("tl.ravel(tl.arange(0, B).reshape(2, 2))", [0, 1, 2, 3]),
        ("tl.broadcast_to(N, (2, 2))", [10] * 4),
        ("tl.flip(tl.arange(0, B), 0)", [3, 2, 1, 0]),
        ("tl.join(tl.arange(0, 2), tl.arange(4, 6))", [0, 4, 1, 5]),
        ("tl.interleave(tl.arange(0, 2), tl.arange(4, 6))", [0, 4, 1, 5]),
        ("tl.sum(tl.load(x + tl.arange(0, B)), 0)", [17]),
        ("tl.sum(tl.arange(0, B).reshape(2, 2), 1)", [1, 5]),
        ("tl.max(tl.load(x + tl.arange(0, B)), 0)", [8]),
        ("tl.min(tl.load(x + tl.arange(0, B)))", [1]),
        ("tl.argmax(tl.load(x + tl.arange(0, B)), 0)", [2]),
        ("tl.argmin(tl.load(f + tl.arange(0, B)), 0)", [3]),
        ("tl.max(tl.arange(0, B).reshape(2, 2), 0, keep_dims=True)", [2, 3]),
        ("tl.xor_sum(tl.load(x + tl.arange(0, B)), 0)", [5 ^ 3 ^ 8 ^ 1]),
        ("tl.cumsum(tl.load(x + tl.arange(0, B)), 0)", [5, 8, 16, 17]),
        ("tl.cumsum(tl.load(x + tl.arange(0, B)), 0, reverse=True)", [17, 12, 9, 1]),
        ("tl.sort(tl.load(x + tl.arange(0, B)))", [1, 3, 5, 8]),
        ("tl.topk(tl.load(x + tl.arange(0, B)), 2)", [8, 5]),
        ("tl.gather(tl.load(x + tl.arange(0, B)), tl.arange(0, B) // 2, 0)", [5, 5, 3, 3]),
        ("tl.load(f + 2).to(tl.int32)", [8]),
        ("tl.floor(tl.load(f) / 2.0).to(tl.int32)", [2]),
        ("tl.exp2(tl.load(f + 1)).to(tl.int32)", [8]),
        ("tl.program_id(0) + tl.num_programs(0)", [1]),
        ("tl.multiple_of(tl.max_contiguous(tl.arange(0, B), B), B)", [0, 1, 2, 3]),
        ("tl.load(x).to(tl.int64) << 3", [40]),
        ("tl.arange(0, B).shape[0] + N.dtype.primitive_bitwidth", [36]),
        ("(tl.load(x) == 5) & (N != 3)", [1]),
        ("tl.math.abs(N)", [10]),
        ("N if x.dtype.element_ty.is_int() else 0", [10]),
        ("len((1, 2, 3)) + int(2.5)", [5]),
    ],
)
def test_values(elements, expression, expected):
    assert elements(expression) == expected


def test_split_gives_both_halves_of_a_last_dimension(elements):
    lines = "left, right = tl.split(tl.arange(0, B).reshape(2, 2))", "both = left * 100 + right"
    assert elements("both", *lines) == [1, 203]


def test_a_maximum_with_its_index(elements):
    line = "top, at = tl.max(tl.load(x + tl.arange(0, B)), 0, return_indices=True)"
    assert elements("top * 100 + at", line) == [802]


def test_a_reduction_and_a_scan_by_a_function_of_the_file(elements):
    before = "@triton.jit\ndef larger(a, i, b, j):\n    on = b > a\n"
    before += "    return tl.where(on, b, a), tl.where(on, j, i)\n\n\n"
    lane = "lane = tl.arange(0, B)"
    pair = "top, at = tl.reduce((tl.load(x + lane), lane), 0, larger)"
    assert elements("top * 100 + at", lane, pair, before=before) == [802]
    before = "@triton.jit\ndef add(a, b):\n    return a + b\n\n\n"
    scan = "run = tl.associative_scan(tl.load(x + lane), 0, add, reverse=True)"
    assert elements("run", lane, scan, before=before) == [17, 12, 9, 1]


def test_a_pointer_cast_to_a_wider_type_covers_several_elements(kernel, tensor):
    body = "p = x.to(tl.pointer_type(tl.uint16))\ntl.load(p + tl.arange(0, 4))"
    subject = kernel(body, tensor("x", "fp8e4nv", 8))
    (access,) = subject.trace(0).accesses
    assert access.elements.tolist() == list(range(8))
    odd = kernel(body.replace("x.to", "(x + 1).to"), tensor("x", "fp8e4nv", 8))
    with pytest.raises(Unsupported, match="no multiple of 2 bytes is cast to uint16"):
        odd.trace(0)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("tl.arange(0, 12)", "has 12 elements: not a power of two"),
        ("tl.arange(0, N)", "takes two constexpr integers"),
        ("tl.program_id(-1)", "grid axis -1: Triton has 0, 1 and 2"),
        (
            "tl.make_block_ptr(x, 1)",
            "tl.make_block_ptr: block pointers bring bounds checks of their own",
        ),
        ("tl.make_tensor_descriptor(x)", "tensor descriptors .* write offsets and a mask instead"),
        ("tl.dot_scaled(x)", "tl.dot_scaled is not known here"),
        ("tl.load(x, flavour=3)", "tl.load with the argument flavour is not known here"),
        ("tl.cdiv(N, 2, 3, 4)", "tl.cdiv with 4 arguments is not known here"),
        ("tl.load(x, other=0)", "other but without mask"),
        ("tl.load(x, mask=N)", "a mask of int32: Triton takes only int1"),
        ("tl.load(x, boundary_check=(0,))", "block pointers are not modelled"),
        ("tl.load(N)", "through something that is no pointer"),
        ("tl.load(x, mask=tl.arange(0, B) < 2)", "a scalar under a block as mask"),
        ("tl.clamp(N, 0, 3)", "tl.clamp of integers: use tl.minimum and tl.maximum"),
        ("tl.sum(N, 0)", "axis 0 of a block of shape"),
        ("tl.sum(tl.arange(0, B), 1)", "axis 1 of a block of shape"),
        ("tl.exp(N)", "a function of floats on int32"),
        ("x + x", "with a pointer"),
        ("x * 2", "only a pointer plus or minus integers"),
        ("x.to(tl.int64)", "addresses are symbolic here"),
        ("x + 0.5", "a pointer . float32"),
        ("N.foo()", "no method foo"),
        ("tl.static_assert(B > 5, 'too few')", "tl.static_assert failed: too few"),
        ("tl.atomic_add(x, 1, sem='strong')", "sem='strong'"),
        ("tl.inline_asm_elementwise('', '', [N], tl.int32, False, 1)", "assembly that is not pure"),
        ("tl.reshape(tl.arange(0, B), (3, 2))", r"shape \[4\] reshaped to \[3, 2\]"),
        ("tl.view(tl.arange(0, B), (2, 2), can_reorder=True)", "may reorder lanes"),
        ("tl.where(N > 3, x, p8)", "tl.where between pointer to int32 in x"),
    ],
)
def test_unknown_or_refused_calls_are_said_with_why(elements, expression, message):
    with pytest.raises(Unsupported, match=message):
        elements(expression)


def test_an_assumption_that_does_not_hold_is_a_finding(kernel, tensor):
    subject = kernel(
        "tl.assume(N > 9)\ntl.multiple_of(N, 16)", tensor("x", "i32", 4), numbers={"N": 8}
    )
    assert [finding.text for finding in subject.findings()] == [
        "line 7: program (0, 0, 0) of k: tl.assume does not hold",
        "line 8: program (0, 0, 0) of k: tl.multiple_of 16 does not hold",
    ]


def test_pure_assembly_and_products_of_matrices_have_no_numbers(kernel, tensor):
    body = """
        a = tl.inline_asm_elementwise("", "", [N], tl.int32, True, 1)
        tl.load(x + a)
    """
    trace = kernel(body, tensor("x", "i32", 4), numbers={"N": 8}).trace(0)
    assert [(use.use, use.line) for use in trace.opaque] == [("address", 8)]
    assert not trace.out_of_range and trace.accesses[0].elements.size == 0
