"""Numbers of the replay evaluator: true widths, wraps, C division, Triton's promotion, opaque
lanes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgen.prove.replay.arithmetic import binary, bitcast, cast, where
from kgen.prove.replay.dtypes import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    INT32,
    INT64,
    NAMED,
    UINT32,
    promote,
    promote_number,
)
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.trace import Recorder
from kgen.prove.replay.values import Value, integer, number_of, unknown

INT8, INT16, UINT8, UINT64 = (NAMED[name] for name in ("int8", "int16", "uint8", "uint64"))


def block(type, *numbers) -> Value:
    return integer(type, np.array(numbers, dtype=np.int64))


def computed(symbol, a, b) -> tuple[Value, Recorder]:
    recorder = Recorder(line=7)
    return binary(recorder, symbol, a, b), recorder


# ---------------------------------------------------------------- types


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (INT32, INT64, INT64),
        (INT8, INT16, INT16),
        (INT32, UINT32, UINT32),
        (INT64, UINT32, INT64),
        (UINT8, INT8, UINT8),
        (BOOL, INT32, INT32),
        (INT64, FLOAT16, FLOAT16),
        (FLOAT16, BFLOAT16, FLOAT16),
        (BFLOAT16, FLOAT32, FLOAT32),
    ],
)
def test_two_tensors_take_the_wider_type_and_at_equal_width_the_unsigned_one(a, b, expected):
    assert promote(a, b) is expected
    assert promote(b, a) is expected


def test_a_python_number_takes_the_type_of_the_tensor_unless_its_kind_is_higher():
    assert promote_number(3, INT16) is INT16
    assert promote_number(3, FLOAT16) is FLOAT16
    assert promote_number(0.5, INT32) is FLOAT32
    assert promote_number(2, BOOL) is INT32
    assert promote_number(True, INT64) is INT64


def test_a_python_number_that_the_tensors_type_does_not_hold_is_refused_as_triton_does():
    with pytest.raises(Unsupported, match="3000000000 does not fit int32: Triton refuses this"):
        promote_number(3_000_000_000, INT32)
    with pytest.raises(Unsupported, match="-1 does not fit uint32"):
        promote_number(-1, UINT32)


def test_division_of_different_signedness_is_refused():
    with pytest.raises(Unsupported, match="uint32 and int32 differ in signedness"):
        computed("//", block(UINT32, 4), block(INT32, 2))


def test_the_quotient_of_two_integers_by_slash_is_a_float():
    value, _ = computed("/", block(INT32, 1), block(INT32, 2))
    assert value.type is FLOAT32
    assert value.data.tolist() == [0.5]


# ---------------------------------------------------------------- widths


def test_an_int32_product_wraps_where_the_same_product_in_int64_does_not():
    value, recorder = computed("*", block(INT32, 65536, 3), block(INT32, 65536, 5))
    assert value.data.tolist() == [0, 15]
    (wrap,) = recorder.wraps
    assert (wrap.line, wrap.operation, wrap.left, wrap.right) == (7, "*", 65536, 65536)
    assert str(wrap) == "* of 65536 and 65536 is 4294967296, which int32 does not hold"
    wide, recorder = computed("*", block(INT64, 65536), block(INT32, 65536))
    assert wide.data.tolist() == [1 << 32] and not recorder.wraps


def test_only_the_lanes_that_wrapped_carry_the_wrap_on():
    value, recorder = computed("+", block(INT32, 1, 2**31 - 1, 5), 1)
    assert value.taint.lanes.tolist() == [False, True, False]
    later = binary(recorder, "*", value, 2)
    assert later.taint.lanes.tolist() == [False, True, False]
    assert later.taint.wraps >= value.taint.wraps


def test_an_int64_product_beyond_64_bits_wraps_with_its_exact_value_on_record():
    value, recorder = computed("*", block(INT64, 2**40), block(INT64, 2**40))
    assert value.data.tolist() == [0]
    assert next(iter(recorder.wraps)).exact == 2**80


def test_unsigned_numbers_wrap_below_zero():
    value, recorder = computed("-", block(UINT32, 0), 1)
    assert value.data.tolist() == [2**32 - 1]
    assert len(recorder.wraps) == 1


def test_a_uint64_from_2_to_the_63_is_said_not_to_be_modelled():
    with pytest.raises(Unsupported, match="numbers from 2..63 on are not modelled"):
        computed("-", block(UINT64, 0), 1)


def test_a_narrowing_cast_that_loses_the_number_is_a_wrap_and_a_widening_one_is_none():
    recorder = Recorder()
    narrow = cast(recorder, block(INT64, 2**32 + 5, 7), INT32)
    assert narrow.data.tolist() == [5, 7]
    assert narrow.taint.lanes.tolist() == [True, False]
    assert [str(wrap) for wrap in recorder.wraps] == [
        "4294967301 cast to int32, which does not hold it"
    ]
    assert cast(recorder, narrow, INT64).data.tolist() == [5, 7]
    assert len(recorder.wraps) == 1


@pytest.mark.parametrize(
    ("x", "y", "quotient", "rest"),
    [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1), (-1, 4, 0, -1)],
)
def test_division_of_tensors_truncates_and_the_rest_has_the_dividends_sign(x, y, quotient, rest):
    assert computed("//", block(INT32, x), block(INT32, y))[0].data.tolist() == [quotient]
    assert computed("%", block(INT32, x), block(INT32, y))[0].data.tolist() == [rest]


def test_two_python_numbers_divide_as_in_python():
    assert computed("//", -7, 2)[0] == -4
    assert computed("%", -7, 2)[0] == 1


def test_the_lowest_number_over_minus_one_wraps():
    value, recorder = computed("//", block(INT32, -(2**31)), block(INT32, -1))
    assert value.data.tolist() == [-(2**31)]
    assert next(iter(recorder.wraps)).exact == 2**31


def test_division_by_zero_has_no_value_and_is_carried_on_like_a_wrap():
    value, recorder = computed("//", block(INT32, 4, 4), block(INT32, 0, 2))
    assert value.taint.lanes.tolist() == [True, False]
    assert "4 // 0 has no value" == str(next(iter(recorder.wraps)))


@given(
    st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^"]),
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=4),
    st.integers(-(2**31), 2**31 - 1).filter(bool),
)
def test_int32_operations_agree_with_exact_arithmetic_reduced_to_32_bits(symbol, numbers, other):
    exact = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "//": lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
        "%": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
        "&": lambda a, b: a & b,
        "|": lambda a, b: a | b,
        "^": lambda a, b: a ^ b,
    }[symbol]
    value, recorder = computed(symbol, block(INT32, *numbers), block(INT32, other))
    results = [exact(number, other) for number in numbers]
    assert value.data.tolist() == [INT32.wrap(result) for result in results]
    wrapped = [INT32.wrap(result) != result for result in results]
    assert bool(recorder.wraps) == any(wrapped)
    if any(wrapped):
        assert value.taint.lanes.tolist() == wrapped


@given(
    st.sampled_from(["+", "-", "*"]),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
)
def test_int64_operations_agree_with_exact_arithmetic_reduced_to_64_bits(symbol, a, b):
    exact = {"+": a + b, "-": a - b, "*": a * b}[symbol]
    value, recorder = computed(symbol, block(INT64, a), block(INT64, b))
    assert value.data.tolist() == [INT64.wrap(exact)]
    assert bool(recorder.wraps) == (INT64.wrap(exact) != exact)


def test_arithmetic_on_bools_is_refused_with_what_to_write():
    with pytest.raises(Unsupported, match="use & and"):
        computed("+", block(BOOL, 1), block(BOOL, 1))


# ---------------------------------------------------------------- opaque lanes


def test_what_is_computed_from_opaque_data_is_opaque_and_never_wraps():
    value, recorder = computed("*", unknown(INT32, (4,)), 2**30)
    assert value.is_unknown and not recorder.wraps


def test_a_false_side_settles_a_conjunction_and_a_true_side_a_disjunction():
    known = block(BOOL, 0, 1)
    both, _ = computed("&", known, unknown(BOOL, (2,)))
    assert both.opaque.tolist() == [False, True] and not both.data[0]
    either, _ = computed("|", known, unknown(BOOL, (2,)))
    assert either.opaque.tolist() == [True, False] and either.data[1]


def test_where_is_known_where_its_choice_and_the_chosen_side_are():
    value = where(Recorder(), block(BOOL, 1, 0), block(INT32, 3, 4), unknown(INT32, (2,)))
    assert value.opaque.tolist() == [False, True]
    assert value.data[0] == 3


def test_results_in_a_type_that_numpy_does_not_compute_in_are_opaque():
    half = Value(FLOAT16, np.array([0.5], dtype=np.float16))
    assert number_of(computed("+", half, half)[0]) == 1.0
    brain = Value(BFLOAT16, np.array([0.5], dtype=np.float32))
    assert computed("+", brain, brain)[0].is_unknown
    assert number_of(cast(Recorder(), brain, FLOAT32)) == 0.5


def test_a_bitcast_keeps_the_bits():
    one = Value(FLOAT32, np.array([1.0], dtype=np.float32))
    assert bitcast(one, INT32).data.tolist() == [0x3F800000]
    assert bitcast(block(INT32, 0x3F800000), FLOAT32).data.tolist() == [1.0]
    assert bitcast(block(INT32, -1), UINT32).data.tolist() == [2**32 - 1]
    with pytest.raises(Unsupported, match="from int32 to int64 changes the width"):
        bitcast(block(INT32, 1), INT64)


def test_blocks_that_do_not_broadcast_are_refused():
    with pytest.raises(Unsupported, match=r"shapes \[2\] and \[3\] do not broadcast"):
        computed("+", block(INT32, 1, 2), block(INT32, 1, 2, 3))
