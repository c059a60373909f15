"""How an emitted file reads an integer that the environment sets: once, when it is imported, by a helper of kgen's.

The helper refuses what is no integer within its bounds. Where a file has it word for word, and the names in it mean what
they usually mean, what it gives is an integer within bounds, and nothing more is known.
"""

from __future__ import annotations

import ast

from kgen.prove.host.values import Setting
from kgen.render.helpers import sources

READER = "read_knob"
MEANT = frozenset({"int", "len", "ValueError"})
"""The builtins that the helper uses, beside the module `os`."""


def setting(node: ast.expr) -> Setting | None:
    """What a call of the helper reads; None for anything else."""
    match node:
        case ast.Call(
            ast.Name(called),
            [
                ast.Constant(str(variable)),
                ast.Constant(int(default)),
                ast.Constant(int(low)),
                ast.Constant(int(high)),
            ],
            [],
        ) if (
            called == READER
        ):
            return Setting(variable, default, low, high, node.lineno)
    return None


def is_reader(node: ast.FunctionDef) -> bool:
    """Whether a function is kgen's helper, word for word."""
    (written,) = sources({READER})
    return ast.dump(node) == ast.dump(ast.parse(written).body[0])
