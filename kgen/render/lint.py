"""What a judge asks of the text itself."""

from __future__ import annotations

import ast

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.judges import Profile


def check(text: str, judge: Profile, file: str) -> None:
    """Raises KgenError (KG512) where the text holds what the judge forbids or imports what it does not have."""
    found = [
        Diagnostic(
            "KG512",
            f"the judge {judge.judge} forbids {word!r}, and line {number} holds it",
            Place(file),
        )
        for word in judge.forbidden
        for number, line in enumerate(text.splitlines(), 1)
        if word.lower() in line.lower()
    ]
    for node in ast.parse(text).body:
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            modules = [node.module]
        found += [
            Diagnostic(
                "KG512", f"the judge {judge.judge} has no module {module}", Place(file, 0, 0)
            )
            for module in modules
            if judge.imports and module not in judge.imports and not _declared(node)
        ]
    if found:
        raise KgenError(found)


def _declared(node: ast.stmt) -> bool:
    """Whether the import is the fallback that the spec names."""
    return isinstance(node, ast.ImportFrom) and any(
        alias.asname == "fallback" for alias in node.names
    )
