"""How the schema's own checks report: an error that pydantic collects with all others."""

from __future__ import annotations

from pydantic_core import PydanticCustomError

from kgen.spec.nodes import Key
from kgen.spec.text import printable

KIND = "kgen"
"""The type of these errors among those of pydantic."""


def problem(
    code: str, message: str, hint: str = "", key: Key = (), on_key: bool = False
) -> PydanticCustomError:
    """An error to raise in a validator.

    `key` leads from the value under validation to the part that is wrong; `on_key` points at the
    key in front of that part.
    """
    context = {"code": code, "message": message, "hint": hint, "key": key, "on_key": on_key}
    return PydanticCustomError(KIND, "{message}", context)


def describe(value: object) -> str:
    """What stands in the file, in the words of YAML."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int):
        return f"the integer {value}"
    if isinstance(value, float):
        return f"the real {value}"
    if isinstance(value, str):
        return f'the text "{printable(value, 60)}"'
    return "a mapping" if isinstance(value, dict) else "a list"
