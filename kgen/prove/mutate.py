"""Mutants of an emitted file: one small change each, as a person or a template could get it wrong.

Each operator of `OPERATORS` looks at the syntax tree and gives replacements of spans of the text,
so that every other line stays where it was. `SAFETY` operators can make a kernel leave its memory,
miss or repeat elements, or race; `VALUE` operators change only numbers, which memory safety does
not see and tests have to.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kgen.prove.spans import Edit, Text

FAR = 1 << 30
"""An `other=` for table entries that no cache has a page for."""


@dataclass(frozen=True)
class Mutant:
    """A changed file. `line` is where, `before` and `after` are what the change replaced."""

    operator: str
    function: str
    line: int
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.function}:{self.line}: {self.operator}: `{self.before}` -> `{self.after}`"


@dataclass(frozen=True)
class Site:
    """A function under mutation: its tree, the text of its file, and whether it is a kernel."""

    node: ast.FunctionDef
    text: Text
    is_kernel: bool

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of `tl.<name>`."""
        for node in ast.walk(self.node):
            if isinstance(node, ast.Call) and _tl_name(node) in names:
                yield node

    def nodes(self, kind: type[ast.AST]) -> Iterator:
        """All nodes of a kind, defaults and decorators left out."""
        for statement in self.node.body:
            for node in ast.walk(statement):
                if isinstance(node, kind):
                    yield node


Operator = Callable[[Site], Iterator[Edit]]


def mutants(source: str, functions: Iterable[str] | None = None) -> tuple[Mutant, ...]:
    """All mutants of the kernels and launchers of a file, or of those named, each once."""
    text = Text(source)
    wanted = None if functions is None else set(functions)
    found: dict[str, Mutant] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and (wanted is None or node.name in wanted):
            site = Site(node, text, _is_kernel(node))
            for name, operator in OPERATORS.items():
                for edit in operator(site):
                    changed = text.changed(edit)
                    before, after = text.shown(edit)
                    mutant = Mutant(name, node.name, edit.line, before, after, changed)
                    if changed != source:
                        found.setdefault(changed, mutant)
    return tuple(found.values())


def counts(found: Iterable[Mutant]) -> dict[str, int]:
    """How many mutants each operator gave, 0 for those that gave none."""
    counted = Counter(mutant.operator for mutant in found)
    return {name: counted[name] for name in OPERATORS}


# ---------------------------------------------------------------- operators on kernels


def mask_dropped(site: Site) -> Iterator[Edit]:
    """A load or store without its mask."""
    for call in site.calls("load", "store"):
        keywords = [each for each in call.keywords if each.arg in ("mask", "other")]
        if any(each.arg == "mask" for each in keywords):
            yield site.text.without_arguments(call, keywords)


def mask_weakened(site: Site) -> Iterator[Edit]:
    """One side of a conjunction of masks."""
    for node in site.nodes(ast.BinOp):
        sides = (node.left, node.right)
        if isinstance(node.op, ast.BitAnd) and not any(isinstance(s, ast.Constant) for s in sides):
            for side in sides:
                yield site.text.replaced(node, site.text.of(side))


def less_to_at_most(site: Site) -> Iterator[Edit]:
    """`<` becomes `<=`, and `>` becomes `>=`, between integers."""
    if not site.is_kernel:
        return
    for node in site.nodes(ast.Compare):
        operator = node.ops[0]
        number = isinstance(node.comparators[0], ast.Constant)
        if len(node.ops) == 1 and isinstance(operator, (ast.Lt, ast.Gt)) and not number:
            symbol = "<" if isinstance(operator, ast.Lt) else ">"
            yield site.text.between(node.left, node.comparators[0], symbol, symbol + "=")


def cast_removed(site: Site) -> Iterator[Edit]:
    """An index that is no longer widened: `.to(tl.int64)`, or the `tl.int64` of a parameter."""
    for call in site.nodes(ast.Call):
        target = call.func
        if isinstance(target, ast.Attribute) and target.attr == "to" and len(call.args) == 1:
            if ast.unparse(call.args[0]) in ("tl.int64", "tl.uint64"):
                yield site.text.replaced(call, site.text.of(target.value))
    for parameter in site.node.args.args if site.is_kernel else ():
        if parameter.annotation is not None and ast.unparse(parameter.annotation) == "tl.int64":
            yield site.text.replaced(parameter, parameter.arg)


def split_short(site: Site) -> Iterator[Edit]:
    """The remainder is left out: a quotient rounds down, a loop ends a step early."""
    for call in site.nodes(ast.Call):
        if _tl_name(call) == "cdiv" or ast.unparse(call.func) in ("ceil_div", "triton.cdiv"):
            left, right = (site.text.of(each) for each in call.args)
            yield site.text.replaced(call, f"(({left}) // ({right}))")
    for call in site.calls("range"):
        if len(call.args) == 3:
            end, step = (site.text.of(each) for each in call.args[1:])
            yield site.text.replaced(call.args[1], f"{end} - {step}")


def stride_swapped(site: Site) -> Iterator[Edit]:
    """Two neighbouring strides of an address change places."""
    if not site.is_kernel:
        return
    for statement in site.nodes(ast.expr):
        products = _strides(statement)
        for first, second in zip(products, products[1:], strict=False):
            if first.id != second.id:
                yield site.text.swapped(first, second)


def lanes_halved(site: Site) -> Iterator[Edit]:
    """Half of a range of lanes."""
    for call in site.calls("arange"):
        yield site.text.replaced(call.args[1], f"{site.text.of(call.args[1])} // 2")


def clamp_dropped(site: Site) -> Iterator[Edit]:
    """One side of a minimum or maximum of integers."""
    for call in site.calls("minimum", "maximum"):
        for argument in call.args:
            yield site.text.replaced(call, site.text.of(argument))


def guard_dropped(site: Site) -> Iterator[Edit]:
    """What stood behind a condition always happens."""
    for node in site.nodes(ast.If):
        if site.is_kernel:
            yield site.text.replaced(node.test, "True")


def table_other(site: Site) -> Iterator[Edit]:
    """Entries of a table that are not loaded become ids far outside."""
    for call in site.calls("load"):
        for keyword in call.keywords:
            value = keyword.value
            if (
                keyword.arg == "other"
                and isinstance(value, ast.Constant)
                and isinstance(value.value, int)
            ):
                yield site.text.replaced(value, str(FAR))


def barrier_removed(site: Site) -> Iterator[Edit]:
    """No barrier between partial stores and the counter, or no wait for the launch before."""
    for statement in _call_statements(site):
        if _tl_name(statement.value) in ("debug_barrier", "extra.cuda.gdc_wait"):
            yield site.text.replaced(statement, "pass")


def release_removed(site: Site) -> Iterator[Edit]:
    """An atomic that neither releases nor acquires, or does so only within the program."""
    for call in site.nodes(ast.Call):
        name = _tl_name(call) or ""
        if name.startswith("atomic_"):
            for argument, weak in (("sem", '"relaxed"'), ("scope", '"cta"')):
                yield site.text.with_argument(call, argument, weak)


def reset_removed(site: Site) -> Iterator[Edit]:
    """A counter that is not set back to 0."""
    for statement in _call_statements(site):
        call = statement.value
        values = [*call.args[1:2], *(k.value for k in call.keywords if k.arg in ("val", "value"))]
        zero = any(isinstance(value, ast.Constant) and value.value == 0 for value in values)
        if _tl_name(call) in ("store", "atomic_xchg", "atomic_and") and zero:
            yield site.text.replaced(statement, "pass")


# ---------------------------------------------------------------- operators on launchers


def scratch_short(site: Site) -> Iterator[Edit]:
    """Scratch with one element fewer in a dimension."""
    if site.is_kernel or not site.node.name.startswith("launch"):
        return
    for call in site.nodes(ast.Call):
        if ast.unparse(call.func) in ("torch.empty", "torch.zeros") and call.args:
            if isinstance(call.args[0], ast.Tuple):
                for extent in call.args[0].elts:
                    yield site.text.replaced(extent, f"{site.text.of(extent)} - 1")


def grid_short(site: Site) -> Iterator[Edit]:
    """A launch with one program fewer on a grid axis."""
    if site.is_kernel:
        return
    for call in site.nodes(ast.Call):
        target = call.func
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Tuple):
            for extent in target.slice.elts:
                yield site.text.replaced(extent, f"{site.text.of(extent)} - 1")


# ---------------------------------------------------------------- operators on values


def data_other(site: Site) -> Iterator[Edit]:
    """Data that is not loaded is no number: whatever is computed with it is none either."""
    for call in site.calls("load"):
        for keyword in call.keywords:
            if keyword.arg == "other" and _is_data(ast.unparse(keyword.value)):
                yield site.text.replaced(keyword.value, 'float("nan")')


def _is_data(shown: str) -> bool:
    return shown == "0.0" or "inf" in shown


def scale_dropped(site: Site) -> Iterator[Edit]:
    """A product without its scale."""
    if not site.is_kernel:
        return
    for node in site.nodes(ast.BinOp):
        if isinstance(node.op, ast.Mult) and "scale" in ast.unparse(node.right).lower():
            yield site.text.replaced(node, site.text.of(node.left))


SAFETY: dict[str, Operator] = {
    "mask dropped": mask_dropped,
    "mask weakened": mask_weakened,
    "< to <=": less_to_at_most,
    "cast removed": cast_removed,
    "split short": split_short,
    "stride swapped": stride_swapped,
    "lanes halved": lanes_halved,
    "clamp dropped": clamp_dropped,
    "guard dropped": guard_dropped,
    "table other out of range": table_other,
    "barrier removed": barrier_removed,
    "release removed": release_removed,
    "reset removed": reset_removed,
    "scratch short": scratch_short,
    "grid short": grid_short,
}
VALUE: dict[str, Operator] = {"data other changed": data_other, "scale dropped": scale_dropped}
OPERATORS: dict[str, Operator] = {**SAFETY, **VALUE}


# ---------------------------------------------------------------- parts


def _is_kernel(node: ast.FunctionDef) -> bool:
    return any("jit" in ast.unparse(decorator) for decorator in node.decorator_list)


def _tl_name(call: ast.AST) -> str | None:
    """The name below `tl` of what is called, or None."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        dotted = ast.unparse(call.func)
        if dotted.startswith("tl."):
            return dotted.removeprefix("tl.")
    return None


def _call_statements(site: Site) -> Iterator[ast.Expr]:
    for statement in site.nodes(ast.Expr):
        if isinstance(statement.value, ast.Call):
            yield statement


def _strides(node: ast.expr) -> list[ast.Name]:
    """The strides in a sum of products, or in nested ones such as `(b * H + h) * S + s`, from left
    to right.

    Only the outermost sum of an expression is looked at, so that each pair is found once.
    """
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return []
    found: list[ast.Name] = []

    def collect(part: ast.expr) -> None:
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            collect(part.left)
            collect(part.right)
        elif isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mult):
            collect(part.left)
            right = part.right
            if isinstance(right, ast.Name) and (
                right.id.startswith("stride_") or right.id.isupper()
            ):
                found.append(right)

    collect(node)
    return found
