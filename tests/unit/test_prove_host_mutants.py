"""Every statement and comparison of emitted host code is needed for something to be proved.

Mutants come from the syntax tree of the host code itself; those that stay proved are harmless, and
listed here with the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.prove.host import prove_host
from kgen.render.assemble import raw_text
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

SPEC = "specs/norm/rms_4096.yaml"
HARMLESS = {
    # no tensor of this spec has a single element
    "without `if rank == 0 and tensor.numel() != 1:`",
    "without `raise ValueError(f'{name} has {tensor.numel()} elements, not one')`",
    "`rank != 0`",
    "`tensor.numel() == 1`",
    "`rank == 0 or tensor.numel() != 1`",
    # without rows the range check raises instead
    "without `if out.numel() == 0:`",
    "without `return out` before the launch",
    # stricter tests: fewer calls get through, or more of them to the fallback
    "`tensor.shape[-1] >= 1`",
    "`low < value <= high`",
    "`low <= value < high`",
    "`1 < T <= 65536`",
    "`1 <= T < 65536`",
    "`T < 65536`",
}
OTHER = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@pytest.fixture(scope="module")
def emitted(root: Path):
    templates = Templates()
    plan = build(load(root / SPEC), templates)
    return raw_text(plan, templates), plan, launchers(plan, workshop(templates))


def deletions(tree: ast.Module, block: list[ast.stmt]) -> Iterator[str]:
    """Leaves out each statement in turn; the tree is whole again afterwards."""
    for index, node in enumerate(list(block)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        first = ast.unparse(node).splitlines()[0]
        early = " before the launch" if first == "return out" and len(block) == 1 else ""
        block[index] = ast.Pass()
        yield f"without `{first}`{early}"
        block[index] = node
        for inner in (getattr(node, "body", []), getattr(node, "orelse", [])):
            yield from deletions(tree, inner)


def changes(function: ast.FunctionDef) -> Iterator[str]:
    """Weakens or turns round each comparison and each `and` in turn."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            for index, op in enumerate(node.ops):
                node.ops[index] = OTHER[type(op)]()
                yield f"`{ast.unparse(node)}`"
                node.ops[index] = op
        elif isinstance(node, ast.BoolOp):
            op, node.op = node.op, OTHER[type(node.op)]()
            yield f"`{ast.unparse(node)}`"
            node.op = op


def mutants(text: str) -> Iterator[tuple[str, str]]:
    """(what was changed, the changed text)."""
    tree = ast.parse(text)
    for node in tree.body:
        host = isinstance(node, ast.FunctionDef) and not node.decorator_list
        if host and node.name != "warmup":
            for made in (deletions(tree, node.body), changes(node)):
                for label in made:
                    yield label, ast.unparse(ast.fix_missing_locations(tree))


def test_every_mutant_of_the_host_code_is_found_but_for_harmless_ones(emitted):
    text, plan, made = emitted
    survivors, count = set(), 0
    for label, changed in mutants(text):
        count += 1
        found = prove_host(changed, plan, made).obligations
        if all(one.status is Status.PROVED for one in found):
            survivors.add(label)
    assert count > 50
    assert survivors == HARMLESS
