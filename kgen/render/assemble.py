"""Plan to file: kernels, launchers and entry put together, formatted, and described in a manifest."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from jinja2.sandbox import ImmutableSandboxedEnvironment

import kgen
from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.expr import to_python
from kgen.judges import Profile, profile
from kgen.plan.model import Case, Plan, RegimePlan
from kgen.plan.templates import Templates
from kgen.render import declared, lint
from kgen.render.dispatch import Entry, entry
from kgen.render.environment import environment, line_map
from kgen.render.formatting import LINE_LENGTH, formatted, line_origins
from kgen.render.hashes import sha256
from kgen.render.helpers import sources
from kgen.render.kernels import launchers as render_launchers
from kgen.render.launch import (
    LauncherText,
    constant_value,
    launcher_text,
    signatures,
    warm_up_arguments,
)
from kgen.render.linemap import Origin
from kgen.render.manifest import manifest
from kgen.render.model import Launcher, RenderedKernel, Source

SUBMISSION = "submission/submission.py.j2"
FALLBACK = "fallback"


def render(
    plan: Plan, templates: Templates | None = None, cache: Path | None = None, tidy: bool = True
) -> Source:
    """The emitted file of a plan. `tidy=False` leaves the text as the templates wrote it, for speed.

    Raises KgenError for templates that are wrong and for text that the judge forbids.
    """
    env = environment((templates or Templates()).roots)
    judge = _judge(plan)
    launchers = render_launchers(plan, env)
    declared.check(plan, env)
    raw, raw_origins = _assemble(plan, env, judge, launchers)
    text, origins = raw, raw_origins
    if tidy:
        try:
            text = formatted(raw, cache)
        except ValueError as error:
            reason = f"the emitted text is no Python: {error}"
            raise KgenError([Diagnostic("KG510", reason, Place(plan.spec.path.name))]) from None
        origins = [raw_origins[line - 1] for line in line_origins(raw, text)]
    lint.check(text, judge, plan.spec.path.name)
    described = manifest(plan, launchers, signatures(launchers), text, origins, _templates_sha(env))
    return Source(text, described)


def _judge(plan: Plan) -> Profile:
    try:
        return profile(plan.judge)
    except LookupError as error:
        raise KgenError([plan.spec.diagnostic("KG418", str(error.args[0]), "judge")]) from None


def _templates_sha(env: ImmutableSandboxedEnvironment) -> str:
    """The hash of every template that took part."""
    return sha256("\0".join(f"{name}\0{text}" for name, text in sorted(env.loader.sources.items())))


def _assemble(
    plan: Plan, env: ImmutableSandboxedEnvironment, judge: Profile, launchers: Sequence[Launcher]
) -> tuple[str, list[Origin | None]]:
    """The whole text, with kernels put in after the rest is split into lines, so that they keep their own origins."""
    texts = [(launcher, launcher_text(plan, launcher)) for launcher in launchers]
    chosen = entry(plan, texts)
    kernels = {kernel.function: kernel for launcher in launchers for kernel in launcher.kernels}
    marked = env.get_template(SUBMISSION).render(
        header=_header(plan, env),
        imports=_imports(plan),
        constants=_constants(plan, kernels.values(), texts, chosen),
        helpers=sources(_helpers(texts, chosen)),
        kernels=[f"<<{function}>>" for function in kernels],
        launchers=[text for _, text in texts],
        warm_ups=list(_warm_ups(launchers)),
        judge=judge,
        entry=chosen,
        entry_doc=_entry_doc(plan),
        fallback_name=FALLBACK,
        returns=", ".join(plan.returns),
    )
    lines, origins = [], []
    text, own = line_map(env).split(marked)
    for line, origin in zip(text.split("\n"), own):
        kernel = (
            kernels.get(line.removeprefix("<<").removesuffix(">>"))
            if line.startswith("<<")
            else None
        )
        if kernel is None:
            lines.append(line)
            origins.append(origin)
        else:
            lines += kernel.text.split("\n")
            origins += kernel.origins
    return "\n".join(lines), origins


def _header(plan: Plan, env: ImmutableSandboxedEnvironment) -> list[str]:
    document = plan.spec.document
    width = LINE_LENGTH - 2
    lines = (
        [document.name, "", *textwrap.wrap(" ".join(document.doc.split()), width), ""]
        if document.doc
        else [document.name, ""]
    )
    rows = [("regime", "when", "kernel"), *map(_row, plan.regimes)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row, regime in zip(rows, (None, *plan.regimes)):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        if regime is not None and regime.parameters:
            lines.append(
                "    " + ", ".join(f"{name}={value}" for name, value in regime.parameters.items())
            )
    lines += [
        "",
        f"devices {', '.join(plan.devices)}; targets {', '.join(plan.targets)}",
        f"written by kgen {kgen.__version__} from {plan.spec.path.name}",
        f"spec {plan.spec.sha256}",
        f"templates {_templates_sha(env)}",
    ]
    return lines


def _row(regime: RegimePlan) -> tuple[str, str, str]:
    when = "otherwise" if regime.when is None else to_python(regime.when)
    return regime.name, when, regime.call or regime.template.variant.variant


def _imports(plan: Plan) -> list[str]:
    lines = ["import torch", "import triton", "import triton.language as tl"]
    for regime in plan.regimes:
        if regime.call:
            module, function = regime.call.split(":")
            lines += ["", f"from {module} import {function} as {FALLBACK}"]
    return lines


def _constants(
    plan: Plan,
    kernels: Iterable[RenderedKernel],
    texts: Iterable[tuple[Launcher, LauncherText]],
    chosen: Entry,
) -> list[tuple[str, str, str]]:
    """The module-level constants that some launcher or the entry uses."""
    used = set(chosen.named)
    for launcher, text in texts:
        used |= text.named
    bound = " ".join(python for _, python in chosen.bindings)
    used |= {name for name in plan.constants if name in bound.replace(".", " ").split()}
    return [
        (name, repr(value), doc) for name, (value, doc) in plan.constants.items() if name in used
    ]


def _helpers(texts: Iterable[tuple[Launcher, LauncherText]], chosen: Entry) -> set[str]:
    wanted = {"check_tensor", "check_shape"} | chosen.helpers
    for _, text in texts:
        wanted |= text.helpers
    if chosen.bounds:
        wanted.add("check_range")
    if chosen.aligned:
        wanted.add("is_aligned")
    return wanted


def _warm_ups(launchers: Iterable[Launcher]) -> Iterable[str]:
    """A table row for each signature, in the order in which the file launches them, wrapped by hand.

    A formatter would give every argument a line of its own.
    """
    seen = set()
    for launcher in launchers:
        for case in launcher.group.cases:
            for kernel in launcher.kernels:
                row = _warm_up(kernel, case)
                if row not in seen:
                    seen.add(row)
                    yield from textwrap.wrap(
                        row, LINE_LENGTH - 8, subsequent_indent="    ", break_long_words=False
                    )


def _warm_up(kernel: RenderedKernel, case: Case) -> str:
    arguments = ", ".join(warm_up_arguments(kernel))
    constants = ", ".join(
        f"{a.name}={constant_value(a, case)!r}" for a in kernel.arguments if a.kind == "constant"
    )
    options = f"{kernel.plan.num_warps}, {kernel.plan.num_stages}"
    return f"({kernel.function}, ({arguments},), dict({constants}), {options}),"


def _entry_doc(plan: Plan) -> str:
    """What the entry takes and gives, a line for each tensor."""
    lines = [f"{plan.family.name.capitalize()} as the table at the top has it.", ""]
    for name in (*plan.arguments, *plan.returns):
        tensor = next((one for one in plan.tensors if one.name == name), None)
        if tensor is None:
            axis = plan.spec.axes[plan.scalars[name]]
            lines.append(f"    {name}: {axis.doc or axis.name}; None where there is none")
            continue
        shape = (
            f"[{', '.join(dim.extent for dim in tensor.dims)}]" if tensor.dims else "one element"
        )
        gives = "returns " if tensor.role == "output" else ""
        lines.append(f"    {gives}{name}: {shape} {tensor.dtype}, {tensor.doc}")
    return "\n".join([*lines, "    "])
