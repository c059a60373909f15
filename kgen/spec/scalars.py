"""Plain scalars by the core schema of YAML 1.2.

Version 1.1, which PyYAML reads by default, turns `no` into false, `12:30` into 750 and `1e3` into
text.
"""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_REAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}

MAX_DIGITS = 40
"""Longer integers have no use here, and Python converts them in quadratic time."""


def resolve(text: str) -> str | int | float | bool | None:
    """The value of an unquoted scalar.

    Raises OverflowError for an integer of more than MAX_DIGITS characters.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise OverflowError(f"the integer has {len(text)} characters")
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    if _REAL.fullmatch(text):
        return float(text)
    if _SPECIAL.fullmatch(text):
        return float(text.replace(".", "").lower())
    return text
