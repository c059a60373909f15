"""The types of fields: each says in its own words what it takes."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, WithJsonSchema

from kgen.expr import ROW_FUNCTIONS, SIZE_FUNCTIONS
from kgen.spec.nodes import Key
from kgen.spec.problem import describe, problem

MAX_NAME = 64
MAX_DOC = 2000
MAX_INTEGER = 2**62
"""Sizes stay below half of what 64 bits hold, so that the sum of two never overflows."""

IDENTIFIER_PATTERN = "^[A-Za-z_][A-Za-z0-9_]{0,63}$"
RESERVED = frozenset({"torch", "triton", "tl", "math"})
"""Modules that a generated file imports under these names."""

LANGUAGE = (
    frozenset({"none", "true", "false", "otherwise"}) | SIZE_FUNCTIONS.keys() | ROW_FUNCTIONS.keys()
)
"""The words of the expression language, which no axis can have as its name."""


class Model(BaseModel):
    """A mapping of a spec: no unknown keys, no conversions, no changes afterwards."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


def _identifier(text: str) -> str:
    shown = describe(text).removeprefix("the text ")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise problem(
            "KG206",
            f"{shown} is no identifier",
            "use letters a-z, digits and `_`, and begin with a letter",
        )
    if keyword.iskeyword(text) or text in RESERVED:
        what = "a Python keyword" if keyword.iskeyword(text) else "a module of the generated file"
        raise problem("KG206", f"`{text}` is {what} and no name", f"write for example `{text}_`")
    if len(text) > MAX_NAME:
        raise problem(
            "KG206", f"a name has at most {MAX_NAME} characters, and this one {len(text)}"
        )
    return text


def _axis_name(text: str) -> str:
    if text in LANGUAGE:
        raise problem(
            "KG206",
            f"`{text}` is a word of the expression language and names no axis",
            f"write for example `{text.upper()}`",
        )
    return _identifier(text)


def _doc(text: str) -> str:
    if len(text) > MAX_DOC:
        raise problem("KG205", f"a doc has at most {MAX_DOC} characters, and this one {len(text)}")
    if not all(char.isprintable() or char == "\n" for char in text):
        raise problem("KG205", "a doc has a control character in it", "write printable text")
    return text


_PATTERN = WithJsonSchema({"type": "string", "pattern": IDENTIFIER_PATTERN})

Identifier = Annotated[str, AfterValidator(_identifier), _PATTERN]
AxisName = Annotated[str, AfterValidator(_axis_name), _PATTERN]
Doc = Annotated[str, AfterValidator(_doc), WithJsonSchema({"type": "string", "maxLength": MAX_DOC})]


def checked(check: Callable[[object], Any], schema: dict) -> tuple[PlainValidator, WithJsonSchema]:
    """Annotations for a field that `check` alone reads, with what an editor is told of it."""
    return PlainValidator(check), WithJsonSchema(schema)


def is_integer(value: object) -> bool:
    """Whether YAML gave an integer: neither `true`, which Python counts as one, nor `3.0`."""
    return isinstance(value, int) and not isinstance(value, bool)


def integer(value: object, what: str = "an integer", key: Key = ()) -> int:
    """`value`, refused unless it is an integer within ±2**62; `key` as in `problem`."""
    if not is_integer(value):
        message = f"expected {what}, found {describe(value)}"
        raise problem("KG203", message, integer_hint(value), key)
    if abs(value) > MAX_INTEGER:
        raise problem("KG205", f"{describe(value)} is beyond 2**62, and no size is", key=key)
    return value


def integer_hint(value: object) -> str:
    """The integer that was probably meant."""
    if (
        isinstance(value, float)
        and math.isfinite(value)
        and value.is_integer()
        and abs(value) < 1e15
    ):
        return f"write `{int(value)}`"
    if isinstance(value, str) and re.fullmatch(r"[-+]?[0-9][0-9_]{0,17}", value):
        return f"write `{int(value.replace('_', ''))}`" + ", without quotes" * ("_" not in value)
    return ""


def integer_or_none(value: object, key: Key = ()) -> int | None:
    """An integer, or None for the word `none`; `key` as in `problem`."""
    if value == "none":
        return None
    if value is None:
        raise problem("KG203", "expected an integer or `none`, found nothing", "write `none`", key)
    return integer(value, "an integer or `none`", key)


def size(value: object, key: Key = ()) -> int | str:
    """An integer, or the text of an expression; `key` as in `problem`."""
    return value if isinstance(value, str) else integer(value, "an integer or an expression", key)


def positive_or(word: str, absent: str | None) -> Callable[[object], float | str | None]:
    """A check for a positive number, or `word`, which becomes `absent`."""

    def check(value: object) -> float | str | None:
        if value == word:
            return absent
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise problem(
                "KG203",
                f"expected a positive number or `{word}`, found {describe(value)}",
                f"write `{word}`" if value is None else "",
            )
        if not (0 < value < math.inf):
            raise problem("KG205", f"{value} is not positive and finite")
        return float(value)

    return check


def share(value: object) -> float:
    """A number from 0 to 1, such as 0.03 for 3 %."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        hint = "3 % is `0.03`" if isinstance(value, str) else ""
        raise problem("KG203", f"expected a number from 0 to 1, found {describe(value)}", hint)
    if not 0 <= value <= 1:
        raise problem("KG205", f"{value} is not from 0 to 1", "3 % is `0.03`")
    return float(value)


def parameter(value: object) -> int | bool | str:
    """A parameter's value, of the type that YAML gave it: the variant's declaration judges it."""
    if not isinstance(value, (int, str)):
        raise problem(
            "KG203",
            f"a parameter is an integer, `true`, `false` or a word, not {describe(value)}",
            integer_hint(value),
        )
    if is_integer(value):
        return integer(value)
    if isinstance(value, str) and (len(value) > MAX_NAME or not value.isprintable()):
        raise problem("KG205", f"a word has at most {MAX_NAME} printable characters")
    return value


def each_once(items: tuple) -> tuple:
    """A list, refused where it has an item twice."""
    seen = set()
    for index, item in enumerate(items):
        if item in seen:
            shown = "none" if item is None else item
            raise problem("KG207", f"`{shown}` is there twice", "keep one of them", (index,))
        seen.add(item)
    return items


_INTEGER = {"type": "integer"}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_NONE = {"const": "none"}
_SCALAR = {"type": ["integer", "boolean", "string"]}

Integer = Annotated[int, *checked(integer, _INTEGER)]
IntegerOrNone = Annotated[int | None, *checked(integer_or_none, {"anyOf": [_NONE, _INTEGER]})]
Parameter = Annotated[int | bool | str, *checked(parameter, _SCALAR)]
Share = Annotated[float, *checked(share, {"type": "number", "minimum": 0, "maximum": 1})]
Tolerance = Annotated[
    float | str, *checked(positive_or("auto", "auto"), {"anyOf": [{"const": "auto"}, _POSITIVE]})
]
Softcap = Annotated[
    float | None, *checked(positive_or("none", None), {"anyOf": [_NONE, _POSITIVE]})
]
