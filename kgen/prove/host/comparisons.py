"""Comparisons between values, and choices among them."""

from __future__ import annotations

import ast
import builtins

from kgen.expr import Expr
from kgen.prove.host.extents import extent
from kgen.prove.host.language import DTYPES
from kgen.prove.host.terms import (
    FALSE,
    NONE,
    TRUE,
    all_of,
    any_of,
    compare,
    equal,
    name,
    negation,
    number,
    rank_name,
)
from kgen.prove.host.trace import Frame
from kgen.prove.host.values import (
    NOTHING_KNOWN,
    Choice,
    Derived,
    Extents,
    Sequence,
    Static,
    Symbol,
    Tensor,
    Value,
    taint,
)

_COMPARISONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "==",
    ast.IsNot: "!=",
}


def logic(op: ast.boolop, parts: list[Expr | None]) -> Expr | None:
    """A part that means nothing leaves the whole without meaning, unless another decides."""
    join, deciding = (all_of, FALSE) if isinstance(op, ast.And) else (any_of, TRUE)
    if None in parts:
        return deciding if deciding in parts else None
    return join(parts)


def linked(links: list[Value]) -> Value:
    tainted = taint(Sequence(tuple(links)))
    if tainted is not None:
        return tainted
    return Static(logic(ast.And(), [link.meaning for link in links]))


def link(op: ast.cmpop, left: Value, right: Value, frame: Frame) -> Value:
    """One comparison of a chain."""
    if isinstance(op, (ast.In, ast.NotIn)):
        found = _membership(left, right)
        inside = isinstance(op, ast.In)
    elif isinstance(op, (ast.Is, ast.IsNot)) and isinstance(left, Tensor):
        # an argument that is a tensor is no other object that a file could name
        return Static(FALSE if isinstance(op, ast.Is) else TRUE)
    elif isinstance(op, (ast.Eq, ast.NotEq)) and _is_sequence(left) and _is_sequence(right):
        found = _same_items(left, right, frame)
        inside = isinstance(op, ast.Eq)
    else:
        return _plain_link(op, left, right)
    if not isinstance(found, Static) or found.meaning is None:
        return found
    return found if inside else Static(negation(found.meaning))


def _plain_link(op: ast.cmpop, left: Value, right: Value) -> Value:
    left, right = _comparable(left), _comparable(right)
    tainted = taint(Sequence((left, right)))
    if tainted is not None:
        return tainted
    sides = [side.meaning if isinstance(side, Static) else None for side in (left, right)]
    symbol = _COMPARISONS.get(type(op))
    if isinstance(op, (ast.Is, ast.IsNot)) and not any(map(_is_single, sides)):
        return NOTHING_KNOWN
    if symbol is None or None in sides:
        return NOTHING_KNOWN
    return Static(compare(symbol, *sides))


def _is_single(meaning: Expr | None) -> bool:
    """Whether only one object has this value: equal numbers may be two objects."""
    if meaning == NONE:
        return True
    path = getattr(meaning, "id", "")
    return path in DTYPES or hasattr(builtins, path)


def _comparable(value: Value) -> Value:
    """A type such as `int` is compared by its name."""
    if isinstance(value, Symbol) and value.path.startswith("builtins."):
        return Static(name(value.path.removeprefix("builtins.")))
    return value


def _is_sequence(value: Value) -> bool:
    return isinstance(value, (Sequence, Extents))


def _membership(value: Value, choices: Value) -> Value:
    tainted = taint(Sequence((value, choices)))
    if tainted is not None:
        return tainted
    if not isinstance(choices, Sequence):
        return NOTHING_KNOWN
    members = [one.meaning if isinstance(one, Static) else None for one in choices.items]
    if not isinstance(value, Static) or None in (value.meaning, *members):
        return NOTHING_KNOWN
    return Static(any_of(equal(value.meaning, one) for one in members))


def _same_items(left: Value, right: Value, frame: Frame) -> Value:
    """Equality of sequences: of their lengths, and item by item."""
    if isinstance(right, Extents):
        left, right = right, left
    if isinstance(right, Extents):
        return NOTHING_KNOWN
    tainted = taint(right) or taint(left)
    if tainted is not None:
        return tainted
    # a shape is a tuple
    kinds = {"tuple" if isinstance(one, Extents) else one.kind for one in (left, right)}
    if "generator" in kinds:
        return NOTHING_KNOWN
    if len(kinds) > 1:
        return Static(FALSE)
    length: Expr = number(len(right.items))
    if isinstance(left, Extents):
        rank = frame.rank(left.tensor)
        own = rank_name(left.tensor) if rank is None else number(rank)
        items = [extent(left, dim, frame) for dim in range(rank or len(right.items))]
    else:
        own, items = number(len(left.items)), list(left.items)
    same = equal(own, length)
    if same == FALSE:
        return Static(FALSE)
    pairs = [_plain_link(ast.Eq(), *pair) for pair in zip(items, right.items)]
    return linked([Static(same), *pairs])


def chosen(test: Expr | None, then: Value, otherwise: Value) -> Value:
    """The value of which a condition decides."""
    if then == otherwise or test == TRUE:
        return then
    if test == FALSE:
        return otherwise
    tainted = taint(Sequence((then, otherwise)))
    if tainted is not None:
        both = all(isinstance(one, (Tensor, Derived)) for one in (then, otherwise))
        return Derived("one of two tensors") if both else tainted
    if test is None or not (isinstance(then, Static) and isinstance(otherwise, Static)):
        return NOTHING_KNOWN
    return Choice(test, then, otherwise)
