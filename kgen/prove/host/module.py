"""The emitted file as the analysis sees it: constants, imports, functions, kernels, the rest."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kgen.algebra.verdict import Status
from kgen.expr import SIZE_FUNCTIONS, Expr
from kgen.prove.host.findings import Finding, Rule
from kgen.prove.host.inert import inert
from kgen.prove.host.language import CACHES, JIT_KEYWORDS, OWN_MODULES
from kgen.prove.host.settings import MEANT, READER, is_reader, setting
from kgen.prove.host.terms import name as variable
from kgen.prove.host.terms import number
from kgen.prove.host.values import (
    Function,
    Kernel,
    Setting,
    State,
    Static,
    Symbol,
    Unknown,
    Value,
)
from kgen.render.helpers import sources


@dataclass
class Module:
    """Module-level names by what they are bound to.

    `specialised` has each kernel's `triton.jit` keywords, `sizes` the functions of kgen's own
    expressions, `state` the line of what outlives a call, `knobs` what is known of each integer that the environment
    sets.
    """

    constants: dict[str, Expr] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    kernels: dict[str, ast.FunctionDef] = field(default_factory=dict)
    specialised: dict[str, Mapping[str, ast.expr]] = field(default_factory=dict)
    state: dict[str, int] = field(default_factory=dict)
    knobs: dict[str, Setting] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()
    findings: list[Finding] = field(default_factory=list)

    def value(self, name: str) -> Value | None:
        """What a module-level or builtin name is; None where there is no such name."""
        if name in self.state:
            return State(name)
        if name in self.constants:
            return Static(self.constants[name])
        if name in self.knobs:
            return Static(variable(name))
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
        _check_import(node, module)
    for name in _bound_twice(tree):
        module.constants.pop(name, None)
        module.state[name] = module.state.get(name, 0)
    module.sizes = frozenset(n for n, f in module.functions.items() if _is_size_function(f))
    _settle_knobs(tree, module)
    return module


def _read(node: ast.stmt, module: Module) -> None:
    match node:
        case ast.Import() | ast.ImportFrom(level=0):
            module.imports |= _imported(node)
        case ast.FunctionDef():
            _read_function(node, module)
        case ast.Assign([ast.Name(name)], value):
            _read_assignment(name, value, node, module)
        case ast.AnnAssign(ast.Name(name), annotation, value) if value is not None:
            _check_inert([annotation], node, "", module)
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
    except (ValueError, TypeError):
        module.state[name] = node.lineno
        if setting(value) is not None:
            return
        _check_inert([value], node, "", module)
        return
    if constant is None or isinstance(constant, (bool, int, float)):
        module.constants[name] = number(constant)
    else:
        module.state[name] = node.lineno


def _settle_knobs(tree: ast.Module, module: Module) -> None:
    """What reads an environment variable is a knob where the whole file gives its names no other meaning."""
    reads = {one.targets[0].id: one for one in tree.body if _reads_knob(one)}
    reader = module.functions.get(READER)
    meant = {Symbol("os"), *(Symbol(f"builtins.{one}") for one in MEANT)}
    usual = {module.value(one) for one in ("os", *MEANT)} == meant
    trusted = usual and reader is not None and is_reader(reader) and READER not in module.state
    twice = _bound_twice(tree)
    for name, node in reads.items():
        found = setting(node.value)
        if trusted and name not in twice and 0 <= found.low <= found.default <= found.high:
            module.knobs[name] = found
            del module.state[name]
        else:
            _check_inert([node.value], node, "", module)


def _reads_knob(node: ast.stmt) -> bool:
    match node:
        case ast.Assign([ast.Name()], value):
            return setting(value) is not None
    return False


def _check_import(node: ast.stmt, module: Module) -> None:
    """An import runs the other module: one that is neither Python's nor torch's may change anything."""
    if isinstance(node, ast.Import):
        sources = [one.name for one in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        sources = [node.module or ""]
        if any(one.name == "*" for one in node.names):
            what = f"`{ast.unparse(node)}` may give any name another meaning"
            _doubt(what, node, "", module)
    else:
        return
    for source in sources:
        package = source.partition(".")[0]
        if package not in sys.stdlib_module_names and package not in OWN_MODULES:
            what = f"`{ast.unparse(node)}` runs {package}, of which nothing is known"
            module.findings.append(Finding(Rule.FOREIGN, Status.UNKNOWN, "", node.lineno, what))


def _check_inert(
    parts: Iterable[ast.expr | None], node: ast.stmt, function: str, module: Module
) -> None:
    """What is evaluated when the file is imported may compute values, and do nothing else."""
    for part in filter(None, parts):
        if not inert(part, module.imports):
            what = f"`{ast.unparse(part)}` is evaluated on import, and is not understood"
            _doubt(what, node, function, module)


def _doubt(what: str, node: ast.stmt, function: str, module: Module) -> None:
    module.findings.append(Finding(Rule.UNDERSTOOD, Status.UNKNOWN, function, node.lineno, what))


def _read_kernel(node: ast.FunctionDef, decorator: ast.expr, module: Module) -> None:
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else ()
    listed = decorator.args if isinstance(decorator, ast.Call) else ()
    module.kernels[node.name] = node
    module.specialised[node.name] = {one.arg or "": one.value for one in keywords}
    for part in (*listed, *(one.value for one in keywords if not _is_plain(one))):
        what = f"`{ast.unparse(part)}` in @triton.jit is not understood"
        _doubt(what, node, "", module)


def _is_plain(keyword: ast.keyword) -> bool:
    try:
        ast.literal_eval(keyword.value)
    except (ValueError, TypeError):
        return False
    return keyword.arg in JIT_KEYWORDS


def _signature(node: ast.FunctionDef) -> Iterator[ast.expr | None]:
    """What of a function is evaluated where it is defined, without its decorators."""
    given = node.args
    yield from (*given.defaults, *given.kw_defaults, node.returns)
    every = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
    yield from (one.annotation for one in every if one is not None)


def _read_function(node: ast.FunctionDef, module: Module) -> None:
    _check_inert(_signature(node), node, "", module)
    match [one for one in node.decorator_list if _path(one, module) == "triton.jit"]:
        case [decorator] if len(node.decorator_list) == 1:
            _read_kernel(node, decorator, module)
            return
    for decorator in node.decorator_list:
        path = _path(decorator, module)
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
        yield from bound_by(one)


def bound_by(node: ast.AST) -> Iterator[str]:
    """The names that this node itself binds, without what is in it."""
    match node:
        case ast.Name(bound, ast.Store() | ast.Del()):
            yield bound
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.alias(imported, None):
            yield imported.partition(".")[0]
        case ast.alias(_, bound):
            yield bound
        case ast.ExceptHandler(name=str(bound)) | ast.MatchAs(name=str(bound)):
            yield bound
        case ast.MatchStar(name=str(bound)) | ast.MatchMapping(rest=str(bound)):
            yield bound


def _bound_twice(tree: ast.Module) -> set[str]:
    """Names with two meanings at module level; one that a function declares `global` counts."""
    seen: dict[str, str] = {}
    twice: set[str] = set()
    for place, node in enumerate(tree.body):
        for name in _bound_at_import(node):
            meaning = _imported(node).get(name, f"statement {place}")
            if seen.setdefault(name, meaning) != meaning:
                twice.add(name)
    for one in ast.walk(tree):
        if isinstance(one, ast.Global):
            twice |= set(one.names)
    return twice


def _bound_at_import(node: ast.stmt) -> set[str]:
    """What a statement of the module binds; the body of a function binds nothing yet."""
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return set(stored_names(node))
    evaluated = (*node.decorator_list, *filter(None, _signature(node)))
    return {node.name}.union(*(stored_names(one) for one in evaluated))


def _imported(node: ast.stmt) -> dict[str, str]:
    """What an import binds, and to what: the same twice is one meaning."""
    found: dict[str, str] = {}
    if isinstance(node, ast.Import):
        for one in node.names:
            bound = one.asname or one.name.partition(".")[0]
            found[bound] = one.name if one.asname else bound
    elif isinstance(node, ast.ImportFrom):
        for one in node.names:
            found[one.asname or one.name] = f"{'.' * node.level}{node.module}.{one.name}"
    return found


def _is_size_function(node: ast.FunctionDef) -> bool:
    """Whether it is one of the helpers that kgen emits for its own expressions, word for word."""
    if node.name not in SIZE_FUNCTIONS:
        return False
    written = sources({node.name})
    return bool(written) and ast.dump(node) == ast.dump(ast.parse(written[0]).body[0])


def nothing(name: str) -> Unknown:
    """The value of a name that nothing binds."""
    return Unknown(f"nothing binds {name}")
