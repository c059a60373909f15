"""The expression language of specs and variants: one tree, evaluated, printed or proved.

Standard library only, because the worker on a GPU machine evaluates expressions too.
"""

from kgen.expr.errors import EvalError, ExprError
from kgen.expr.evaluate import Value, evaluate, fold, is_literal, literal
from kgen.expr.functions import BUILTINS, ROW_FUNCTIONS, SIZE_FUNCTIONS, Function
from kgen.expr.kinds import KIND_WORDS, kind
from kgen.expr.nearest import listing, nearest, suggestion
from kgen.expr.parser import parse
from kgen.expr.printer import helpers, to_python
from kgen.expr.tree import (
    Binary,
    Call,
    Compare,
    Expr,
    Logic,
    Name,
    Nothing,
    Number,
    Span,
    Truth,
    Unary,
    children,
    names,
)

__all__ = [
    "BUILTINS",
    "Binary",
    "Call",
    "Compare",
    "EvalError",
    "Expr",
    "ExprError",
    "Function",
    "KIND_WORDS",
    "Logic",
    "Name",
    "Nothing",
    "Number",
    "ROW_FUNCTIONS",
    "SIZE_FUNCTIONS",
    "Span",
    "Truth",
    "Unary",
    "Value",
    "children",
    "evaluate",
    "fold",
    "helpers",
    "is_literal",
    "kind",
    "listing",
    "literal",
    "names",
    "nearest",
    "parse",
    "suggestion",
    "to_python",
]
