"""Text to tokens. What Python has and this language lacks is named here, with a remedy."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from kgen.expr.errors import ExprError
from kgen.expr.tree import Span

LARGEST = 2**63 - 1
"""Integers are 64-bit and signed: the widest that a kernel or a launch computes with."""


class Token(NamedTuple):
    """`kind` is `number`, `name`, `op`, `end` or `bad`; `text` the characters as written."""

    kind: str
    text: str
    span: Span


_TOKEN = re.compile(
    r"(?P<space>[ \t\r\n]+)"
    r"|(?P<foreign>:=|===|<>|<<|>>|&&|\|\||->|\"[^\"]*\"?|'[^']*'?)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<op>\*\*|//|<=|>=|==|!=|[-+*/%<>(),])"
)

_FOREIGN = {
    ":=": ("assignment is not part of an expression", "write the value where it is used"),
    "=": ("`=` assigns; it compares nothing", "write `==`"),
    "===": ("there is no `===`", "write `==`"),
    "<>": ("there is no `<>`", "write `!=`"),
    "&&": ("there is no `&&`", "write `and`"),
    "||": ("there is no `||`", "write `or`"),
    "!": ("there is no `!`", "write `not`"),
    "<<": ("there are no shifts", "write `* 2 ** n`"),
    ">>": ("there are no shifts", "write `// 2 ** n`"),
    "&": ("there are no bit operations", "write `and` between conditions"),
    "|": ("there are no bit operations", "write `or` between conditions"),
    "^": ("there are no bit operations", "write `**` for a power"),
    "~": ("there are no bit operations", "write `not` before a condition"),
    "@": ("there is no matrix product", ""),
    ".": (
        "there are no attributes: an expression knows axes, not tensors or modules",
        "declare an axis for that size and write its name",
    ),
    "[": (
        "there are no subscripts and no lists",
        "declare an axis for that size and write its name",
    ),
    "]": (
        "there are no subscripts and no lists",
        "declare an axis for that size and write its name",
    ),
    "{": ("there are no sets and no dictionaries", ""),
    "}": ("there are no sets and no dictionaries", ""),
    "->": ("there are no functions to define", ""),
    ":": ("`:` has no meaning in an expression", ""),
    ";": ("an expression is one value; there are no statements", ""),
    "?": ("there is no `? :`", "write one regime for each case"),
    "#": ("a comment inside the expression", "write it behind the value, after a space"),
    "\u2264": ("only ASCII operators are known", "write `<=`"),
    "\u2265": ("only ASCII operators are known", "write `>=`"),
    "\u2260": ("only ASCII operators are known", "write `!=`"),
    "\u00d7": ("only ASCII operators are known", "write `*`"),
    "\u00b7": ("only ASCII operators are known", "write `*`"),
    "\u00f7": ("only ASCII operators are known", "write `/` or `//`"),
    "\u2212": ("only ASCII operators are known", "write `-`"),
}


def tokenize(text: str) -> tuple[list[Token], ExprError | None]:
    """The tokens of `text`, and the error of the first character that fits nowhere.

    The last token is of kind `end`, or of kind `bad` where the error stands: it is for the parser
    to raise, which may have a better thing to say about a word before it.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        span = Span(*match.span()) if match else Span(position, position + 1)
        error = _error_at(text, match.lastgroup if match else "foreign", span)
        if error:
            return [*tokens, Token("bad", text[span.start : span.end], span)], error
        if match.lastgroup != "space":
            tokens.append(Token(match.lastgroup, match.group(), span))
        position = span.end
    return [*tokens, Token("end", "", Span(len(text), len(text) + 1))], None


def _error_at(text: str, kind: str, span: Span) -> ExprError | None:
    if kind == "foreign":
        return _foreign(text[span.start : span.end], span)
    if kind == "number" and re.match(r"[A-Za-z0-9_]", text[span.end : span.end + 1]):
        return _glued_number(text, span)
    return None


def number(token: Token) -> int | float:
    """The value of a number token. Raises ExprError where it has none that 64 bits hold."""
    text = token.text
    if text.isdigit():
        if len(text) > 1 and text[0] == "0":
            plain = text.lstrip("0") or "0"
            raise ExprError(
                f"`{_short(text)}` has a leading zero", token.span, f"write `{_short(plain)}`"
            )
        if len(text) > 19 or int(text) > LARGEST:
            raise ExprError(f"`{_short(text)}` does not fit in 64 bits", token.span)
        return int(text)
    value = float(text)
    if math.isinf(value):
        raise ExprError(f"`{_short(text)}` is too large for a real", token.span)
    return value


def _glued_number(text: str, span: Span) -> ExprError:
    """The error for letters or underscores directly behind a number."""
    end = re.compile(r"[A-Za-z0-9_.]*").match(text, span.start).end()
    word, whole = text[span.start : end], Span(span.start, end)
    if re.fullmatch(r"0[xXoObB][0-9A-Fa-f]+", word):
        hint = f"write `{int(word, 0)}`" if len(word) < 18 else "write it in decimal"
        return ExprError(f"`{_short(word)}`: numbers are decimal", whole, hint)
    if re.fullmatch(r"[0-9]+(_[0-9]+)+", word):
        return ExprError(
            f"`{_short(word)}`: no `_` in numbers",
            whole,
            f"write `{_short(word.replace('_', ''))}`",
        )
    head, tail = text[span.start : span.end], text[span.end : end]
    return ExprError(
        f"`{_short(word)}` is neither a number nor a name",
        whole,
        f"to multiply, write `{_short(head)} * {_short(tail)}`",
    )


def _foreign(word: str, span: Span) -> ExprError:
    """The error for a character or operator that the language does not have."""
    if word[0] in "\"'":
        return ExprError(
            "there are no strings in an expression",
            span,
            "write the name of an axis, a number, `none`, `true` or `false`, without quotes",
            "KG305",
        )
    message, hint = _FOREIGN.get(word, (f"the character {word!a} has no meaning here", ""))
    return ExprError(message, span, hint, "KG305")


def _short(word: str) -> str:
    """`word`, cut to what a message can carry."""
    return word if len(word) <= 40 else word[:37] + "..."
