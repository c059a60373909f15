"""A loaded spec: the checked document, its expressions, and where everything was written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kgen.diagnostics import Diagnostic, Place, Severity
from kgen.expr import Expr, Span
from kgen.spec.attention import AttentionSpec
from kgen.spec.nodes import Key
from kgen.spec.norm import NormSpec
from kgen.spec.origin import Origin


@dataclass(frozen=True)
class Axis:
    """A named integer with its domain: one of `const`, `low` with `high`, and `values`.

    None stands for `none` among the values.
    """

    name: str
    const: int | None = None
    low: Expr | None = None
    high: Expr | None = None
    values: tuple[int | None, ...] | None = None
    runtime: bool = False
    doc: str = ""

    @property
    def kind(self) -> str:
        """The kind of its value in expressions: `int`, `int?` (an integer or `none`) or `none`."""
        if self.values is None or None not in self.values:
            return "int"
        return "none" if set(self.values) == {None} else "int?"


@dataclass(frozen=True)
class Spec:
    """One checked spec.

    `path` and `text` are those of its own file; `sha256` is that of the resolved document as
    canonical JSON, so that comments and layout do not matter.
    """

    document: AttentionSpec | NormSpec
    path: Path
    text: str
    sha256: str
    axes: Mapping[str, Axis]
    expressions: Mapping[Key, Expr]
    origin: Origin

    def expr(self, *key: str | int) -> Expr:
        """The expression at `key`, such as ("regimes", 0, "when"); `otherwise` is `true`.

        Raises KeyError for a key that holds none.
        """
        return self.expressions[key]

    def place(self, *key: str | int, span: Span | None = None, on_key: bool = False) -> Place:
        """Where the value at `key` was written: see `Origin.place`."""
        return self.origin.place(*key, span=span, on_key=on_key)

    def diagnostic(
        self,
        code: str,
        message: str,
        *key: str | int,
        hint: str = "",
        span: Span | None = None,
        on_key: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> Diagnostic:
        """A diagnostic about the value at `key`, or a `span` of it: see `Origin.diagnostic`."""
        return self.origin.diagnostic(
            code, message, *key, hint=hint, span=span, on_key=on_key, severity=severity
        )
