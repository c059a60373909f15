"""The Python source of an emitted file, as far as its kernels need it: functions, constants,
imported names."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from kgen.prove.replay.language import Module, Special, attribute_of_module
from kgen.prove.replay.model import Constant, Unsupported


@dataclass(frozen=True, eq=False)
class Parameter:
    """A parameter; its `annotation` is "constexpr", a type's name such as "int64", or ""."""

    name: str
    annotation: str
    default: ast.expr | None


@dataclass(frozen=True, eq=False)
class Function:
    """A function under `@triton.jit`."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[ast.stmt, ...]
    line: int


@dataclass(frozen=True, eq=False)
class Source:
    """A parsed file.

    `names` are what kernels may use of the module: its imports, kernels and `tl.constexpr`s;
    `plain` are other module-level names, which Triton does not let a kernel read.
    """

    text: str
    functions: Mapping[str, Function]
    names: Mapping[str, object]
    plain: frozenset[str]

    def function(self, name: str) -> Function:
        """The function called `name`. Raises Unsupported where there is none."""
        if name not in self.functions:
            known = ", ".join(self.functions) or "none"
            raise Unsupported(f"the source has no kernel {name!r}; it has {known}")
        return self.functions[name]


@lru_cache(maxsize=8)
def parse(text: str) -> Source:
    """Parses a file. Raises Unsupported where it is no Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise Unsupported(f"not Python: {error.msg}", error.lineno or 0) from None
    functions: dict[str, Function] = {}
    names: dict[str, object] = {}
    plain: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(_imported(node))
        elif isinstance(node, ast.FunctionDef) and _is_jit(node):
            functions[node.name] = names[node.name] = _function(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for name, constant in _constants(node):
                names[name] = constant
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            plain.add(node.name)
        if isinstance(node, ast.Assign):
            plain |= {t.id for t in node.targets if isinstance(t, ast.Name) and t.id not in names}
    return Source(text, functions, names, frozenset(plain))


def same_statement(text: str, line: int, other: int) -> bool:
    """Whether two lines belong to one statement: compilers and parsers count its lines differently."""
    starts = _starts(text)
    return line == other or starts.get(line, line) == starts.get(other, other)


@lru_cache(maxsize=8)
def _starts(text: str) -> Mapping[int, int]:
    """The line where the innermost statement of each line begins."""
    found: dict[int, int] = {}
    for node in ast.walk(ast.parse(text)):  # outer statements come first
        if isinstance(node, ast.stmt):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            found.update(dict.fromkeys(lines, node.lineno))
    return found


def _imported(node: ast.Import | ast.ImportFrom) -> dict[str, object]:
    """Names that stand for Triton or a part of its language."""
    found: dict[str, object] = {}
    prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        full = prefix + alias.name
        if full == "triton":
            found[alias.asname or "triton"] = Special("triton")
        elif full.startswith("triton.language"):
            path = full.removeprefix("triton.language").removeprefix(".")
            if alias.asname or prefix:
                found[alias.asname or alias.name] = _resolved(path)
    return found


def _resolved(path: str) -> object:
    """What a dotted path below `triton.language` is; an unknown one fails only where it is used."""
    found: object = Module()
    try:
        for part in path.split(".") if path else ():
            found = attribute_of_module(found, part)
    except Unsupported:
        return Module(path)
    return found


def _is_jit(node: ast.FunctionDef) -> bool:
    """Whether a decorator is `triton.jit`, called or not."""
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(target) in ("triton.jit", "jit"):
            return True
    return False


def _function(node: ast.FunctionDef) -> Function:
    spec = node.args
    if spec.vararg or spec.kwarg:
        raise Unsupported(f"{node.name} takes *args or **kwargs", node.lineno)
    positional = [*spec.posonlyargs, *spec.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(spec.defaults))
    pairs = [*zip(positional, [*defaults, *spec.defaults], strict=True)]
    pairs += zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    parameters = tuple(
        Parameter(arg.arg, _annotation(arg.annotation), default) for arg, default in pairs
    )
    return Function(node.name, parameters, tuple(node.body), node.lineno)


def _annotation(node: ast.expr | None) -> str:
    if node is None:
        return ""
    quoted = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return (node.value if quoted else ast.unparse(node)).split(".")[-1]


def _constants(node: ast.Assign | ast.AnnAssign) -> list[tuple[str, Constant]]:
    """`NAME = tl.constexpr(literal)` and `NAME: tl.constexpr = literal`."""
    value, target = node.value, node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    if not isinstance(target, ast.Name) or value is None:
        return []
    if isinstance(node, ast.AnnAssign):
        inner = value if _annotation(node.annotation) == "constexpr" else None
    else:
        named = isinstance(value, ast.Call) and ast.unparse(value.func).endswith("constexpr")
        inner = value.args[0] if named and value.args else None
    if inner is None:
        return []
    try:
        return [(target.id, ast.literal_eval(inner))]
    except ValueError:
        return []
