"""What goes wrong with an expression, while it is read or while it is computed."""

from __future__ import annotations

from kgen.expr.tree import Span


class ExprError(ValueError):
    """The text is no expression of this language, or mixes kinds that do not go together.

    `code` is the number of the diagnostic (KG3xx), `span` the characters that are wrong, `hint`
    what to write instead.
    """

    def __init__(self, message: str, span: Span, hint: str = "", code: str = "KG301"):
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint
        self.code = code


class EvalError(ArithmeticError):
    """The expression has no value here.

    It divides by zero, computes with `none`, leaves the range of 64 bits, or the like.
    """

    code = "KG308"

    def __init__(self, message: str, span: Span, hint: str = ""):
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint
