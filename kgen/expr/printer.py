"""Trees to Python source, in the author's order and with no parenthesis too many."""

from __future__ import annotations

from collections.abc import Mapping

from kgen.expr.functions import BUILTINS
from kgen.expr.parser import AND, ATOM, COMPARISON, NOT, OR, POWER, PRECEDENCE, SIGN
from kgen.expr.tree import (
    Binary,
    Call,
    Compare,
    Expr,
    Logic,
    Name,
    Nothing,
    Number,
    Truth,
    Unary,
    children,
)


def to_python(expr: Expr, rename: Mapping[str, str] | None = None) -> str:
    """Python source with the meaning of `expr`, on one line.

    `rename` gives the source of a name where it differs, such as `{"B": "q.shape[0]"}`; it has to
    be an atom (a name, an attribute, a subscript, a call). Functions are called by their own names:
    see `helpers`.
    """
    return _print(expr, rename or {})[0]


def helpers(expr: Expr) -> frozenset[str]:
    """The functions `to_python(expr)` calls that Python does not have."""
    own = {expr.function} - BUILTINS if isinstance(expr, Call) else set()
    return frozenset(own).union(*map(helpers, children(expr)))


def _print(expr: Expr, rename: Mapping[str, str]) -> tuple[str, int]:
    """The source of `expr`, and how tightly its outermost operator binds."""
    match expr:
        case Number():
            return repr(expr.value), SIGN if expr.value < 0 else ATOM
        case Nothing():
            return "None", ATOM
        case Truth():
            return str(expr.value), ATOM
        case Name():
            return rename.get(expr.id, expr.id), ATOM
        case Unary():
            return _print_unary(expr, rename)
        case Binary():
            return _print_binary(expr, rename)
        case Compare():
            left, right = _inside(expr.left, COMPARISON + 1, rename), _inside(
                expr.right, COMPARISON + 1, rename
            )
            return f"{left} {_comparison(expr)} {right}", COMPARISON
        case Logic():
            return _print_logic(expr, rename)
        case Call():
            arguments = ", ".join(to_python(argument, rename) for argument in expr.arguments)
            return f"{expr.function}({arguments})", ATOM


def _inside(expr: Expr, least: int, rename: Mapping[str, str]) -> str:
    """The source of `expr`, in parentheses where it binds less tightly than `least`."""
    text, precedence = _print(expr, rename)
    return text if precedence >= least else f"({text})"


def _print_unary(expr: Unary, rename: Mapping[str, str]) -> tuple[str, int]:
    if expr.op == "not":
        return f"not {_inside(expr.operand, NOT, rename)}", NOT
    return f"-{_inside(expr.operand, SIGN, rename)}", SIGN


def _print_binary(expr: Binary, rename: Mapping[str, str]) -> tuple[str, int]:
    precedence = PRECEDENCE[expr.op]
    if precedence == POWER:
        left, right = _inside(expr.left, POWER + 1, rename), _inside(expr.right, SIGN, rename)
    else:
        left, right = _inside(expr.left, precedence, rename), _inside(
            expr.right, precedence + 1, rename
        )
    return f"{left} {expr.op} {right}", precedence


def _comparison(expr: Compare) -> str:
    """The operator; `none` is compared by identity, as Python's style asks."""
    if Nothing in (type(expr.left), type(expr.right)):
        return "is" if expr.op == "==" else "is not"
    return expr.op


def _print_logic(expr: Logic, rename: Mapping[str, str]) -> tuple[str, int]:
    chains = _chains(expr)
    if len(chains) == 1:
        return _print_chain(chains[0], rename)
    precedence = OR if expr.op == "or" else AND
    parts = [
        (
            _print_chain(chain, rename)[0]
            if len(chain) > 1
            else _inside(chain[0], precedence + 1, rename)
        )
        for chain in chains
    ]
    return f" {expr.op} ".join(parts), precedence


def _chains(expr: Logic) -> list[list[Expr]]:
    """The operands of `expr`, those that the author wrote as one chain of comparisons together."""
    chains: list[list[Expr]] = [[expr.operands[0]]]
    for operand in expr.operands[1:]:
        if expr.op == "and" and _continues(chains[-1][-1], operand):
            chains[-1].append(operand)
        else:
            chains.append([operand])
    return chains


def _continues(before: Expr, after: Expr) -> bool:
    """Whether `after` is the next link of a chain: they share an operand that stands there once."""
    if not (isinstance(before, Compare) and isinstance(after, Compare)):
        return False
    return before.right == after.left and before.right.span == after.left.span


def _print_chain(chain: list[Compare], rename: Mapping[str, str]) -> tuple[str, int]:
    text = _inside(chain[0].left, COMPARISON + 1, rename)
    for link in chain:
        text += f" {_comparison(link)} {_inside(link.right, COMPARISON + 1, rename)}"
    return text, COMPARISON
