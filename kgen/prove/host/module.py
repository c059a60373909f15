"""The emitted file as the analysis sees it: constants, imports, functions, kernels, the rest."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kgen.algebra.verdict import Status
from kgen.expr import SIZE_FUNCTIONS, Expr
from kgen.prove.host.findings import Finding, Rule
from kgen.prove.host.language import CACHES
from kgen.prove.host.terms import number
from kgen.prove.host.values import Function, Kernel, State, Static, Symbol, Unknown, Value
from kgen.render.helpers import sources


@dataclass
class Module:
    """Module-level names by what they are bound to.

    `specialised` has each kernel's `triton.jit` keywords, `sizes` the functions of kgen's own
    expressions, `state` the line of what outlives a call.
    """

    constants: dict[str, Expr] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    kernels: dict[str, ast.FunctionDef] = field(default_factory=dict)
    specialised: dict[str, Mapping[str, ast.expr]] = field(default_factory=dict)
    state: dict[str, int] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()
    findings: list[Finding] = field(default_factory=list)

    def value(self, name: str) -> Value | None:
        """What a module-level or builtin name is; None where there is no such name."""
        if name in self.state:
            return State(name)
        if name in self.constants:
            return Static(self.constants[name])
        if name in self.sizes:
            return Symbol(f"kgen.{name}")
        if name in self.functions:
            return Function(name)
        if name in self.kernels:
            return Kernel(name)
        if name in self.imports:
            return Symbol(self.imports[name])
        return Symbol(f"builtins.{name}") if hasattr(builtins, name) else None

    def parameters(self, kernel: str) -> tuple[str, ...]:
        """A kernel's parameters, in order."""
        arguments = self.kernels[kernel].args
        return tuple(one.arg for one in (*arguments.posonlyargs, *arguments.args))


def read_module(source: str) -> Module:
    """The module of a file's text. Raises SyntaxError for what is no Python."""
    module = Module()
    tree = ast.parse(source)
    for node in tree.body:
        _read(node, module)
    for name in _bound_twice(tree):
        module.constants.pop(name, None)
        module.state[name] = module.state.get(name, 0)
    module.sizes = frozenset(n for n, f in module.functions.items() if _is_size_function(f))
    return module


def _read(node: ast.stmt, module: Module) -> None:
    match node:
        case ast.Import(names):
            for one in names:
                bound = one.asname or one.name.partition(".")[0]
                module.imports[bound] = one.name if one.asname else bound
        case ast.ImportFrom(source, names, 0):
            for one in names:
                module.imports[one.asname or one.name] = f"{source}.{one.name}"
        case ast.FunctionDef():
            _read_function(node, module)
        case ast.Assign([ast.Name(name)], value):
            _read_assignment(name, value, node, module)
        case ast.AnnAssign(ast.Name(name), _, value) if value is not None:
            _read_assignment(name, value, node, module)
        case ast.Expr(ast.Constant(str())):
            pass
        case _:
            what = f"`{ast.unparse(node).splitlines()[0]}` at module level is not understood"
            module.findings.append(Finding(Rule.UNDERSTOOD, Status.UNKNOWN, "", node.lineno, what))
            for name in stored_names(node):
                module.state[name] = node.lineno


def _read_assignment(name: str, value: ast.expr, node: ast.stmt, module: Module) -> None:
    try:
        constant = ast.literal_eval(value)
    except ValueError:
        module.state[name] = node.lineno
        return
    if constant is None or isinstance(constant, (bool, int, float)):
        module.constants[name] = number(constant)
    elif not isinstance(constant, str):
        module.state[name] = node.lineno


def _read_function(node: ast.FunctionDef, module: Module) -> None:
    for decorator in node.decorator_list:
        path = _path(decorator, module)
        if path == "triton.jit":
            keywords = decorator.keywords if isinstance(decorator, ast.Call) else ()
            module.kernels[node.name] = node
            module.specialised[node.name] = {one.arg or "": one.value for one in keywords}
            return
        shown = ast.unparse(decorator)
        caches = path in CACHES
        what = f"@{shown} keeps results between calls" if caches else f"@{shown} is not understood"
        rule, status = (Rule.STATE, Status.REFUTED) if caches else (Rule.UNDERSTOOD, Status.UNKNOWN)
        module.findings.append(Finding(rule, status, node.name, decorator.lineno, what))
    for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
        if not isinstance(default, ast.Constant):
            what = f"the default {ast.unparse(default)} is made once and kept between calls"
            found = Finding(Rule.STATE, Status.REFUTED, node.name, default.lineno, what)
            module.findings.append(found)
    module.functions[node.name] = node


def _path(decorator: ast.expr, module: Module) -> str:
    """The dotted name of a decorator, called or not."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    head, _, rest = ast.unparse(node).partition(".")
    return ".".join(filter(None, (module.imports.get(head, head), rest)))


def stored_names(node: ast.AST) -> Iterator[str]:
    """Every name that is bound somewhere in `node`."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            yield one.id
        elif isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield one.name


def _bound_twice(tree: ast.Module) -> set[str]:
    """Names with two meanings at module level; one that a function declares `global` counts."""
    seen: set[str] = set()
    twice: set[str] = set()
    for node in tree.body:
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        bound = {node.name} if named else set(stored_names(node))
        twice |= bound & seen
        seen |= bound
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    for node in functions:
        for one in ast.walk(node):
            if isinstance(one, ast.Global):
                twice |= set(one.names)
    return twice


def _is_size_function(node: ast.FunctionDef) -> bool:
    """Whether it is one of the helpers that kgen emits for its own expressions, word for word."""
    if node.name not in SIZE_FUNCTIONS:
        return False
    written = sources({node.name})
    return bool(written) and ast.dump(node) == ast.dump(ast.parse(written[0]).body[0])


def nothing(name: str) -> Unknown:
    """The value of a name that nothing binds."""
    return Unknown(f"nothing binds {name}")
