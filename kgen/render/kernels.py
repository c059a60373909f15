"""Device code: each group's kernels, rendered, pruned to the arguments they use, and shared where texts are equal."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.expr import suggestion
from kgen.plan.model import Argument, Group, KernelPlan, Plan, RegimePlan, Template
from kgen.render.environment import Workshop
from kgen.render.linemap import Origin, unmarked
from kgen.render.model import Launcher, RenderedKernel

_CALL = '{{% import "{file}" as kernels with context %}}{{{{ kernels.{role}() }}}}'
_MODULES = {"tl", "triton", *dir(builtins)}


def launchers(plan: Plan, shop: Workshop) -> tuple[Launcher, ...]:
    """A launcher for each group of each regime, in order. Raises KgenError for templates that are wrong."""
    naming = _Naming(plan)
    files = {regime.template.file for regime in plan.regimes if regime.template}
    sources = {file: tuple(shop.sources(file).values()) for file in files}
    rendered: dict[str, RenderedKernel] = {}
    found = []
    for regime in plan.regimes:
        for group in regime.groups:
            kernels = []
            for kernel in group.kernels:
                name = naming.kernel(regime, group, kernel)
                key = sources[regime.template.file]
                fresh = _render(plan, shop, regime, group, kernel, name, key)
                kernels.append(_shared(fresh, rendered))
            name = naming.launcher(regime, group, {one.function for one in found})
            found.append(Launcher(name, regime, group, tuple(kernels)))
    return tuple(found)


class _Naming:
    """Names after roles; labels are named only where a variant has kernels both with and without them."""

    def __init__(self, plan: Plan):
        self.roles: dict[str, set[str]] = {}
        self.seen: dict[str, set[tuple[tuple[str, bool], ...]]] = {}
        for regime in plan.regimes:
            for group in regime.groups:
                self.seen.setdefault(regime.template.name, set()).add(tuple(group.labels.items()))
                for kernel in group.kernels:
                    self.roles.setdefault(kernel.role, set()).add(regime.template.name)

    def kernel(self, regime: RegimePlan, group: Group, kernel: KernelPlan) -> str:
        words = [kernel.role]
        if len(self.roles[kernel.role]) > 1:
            words.insert(0, regime.template.variant.variant)
        ignored = regime.template.variant.kernels[kernel.role].ignores
        telling = _telling(group.labels, self.seen[regime.template.name])
        words += [label for label in telling if label not in ignored]
        return "_".join([*words, "wide"] if kernel.wide else words) + "_kernel"

    def launcher(self, regime: RegimePlan, group: Group, taken: set[str]) -> str:
        """A name of its own, also where a regime is called like another with a label behind it."""
        own = {tuple(one.labels.items()) for one in regime.groups}
        name = "_".join(["launch", regime.name, *_telling(group.labels, own)])
        while name in taken:
            name += "_"
        return name


def _telling(labels: Mapping[str, bool], seen: Iterable[tuple[tuple[str, bool], ...]]) -> list[str]:
    """The labels that are set here and not everywhere."""
    common = set.intersection(*({label for label, value in one if value} for one in seen))
    return [label for label, value in labels.items() if value and label not in common]


def _shared(fresh: RenderedKernel, rendered: dict[str, RenderedKernel]) -> RenderedKernel:
    """`fresh`, or an earlier kernel with the same text under another name."""
    for name, earlier in rendered.items():
        if _body(earlier) == _body(fresh):
            return replace(earlier, plan=fresh.plan, arguments=fresh.arguments)
        if name == fresh.function:
            raise KgenError(
                [
                    Diagnostic(
                        "KG511",
                        f"{name} would have two texts: it differs between cases that no label tells apart",
                        Place(fresh.origins[0].template if fresh.origins[0] else "template"),
                        "add what makes the difference to `labels` in variant.yaml",
                    )
                ]
            )
    rendered[fresh.function] = fresh
    return fresh


def _body(kernel: RenderedKernel) -> str:
    return kernel.text.replace(f"def {kernel.function}(", "def kernel(", 1)


# ---------------------------------------------------------------- one kernel


def _render(
    plan: Plan,
    shop: Workshop,
    regime: RegimePlan,
    group: Group,
    kernel: KernelPlan,
    function: str,
    sources: tuple[str, ...],
) -> RenderedKernel:
    """The kernel with those of its arguments that it uses. What its text depends on is the key of `shop.texts`."""
    key = (
        regime.template.directory,
        function,
        kernel.role,
        tuple((a.name, a.kind, a.divisible) for a in kernel.arguments),
        tuple(group.labels.items()),
        kernel.unit,
        kernel.wide,
        tuple(plan.family.context(plan.spec).items()),
        sources,
    )
    if key not in shop.texts:
        shop.texts[key] = _pruned(plan, shop, regime.template, group, kernel, function)
    names, text, origins = shop.texts[key]
    arguments = tuple(argument for argument in kernel.arguments if argument.name in names)
    return RenderedKernel(function, kernel, arguments, text, origins)


def _pruned(
    plan: Plan,
    shop: Workshop,
    template: Template,
    group: Group,
    kernel: KernelPlan,
    function: str,
) -> tuple[frozenset[str], str, tuple[Origin | None, ...]]:
    """Rendered with all arguments that the variant declares, then with those that the text uses: these, and the text."""
    first, _ = _text(plan, shop, template, group, kernel, function, kernel.arguments)
    tree = _parsed(first, template, kernel)
    used = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    arguments = tuple(argument for argument in kernel.arguments if argument.name in used)
    text, origins = _text(plan, shop, template, group, kernel, function, arguments)
    _check_names(_parsed(text, template, kernel), origins, template)
    return used, text, tuple(origins)


def _text(
    plan: Plan,
    shop: Workshop,
    template: Template,
    group: Group,
    kernel: KernelPlan,
    function: str,
    arguments: tuple[Argument, ...],
) -> tuple[str, list[Origin | None]]:
    context = _context(plan, group, kernel, function, arguments)
    try:
        call = shop.environment.from_string(_CALL.format(file=template.file, role=kernel.role))
        marked = call.render(context)
    except TemplateSyntaxError as error:
        place = Place(error.filename or template.file, error.lineno, 1)
        raise KgenError(
            [Diagnostic("KG508", f"the template does not parse: {error.message}", place)]
        ) from None
    except (TemplateError, ValueError, TypeError, KeyError) as error:
        raise KgenError([_failed(error, template, kernel)]) from None
    return shop.line_map.split(marked.strip("\n") + "\n")


def _failed(error: Exception, template: Template, kernel: KernelPlan) -> Diagnostic:
    """A diagnostic at the innermost template line of a rendering error."""
    place = Place(template.file)
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.endswith(".j2"):
            place = Place(file, trace.tb_lineno, 1)
        trace = trace.tb_next
    message = f"kernel {kernel.role} cannot be rendered: {error}"
    return Diagnostic(
        "KG509",
        message,
        place,
        "every name must come from variant.yaml or the family; see docs/templates.md",
    )


def _context(
    plan: Plan, group: Group, kernel: KernelPlan, function: str, arguments: tuple[Argument, ...]
) -> dict[str, Any]:
    tensors = {tensor.name: tensor for tensor in plan.tensors}
    tensors |= {scratch.tensor.name: scratch.tensor for scratch in group.scratch}
    present = {argument.tensor for argument in kernel.arguments if argument.kind == "pointer"}
    possible = {*tensors, *plan.family.optional}

    def has(name: str) -> bool:
        """Whether the spec has a tensor that it may leave out."""
        if name not in possible:
            raise ValueError(f"there is no tensor {name}; {suggestion(name, possible, 'tensors')}")
        return name in present

    def at(name: str, **coordinates: str) -> str:
        """Offset in elements of a tensor's coordinates; dimensions of one element are left out, the last has no stride."""
        tensor = tensors[name]
        dims = [dim.name for dim in tensor.dims]
        unknown = set(coordinates) - set(dims)
        if unknown:
            raise ValueError(
                f"{name} has no dimension {sorted(unknown)[0]}; it has {', '.join(dims)}"
            )
        terms = [
            (
                _product(coordinates[dim], f"stride_{tensor.short}_{dim}")
                if dim != dims[-1]
                else coordinates[dim]
            )
            for dim in dims
            # the last dimension costs nothing, and may be all that gives an address its shape
            if dim in coordinates and (dim == dims[-1] or (name, dim) not in kernel.unit)
        ]
        return " + ".join(terms) if terms else "0"

    def widen(name: str, index: str) -> str:
        """An index that starts an offset into `name`: 64 bits wide where the tensor needs it."""
        return f"{_atom(index)}.to(tl.int64)" if name in kernel.wide else index

    return {
        **plan.family.context(plan.spec),
        "label": dict(group.labels),
        "has": has,
        "at": at,
        "widen": widen,
        "atom": _atom,
        "head": lambda: _head(function, arguments),
    }


def _product(text: str, stride: str) -> str:
    """A coordinate times a stride; 1 is not written."""
    return stride if text == "1" else f"{_atom(text)} * {stride}"


def _atom(text: str) -> str:
    """`text`, in parentheses unless it binds tighter than a product."""
    text = unmarked(text).strip()
    node = ast.parse(text, mode="eval").body
    loose = isinstance(node, (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp))
    return f"({text})" if loose else text


def _head(function: str, arguments: tuple[Argument, ...]) -> str:
    """Decorator and signature, pinned: every number has its type, and nothing is specialised but what is declared.

    A pointer or number in `do_not_specialize` gives one signature whatever its value; one that is declared divisible is
    left out, and the launcher has checked it.
    """
    loose = [a.name for a in arguments if a.kind != "constant" and not a.divisible]
    decorator = f"@triton.jit(do_not_specialize={loose!r})" if loose else "@triton.jit"
    annotation = {"stride": ": tl.int64", "size": ": tl.int32", "constant": ": tl.constexpr"}
    parameters = ", ".join(a.name + annotation.get(a.kind, "") for a in arguments)
    return f"{decorator}\ndef {function}({parameters}):"


def _parsed(text: str, template: Template, kernel: KernelPlan) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        line = text.splitlines()[error.lineno - 1] if error.lineno else ""
        message = f"kernel {kernel.role} renders to what is no Python: {error.msg}"
        raise KgenError(
            [Diagnostic("KG510", message, Place(template.file), f"the line reads: {line.strip()}")]
        ) from None


def _check_names(tree: ast.Module, origins: list[Origin | None], template: Template) -> None:
    """Every name that the kernel reads is a parameter, assigned in it, or Triton's."""
    function = tree.body[0]
    known = {argument.arg for argument in function.args.args} | _MODULES
    known |= {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in known:
            origin = origins[node.lineno - 1]
            place = Place(origin.template, origin.line, 1) if origin else Place(template.file)
            raise KgenError(
                [
                    Diagnostic(
                        "KG507",
                        f"the kernel uses {node.id}, which variant.yaml does not declare for it",
                        place,
                        f"add {node.id} to the kernel's `constants`, `sizes` or `tensors`",
                    )
                ]
            )
