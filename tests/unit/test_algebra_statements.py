"""Statements about tiles, splits and indices: the true ones are proved, the false ones refuted.

All sizes are symbolic, and blocks need not be powers of two. Certificates of all of them pass both
checkers, and whatever is done to a certificate, neither checker takes it for a false statement.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given as drawn
from hypothesis import settings

from kgen.algebra import (
    FALSE,
    TRUE,
    Certificate,
    Formula,
    Interval,
    Or,
    Poly,
    Space,
    Status,
    as_json,
    check,
    conjunction,
    decide,
    disjunction,
    eq,
    ge,
    gt,
    holds_at,
    le,
    lt,
    negate,
)
from kgen.algebra.certificate import Assumed, Bounded, Every, FromDefinition, Step, Trivial
from kgen.algebra.sympy_check import recheck

Statement = tuple[Space, Formula, Formula]


def sizes(*names: str) -> tuple[Space, list[Poly]]:
    """A space with axes that are at least 1."""
    space = Space()
    return space, [space.axis(name, 1) for name in names]


def tiles_cover() -> Statement:
    space, (n, block) = sizes("N", "B")
    return space, ge(space.ceiling_quotient(n, block) * block, n), TRUE


def last_tile_starts_inside() -> Statement:
    space, (n, block) = sizes("N", "B")
    return space, lt((space.ceiling_quotient(n, block) - 1) * block, n), TRUE


def every_tile_starts_inside() -> Statement:
    space, (n, block) = sizes("N", "B")
    tile = space.axis("tile", 0, space.ceiling_quotient(n, block) - 1)
    return space, lt(tile * block, n), TRUE


def splits_cover() -> Statement:
    space, (n, block, splits) = sizes("N", "B", "S")
    tiles = space.ceiling_quotient(n, block)
    return space, ge(splits * space.ceiling_quotient(tiles, splits) * block, n), TRUE


def _split_size(space: Space, n: Poly, block: Poly, splits: Poly) -> Poly:
    tiles = space.ceiling_quotient(n, block)
    return space.ceiling_quotient(tiles, splits) * block


def last_split_ends_at_n() -> Statement:
    space, (n, block, splits) = sizes("N", "B", "S")
    size = _split_size(space, n, block, splits)
    return space, eq(space.minimum(splits * size, n), n), TRUE


def splits_are_in_order() -> Statement:
    space, (n, block, splits) = sizes("N", "B", "S")
    size = _split_size(space, n, block, splits)
    split = space.axis("split", 0, splits - 1)
    start, end = space.minimum(split * size, n), space.minimum((split + 1) * size, n)
    return space, le(start, end), TRUE


def splits_do_not_overlap() -> Statement:
    space, (size,) = sizes("size")
    one, other, x = space.axis("one"), space.axis("other"), space.axis("x")
    inside = [
        conjunction(ge(x, split * size), lt(x, split * size + size)) for split in (one, other)
    ]
    return space, FALSE, conjunction(lt(one, other), *inside)


def every_key_has_a_split() -> Statement:
    space, (n, block, splits) = sizes("N", "B", "S")
    size = _split_size(space, n, block, splits)
    key = space.axis("key", 0, n - 1)
    split = space.quotient(key, size)
    return space, conjunction(ge(split, 0), lt(split, splits)), TRUE


def masked_offset_is_inside() -> Statement:
    space, (n, block, width, stride) = sizes("N", "B", "D", "stride")
    tile, lane = space.axis("tile", 0), space.axis("lane", 0, block - 1)
    column = space.axis("column", 0, width - 1)
    offset = (tile * block + lane) * stride + column
    return space, le(offset, (n - 1) * stride + width - 1), lt(tile * block + lane, n)


def query_head_has_a_kv_head() -> Statement:
    space, (kv_heads, group) = sizes("HK", "G")
    head = space.quotient(space.axis("h", 0, kv_heads * group - 1), group)
    return space, conjunction(ge(head, 0), le(head, kv_heads - 1)), TRUE


def page_of_a_key_exists() -> Statement:
    space, (n, page) = sizes("N", "P")
    key = space.axis("key", 0, n - 1)
    return space, le(space.quotient(key, page), space.ceiling_quotient(n, page) - 1), TRUE


def scratch_index_is_inside() -> Statement:
    space, dims = sizes("Bt", "H", "S", "D")
    digits = [space.axis(f"i{at}", 0, dim - 1) for at, dim in enumerate(dims)]
    index = Poly.of(0)
    size = Poly.of(1)
    for digit, dim in zip(digits, dims):
        index, size = index * dim + digit, size * dim
    return space, conjunction(ge(index, 0), lt(index, size)), TRUE


def ceiling_is_shifted_floor() -> Statement:
    space, (n, block) = sizes("N", "B")
    up = -space.quotient(-n, block)
    return space, eq(up, space.quotient(n + block - 1, block)), TRUE


def digits_give_the_number() -> Statement:
    space, (n, base) = sizes("N", "base")
    low, high = space.remainder(n, base), space.quotient(n, base)
    return space, conjunction(eq(high * base + low, n), lt(low, base), ge(low, 0)), TRUE


def regimes_cover() -> Statement:
    space = Space()
    q, b, w = space.choice("Q", (1, 8)), space.axis("B", 1, 256), space.choice("W", (None, 4096))
    windowed = gt(w.value, w.absent)
    first = eq(q, 1)
    second = conjunction(gt(q, 1), eq(b, 1), windowed)
    third = conjunction(eq(q, 8), disjunction(ge(b, 2), negate(windowed)))
    return space, disjunction(first, second, third), TRUE


def loaded_page_is_in_the_cache() -> Statement:
    space, (pages, n) = sizes("PAGES", "N")
    table = space.table("block_table", 0, pages - 1, Interval(-(2**31), 2**31 - 1))
    key = space.axis("key", 0)
    page = space.entry(table, key, lt(key, n), Poly.of(0))
    return space, conjunction(ge(page, 0), lt(page, pages)), TRUE


TRUE_STATEMENTS: dict[str, Callable[[], Statement]] = {
    statement.__name__: statement
    for statement in (
        tiles_cover,
        last_tile_starts_inside,
        every_tile_starts_inside,
        splits_cover,
        last_split_ends_at_n,
        splits_are_in_order,
        splits_do_not_overlap,
        every_key_has_a_split,
        masked_offset_is_inside,
        query_head_has_a_kv_head,
        page_of_a_key_exists,
        scratch_index_is_inside,
        ceiling_is_shifted_floor,
        digits_give_the_number,
        regimes_cover,
        loaded_page_is_in_the_cache,
    )
}


def floor_does_not_cover() -> Statement:
    space, (n, block) = sizes("N", "B")
    return space, ge(space.quotient(n, block) * block, n), TRUE


def one_tile_less_does_not_cover() -> Statement:
    space, (n, block) = sizes("N", "B")
    return space, ge((space.ceiling_quotient(n, block) - 1) * block, n), TRUE


def the_last_split_is_not_always_full() -> Statement:
    space, (n, block, splits) = sizes("N", "B", "S")
    return space, eq(splits * _split_size(space, n, block, splits), n), TRUE


def an_unmasked_lane_leaves_the_row() -> Statement:
    space, (n, block) = sizes("N", "B")
    tile = space.axis("tile", 0, space.ceiling_quotient(n, block) - 1)
    lane = space.axis("lane", 0, block - 1)
    return space, lt(tile * block + lane, n), TRUE


def an_offset_may_leave_32_bits() -> Statement:
    space = Space()
    batch, heads, width = space.axis("B", 1, 256), space.axis("H", 1, 128), space.fixed("D", 128)
    keys = space.axis("S", 0, 131072)
    return space, lt(batch * heads * width * keys, 2**31), TRUE


def a_regime_is_missing() -> Statement:
    space = Space()
    q, b, w = space.choice("Q", (1, 8)), space.axis("B", 1, 256), space.choice("W", (None, 4096))
    windowed = gt(w.value, w.absent)
    parts = (eq(q, 1), conjunction(eq(q, 8), eq(b, 1), windowed), conjunction(eq(q, 8), ge(b, 2)))
    return space, disjunction(*parts), TRUE


def an_empty_grid_has_no_program() -> Statement:
    space = Space()
    rows = space.axis("N", 0, 16)
    return space, ge(space.ceiling_quotient(rows, Poly.of(4)), 1), TRUE


def an_unmasked_page_may_be_padding() -> Statement:
    space, (pages, n) = sizes("PAGES", "N")
    table = space.table("block_table", -1, pages - 1, Interval(-(2**31), 2**31 - 1))
    return space, ge(space.entry(table, space.axis("key", 0, n - 1)), 0), TRUE


FALSE_STATEMENTS: dict[str, Callable[[], Statement]] = {
    statement.__name__: statement
    for statement in (
        floor_does_not_cover,
        one_tile_less_does_not_cover,
        the_last_split_is_not_always_full,
        an_unmasked_lane_leaves_the_row,
        an_offset_may_leave_32_bits,
        a_regime_is_missing,
        an_empty_grid_has_no_program,
        an_unmasked_page_may_be_padding,
    )
}


def proof_of(name: str) -> Certificate:
    """The certificate of a true statement."""
    return decide(*TRUE_STATEMENTS[name]()).certificate


@pytest.mark.parametrize("statement", TRUE_STATEMENTS.values(), ids=TRUE_STATEMENTS)
def test_a_true_statement_is_proved_and_both_checkers_agree(statement):
    space, goal, given = statement()
    verdict = decide(space, goal, given)
    assert verdict.status is Status.PROVED, verdict.text
    assert verdict.point is None
    assert (verdict.certificate.goal, verdict.certificate.given) == (goal, given)
    assert check(verdict.certificate)
    assert recheck(verdict.certificate)


@pytest.mark.parametrize("statement", FALSE_STATEMENTS.values(), ids=FALSE_STATEMENTS)
def test_a_false_statement_is_refuted_at_a_point(statement):
    space, goal, given = statement()
    verdict = decide(space, goal, given)
    assert verdict.status is Status.REFUTED, verdict.text
    assert verdict.certificate is None
    assert holds_at(space, goal, verdict.point) is False
    assert holds_at(space, given, verdict.point) is True
    assert str(verdict.point) in verdict.text


@pytest.mark.parametrize("name", TRUE_STATEMENTS)
def test_a_certificate_is_plain_data(name):
    document = json.loads(json.dumps(as_json(proof_of(name))))
    assert set(document) == {"given", "goal", "steps", "variables"}
    last = len(document["steps"]) - 1
    assert all(step["is"] for step in document["steps"])
    used = [
        number
        for step in document["steps"]
        for value in (step.get("part"), step.get("rest_is_nonnegative"), *step.get("parts", []))
        for number in ([value] if value is not None else [])
    ]
    assert all(0 <= number < last for number in used)


def test_the_data_of_a_certificate_names_rules_facts_and_definitions():
    document = as_json(proof_of("tiles_cover"))
    combined = next(step for step in document["steps"] if step["is"] == "Combined")
    origin = document["steps"][combined["origin"]]
    assert origin["is"] == "FromDefinition"
    quotient = document["variables"][str(origin["variable"])]
    assert quotient == {
        "is": "Quotient",
        "dividend": [[1, [0]], [-1, []]],
        "divisor": [[1, [1]]],
        "rounding": "floor",
    }


@pytest.mark.parametrize("name", TRUE_STATEMENTS)
def test_a_certificate_proves_neither_the_opposite_nor_anything_stronger_that_is_false(name):
    certificate = proof_of(name)
    wrong = [replace(certificate, goal=negate(certificate.goal))]
    if certificate.given != TRUE:
        wrong.append(replace(certificate, given=TRUE))
    for other in wrong:
        if decide(other.space, other.goal, other.given).status is Status.REFUTED:
            assert not check(other)
            assert not recheck(other)


ROOTS: tuple[Step, ...] = (Trivial(), Assumed(), Bounded(), Every(()))


@pytest.mark.parametrize("step", ROOTS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("statement", FALSE_STATEMENTS.values(), ids=FALSE_STATEMENTS)
def test_no_single_step_proves_a_false_statement(statement, step):
    certificate = Certificate(*_in_order(statement()), step)
    assert not check(certificate)
    assert not recheck(certificate)


def _in_order(statement: Statement) -> tuple[Space, Formula, Formula]:
    space, goal, given = statement
    return space, given, goal


# A true statement, and a change of its goal that makes it false.
FALSIFIED: dict[str, Callable[[Formula], Formula]] = {
    "tiles_cover": lambda goal: ge(goal.poly, 1),
    "last_tile_starts_inside": lambda goal: ge(goal.poly, 1),
    "every_tile_starts_inside": lambda goal: ge(goal.poly, 1),
    "splits_cover": lambda goal: ge(goal.poly, 1),
    "splits_are_in_order": lambda goal: ge(goal.poly, 1),
    "masked_offset_is_inside": lambda goal: ge(goal.poly, 1),
    "page_of_a_key_exists": lambda goal: ge(goal.poly, 1),
    "regimes_cover": lambda goal: disjunction(*goal.parts[:-1]),
    "loaded_page_is_in_the_cache": lambda goal: conjunction(ge(goal.parts[0].poly, 1), goal),
    "scratch_index_is_inside": lambda goal: conjunction(goal, ge(goal.parts[-1].poly, 1)),
}


@pytest.mark.parametrize("name", FALSIFIED)
def test_the_falsified_statements_are_false(name):
    space, goal, given = TRUE_STATEMENTS[name]()
    assert decide(space, FALSIFIED[name](goal), given).status is Status.REFUTED


def corrupted(certificate: Certificate, draw: st.DataObject) -> Certificate:
    """The certificate with one field of one step changed."""
    steps = certificate.steps
    target = draw.draw(st.sampled_from([step for step in steps if fields(step)]), label="step")
    name = draw.draw(st.sampled_from([field.name for field in fields(target)]), label="field")
    changed = _changed(getattr(target, name), certificate, draw)
    made: dict[Step, Step] = {}
    for step in steps:
        values = {field.name: _mapped(getattr(step, field.name), made) for field in fields(step)}
        if step is target:
            values[name] = changed
        made[step] = type(step)(**values)
    return replace(certificate, step=made[certificate.step])


def _mapped(value: Any, made: dict[Step, Step]) -> Any:
    if isinstance(value, tuple):
        return tuple(_mapped(part, made) for part in value)
    return made[value] if isinstance(value, Step) else value


def _changed(value: Any, certificate: Certificate, draw: st.DataObject) -> Any:
    """Something of the same type as `value`, mostly another."""
    steps = certificate.steps
    if isinstance(value, Poly):
        polys = [getattr(step, "fact", None) for step in steps]
        others = [poly for poly in polys if isinstance(poly, Poly)]
        near = [value + 1, value - 1, -value, value * 2, Poly.of(0), Poly.of(1), Poly.variable(0)]
        return draw.draw(st.sampled_from([*near, *others]))
    if isinstance(value, int):
        return draw.draw(st.integers(-1, len(certificate.space) + 1))
    if isinstance(value, tuple):
        ways = [value[:-1], value[::-1], (*value, Trivial()), value[:1] * len(value)]
        return draw.draw(st.sampled_from(ways))
    if isinstance(value, FromDefinition):
        others = [step for step in steps if isinstance(step, FromDefinition)]
        return draw.draw(st.sampled_from([None, *others]))
    if isinstance(value, Step):
        return draw.draw(st.sampled_from([*ROOTS, *steps]))
    if isinstance(value, Or):
        fewer = Or(value.parts[:-1])
        return draw.draw(st.sampled_from([fewer, *range(len(certificate.space))]))
    return None if value is None else negate(value)


@settings(max_examples=250)
@drawn(st.sampled_from(sorted(FALSIFIED)), st.data())
def test_no_change_makes_a_certificate_prove_a_false_statement(name, data):
    certificate = corrupted(proof_of(name), data)
    false = replace(certificate, goal=FALSIFIED[name](certificate.goal))
    assert not check(false)
    assert not recheck(false)


@settings(max_examples=250)
@drawn(st.sampled_from(sorted(TRUE_STATEMENTS)), st.data())
def test_both_checkers_judge_a_changed_certificate_alike(name, data):
    certificate = corrupted(proof_of(name), data)
    assert check(certificate) is recheck(certificate)
