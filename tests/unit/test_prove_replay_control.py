"""Loops, branches, calls and names of the replay evaluator: Triton's front-end rules, and what it
refuses."""

from __future__ import annotations

import pytest

from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.source import parse


def stored(subject) -> list[int]:
    """The elements of `o` that program 0 stores to, in order."""
    accesses = subject.trace(0).accesses
    return [e for a in accesses if a.kind == "store" for e in a.elements.tolist()]


@pytest.fixture
def out(tensor):
    return tensor("o", "fp32", 64, role="output")


@pytest.mark.parametrize(
    ("body", "elements"),
    [
        ("for i in tl.range(0, N, 3):\n    tl.store(o + i, 1.0)", [0, 3, 6]),
        ("for i in range(N):\n    tl.store(o + i, 1.0)", list(range(8))),
        ("for i in range(5, 2):\n    tl.store(o + i, 1.0)", []),
        ("for i in tl.static_range(0, 4, 2):\n    tl.store(o + i, 1.0)", [0, 2]),
        ("i = 0\nwhile i < N:\n    tl.store(o + i, 1.0)\n    i += 5", [0, 5]),
        ("i = 9\nfor i in range(2):\n    tl.store(o + i, 1.0)\ntl.store(o + i, 1.0)", [0, 1, 9]),
        ("i = 0\nif N > 4:\n    i = 7\ntl.store(o + i, 1.0)", [7]),
        ("if N > 9:\n    i = 7\nelse:\n    i = 3\ntl.store(o + i, 1.0)", [3]),
        ("if N > 4 and N < 9:\n    tl.store(o, 1.0)", [0]),
        ("if not N > 4:\n    return\ntl.store(o + 2, 1.0)", [2]),
        ("a, b = 3, N\ntl.store(o + a + b, 1.0)", [11]),
        ("tl.store(o + (1 if N > 4 else 2), 1.0)", [1]),
        ("tl.store(o + min(N, 5) + max(2, 1), 1.0)", [7]),
        ("B: tl.constexpr = 4\ntl.store(o + tl.arange(0, B), 1.0)", [0, 1, 2, 3]),
        ("assert N > 4\ntl.store(o, 1.0)", [0]),
    ],
)
def test_control_flow(kernel, out, body, elements):
    assert stored(kernel(body, out, numbers={"N": 8})) == elements


def test_a_branch_on_a_constant_leaves_no_trace_of_the_other_side(kernel, out):
    body = "if W is None:\n    tl.store(o, 1.0)\nelse:\n    tl.store(o + W, 1.0)"
    assert stored(kernel(body, out, constants={"W": None})) == [0]
    assert stored(kernel(body, out, constants={"W": 5})) == [5]


def test_a_call_of_a_function_of_the_file_binds_defaults_and_constants(kernel, out):
    before = "@triton.jit\ndef at(i, STEP: tl.constexpr = 2):\n    return i * STEP + 1\n\n\n"
    body = "tl.store(o + at(N), 1.0)\ntl.store(o + at(N, STEP=3), 1.0)"
    assert stored(kernel(body, out, numbers={"N": 8}, before=before)) == [17, 25]


def test_a_module_constant_is_read_only_where_triton_lets_it_be(kernel, out):
    body = "tl.store(o + A, 1.0)"
    assert stored(kernel(body, out, before="A = tl.constexpr(3)\n")) == [3]
    with pytest.raises(Unsupported, match="A is a global of the module: Triton lets a kernel read"):
        stored(kernel(body, out, before="A = 3\n"))


def test_a_number_that_a_loop_changes_is_an_int32_and_wraps_as_one(kernel, out):
    body = """
        i = 1
        for j in range(N):
            i = i * 65536
        tl.store(o + i, 1.0)
    """
    trace = kernel(body, out, numbers={"N": 2}).trace(0)
    (wrap,) = trace.wraps
    assert (wrap.type, wrap.exact) == ("int32", 2**32)
    assert [(reached.use, reached.line) for reached in trace.reached] == [("address", 10)]


def test_the_step_after_the_last_turn_may_wrap_the_counter(kernel, tensor):
    # the body has to stay cheap: two turns near the end of int32
    subject = kernel(
        "for j in range(LOW, N, 1024):\n    tl.load(x + j)",
        tensor("x", "fp32", 2**31),
        numbers={"LOW": 2**31 - 1500, "N": 2**31 - 1},
    )
    (reached,) = subject.trace(0).reached
    assert reached.wrap.operation == "loop step"
    assert reached.use == "loop bound"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("i = 0\nfor j in range(N):\n    i = i + 0.5", "int32 before a loop or branch and float32"),
        ("i = 0\nfor j in range(N):\n    i = tl.arange(0, 4)", r"int32 of shape \[4\] after it"),
        ("for j in range(N):\n    B = 5", "B is a constant that a loop or branch changes"),
        ("for j in range(N):\n    i = j\ntl.load(o + i)", "i has no value here"),
        ("if N > 3:\n    i = 3\ntl.load(o + i)", "i has no value here"),
        ("for j in range(N):\n    return", "return inside a loop"),
        ("for j in range(N):\n    break", "the statement Break"),
        ("for j in range(N, 0, -1):\n    pass", "step -1"),
        ("for j in [1, 2]:\n    pass", "a loop that is not `for name in range"),
        ("i = 0 <= N < 8", "compares more than two values: Triton refuses this"),
        ("a = b = N", "several assignments in one statement"),
        ("i = [j for j in N]", "the expression"),
        ("tl.load(o + N[0])", "only `:` and `None` are known"),
        ("tl.load(o + tl.arange(0, 4)[1:])", "the slice 1:"),
        ("if tl.arange(0, 4) > 2:\n    pass", r"a block of shape \[4\] as branch"),
        ("i = N and 3", "and, or, not of int32"),
        ("import math", "the statement Import"),
        ("x = 'text'", "a text is assigned"),
        ("tl.load(q)", "q has no value here"),
        ("tl.load(triton.next_power_of_2(N))", "triton.next_power_of_2 in a kernel"),
        ("print(N)", "print has no value here"),
        ("o[0] = 1", "an assignment to"),
        ("tl.load(*o)", r"a call with \*arguments"),
    ],
)
def test_what_triton_or_the_evaluator_refuses_is_said_with_its_line(kernel, out, body, message):
    subject = kernel(body, out, numbers={"N": 8}, constants={"B": 4})
    with pytest.raises(Unsupported, match=message) as raised:
        subject.trace(0)
    assert raised.value.line >= 7


def test_a_program_that_does_not_end_is_given_up(kernel, out, monkeypatch):
    monkeypatch.setattr("kgen.prove.replay.machine.MOST_STEPS", 2000)
    subject = kernel("i = 0\nwhile i < 1:\n    i = i * 1", out)
    with pytest.raises(Unsupported, match="no end within 2000 operations"):
        subject.trace(0)


def test_a_program_that_accesses_too_much_for_a_trace_is_given_up(kernel, out, monkeypatch):
    monkeypatch.setattr("kgen.prove.replay.machine.MOST_ACCESSED", 100)
    body = "for i in tl.range(0, N):\n    tl.store(o + tl.arange(0, 16), 1.0)"
    assert len(stored(kernel(body, out, numbers={"N": 6}))) == 96
    with pytest.raises(Unsupported, match="one program accesses more than 100 elements"):
        stored(kernel(body, out, numbers={"N": 7}))


def test_recursion_is_given_up(kernel, out):
    before = "@triton.jit\ndef again(i):\n    return again(i)\n\n\n"
    with pytest.raises(Unsupported, match="nest too deep"):
        kernel("again(3)", out, before=before).trace(0)


def test_a_branch_on_data_without_values_is_refused_unless_a_policy_decides(kernel, tensor, out):
    body = "if tl.load(x) > 0.0:\n    tl.store(o, 1.0)\nelse:\n    tl.store(o + 1, 1.0)"
    subject = kernel(body, tensor("x", "fp32", 1), out)
    with pytest.raises(Unsupported, match="branch depends on data that has no values here"):
        subject.report()
    taken = subject.report(policy="true")
    assert taken.counts("o", "store").tolist()[:2] == [1, 0]
    assert subject.report(policy="false").counts("o", "store").tolist()[:2] == [0, 1]
    assert [(use.use, use.line) for use in taken.opaque] == [("branch", 7)]


def test_a_branch_on_data_with_values_is_decided(kernel, tensor, out):
    body = "if tl.load(x) > 0.0:\n    tl.store(o, 1.0)\nelse:\n    tl.store(o + 1, 1.0)"
    positive = tensor("x", "fp32", 1, values=[2])
    assert stored(kernel(body, positive, out)) == [0]


def test_parts_of_the_language_may_be_imported_by_name(kernel, out):
    before = "from triton.language.math import abs as size\nfrom triton.language import arange\n"
    assert stored(
        kernel(
            "tl.store(o + size(3 - N) + arange(0, 2), 1.0)", out, numbers={"N": 8}, before=before
        )
    ) == [5, 6]
    before = "from triton.language.extra.cuda import gdc_wait, globaltimer\n"
    assert len(kernel("gdc_wait()", out, before=before).trace(0).events) == 1
    with pytest.raises(Unsupported, match="a call of globaltimer"):
        kernel("globaltimer()", out, before=before).trace(0)


def test_a_missing_kernel_and_text_that_is_no_python_are_said():
    with pytest.raises(Unsupported, match="the source has no kernel 'split'; it has none"):
        parse("x = 1\n").function("split")
    with pytest.raises(Unsupported, match="line 2: not Python"):
        parse("x = 1\ndef (:\n")
