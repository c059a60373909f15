"""Plan to file: kernels, launchers and entry put together, formatted, and described in a manifest."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

import kgen
from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.expr import to_python
from kgen.judges import Profile, profile
from kgen.plan.model import Case, Plan, RegimePlan
from kgen.plan.templates import Templates
from kgen.render import declared, lint
from kgen.render.dispatch import Entry, entry
from kgen.render.environment import Workshop, workshop
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


def render(plan: Plan, templates: Templates | None = None, cache: Path | None = None) -> Source:
    """The emitted file of a plan. `cache` is a folder where formatted texts are kept.

    Raises KgenError for templates that are wrong and for text that the judge forbids.
    """
    shop = workshop(templates or Templates())
    launchers, raw, raw_origins = _rendered(plan, shop)
    declared.check(plan, launchers, shop)
    try:
        text = formatted(raw, cache)
    except ValueError as error:
        reason = f"the emitted text is no Python: {error}"
        raise KgenError([Diagnostic("KG510", reason, Place(plan.spec.path.name))]) from None
    origins = [raw_origins[line - 1] for line in line_origins(raw, text)]
    lint.check(text, _judge(plan), plan.spec.path.name)
    sha = _templates_sha(plan, shop)
    described = manifest(plan, launchers, signatures(launchers), text, origins, sha)
    return Source(text, described)


def raw_text(plan: Plan, templates: Templates) -> str:
    """The text of a plan as the templates wrote it, neither formatted nor checked; for trying many variants."""
    return draft(plan, templates)[1]


def draft(plan: Plan, templates: Templates) -> tuple[tuple[Launcher, ...], str]:
    """The launchers of a plan, and its text as `raw_text`; the core of that is the emitted file's."""
    launchers, text, _ = _rendered(plan, workshop(templates))
    return launchers, text


def _judge(plan: Plan) -> Profile:
    try:
        return profile(plan.judge)
    except LookupError as error:
        raise KgenError([plan.spec.diagnostic("KG418", str(error.args[0]), "judge")]) from None


def _templates_sha(plan: Plan, shop: Workshop) -> str:
    """The hash of every template that takes part."""
    files = [regime.template.file for regime in plan.regimes if regime.template]
    sources = shop.sources(SUBMISSION, _judge(plan).template, *files)
    return sha256("\0".join(f"{name}\0{text}" for name, text in sources.items()))


def _rendered(plan: Plan, shop: Workshop) -> tuple[tuple[Launcher, ...], str, list[Origin | None]]:
    """Launchers, the whole text, and the origin of each of its lines.

    Kernels are put in after the rest is split into lines, so that they keep their own origins.
    """
    launchers = render_launchers(plan, shop)
    texts = [(launcher, launcher_text(plan, launcher)) for launcher in launchers]
    chosen = entry(plan, texts)
    kernels = {kernel.function: kernel for launcher in launchers for kernel in launcher.kernels}
    marked = shop.environment.get_template(SUBMISSION).render(
        header=_header(plan, shop),
        imports=_imports(plan),
        constants=_constants(plan, texts, chosen),
        helpers=[*sources(_helpers(plan, texts, chosen)), *_knobs(plan)],
        kernels=[f"<<{function}>>" for function in kernels],
        launchers=[text for _, text in texts],
        warm_ups=list(_warm_ups(launchers)),
        judge=_judge(plan),
        entry=chosen,
        entry_doc=_entry_doc(plan),
        fallback_name=FALLBACK,
        returns=", ".join(plan.returns),
    )
    lines: list[str] = []
    origins: list[Origin | None] = []
    text, own = shop.line_map.split(marked)
    for line, origin in zip(text.split("\n"), own):
        name = line.removeprefix("<<").removesuffix(">>")
        kernel = kernels.get(name) if line.startswith("<<") else None
        lines += kernel.text.split("\n") if kernel else [line]
        origins += kernel.origins if kernel else [origin]
    return launchers, "\n".join(lines), origins


def _header(plan: Plan, shop: Workshop) -> list[str]:
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
        if regime is not None and regime.mentioned:
            lines.append("    " + ", ".join(_settings(regime)))
    lines += [
        "",
        f"devices {', '.join(plan.devices)}; targets {', '.join(plan.targets)}",
        f"written by kgen {kgen.__version__} from {_quoted(plan.spec.path.name)}",
        f"spec {plan.spec.sha256}",
        f"templates {_templates_sha(plan, shop)}",
    ]
    return lines


def _settings(regime: RegimePlan) -> Iterable[str]:
    """The parameters that a person is told, a knob by its name."""
    for name, value in regime.mentioned.items():
        knob = regime.knobs.get(name)
        yield f"{name}={value}" if knob is None else f"{name}={knob.name}"


def _row(regime: RegimePlan) -> tuple[str, str, str]:
    when = "otherwise" if regime.when is None else to_python(regime.when)
    return regime.name, when, regime.call or regime.template.variant.variant


def _quoted(text: str) -> str:
    """A spec's text as it may stand in a comment or a docstring: one line that cannot end either."""
    return " ".join(text.split()).replace("\\", "/").replace('"', "'")


def _imports(plan: Plan) -> list[str]:
    lines = ["import os", ""] if plan.knobs else []
    lines += ["import torch", "import triton", "import triton.language as tl"]
    for regime in plan.regimes:
        if regime.call:
            module, function = regime.call.split(":")
            lines += ["", f"from {module} import {function} as {FALLBACK}"]
    return lines


def _constants(
    plan: Plan, texts: Iterable[tuple[Launcher, LauncherText]], chosen: Entry
) -> list[tuple[str, str, str]]:
    """The module-level constants that some launcher or the entry uses."""
    bound = set(re.findall(r"\w+", " ".join(python for _, python in chosen.bindings)))
    used = chosen.named.union(bound, *(text.named for _, text in texts))
    return [
        (name, repr(value), _quoted(doc))
        for name, (value, doc) in plan.constants.items()
        if name in used
    ]


def _knobs(plan: Plan) -> list[str]:
    """The lines that read the knobs, as one text."""
    if not plan.knobs:
        return []
    lines = ["# read when this file is imported, and the same in every call"]
    for knob in plan.knobs.values():
        arguments = f'"{knob.variable}", {knob.default}, {knob.low}, {knob.high}'
        lines += textwrap.wrap(f"# {_quoted(knob.doc)}", LINE_LENGTH) if knob.doc else []
        lines.append(f"{knob.name} = read_knob({arguments})")
    return ["\n".join(lines)]


def _helpers(plan: Plan, texts: Iterable[tuple[Launcher, LauncherText]], chosen: Entry) -> set[str]:
    wanted = {"check_tensor", "check_shape"} | chosen.helpers
    if plan.knobs:
        wanted.add("read_knob")
    for _, text in texts:
        wanted |= text.helpers
    wanted |= {bound.check for bound in chosen.bounds}
    if chosen.choices:
        wanted.add("check_choice")
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
        [f"{a.name}={constant_value(a, case)!r}" for a in kernel.arguments if a.kind == "constant"]
        + ["launch_pdl=True"] * kernel.plan.dependent
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
            lines.append(f"    {name}: {_quoted(axis.doc or axis.name)}; None where there is none")
            continue
        shape = (
            f"[{', '.join(dim.extent for dim in tensor.dims)}]" if tensor.dims else "one element"
        )
        gives = "returns " if tensor.role == "output" else ""
        lines.append(f"    {gives}{name}: {shape} {tensor.dtype}, {tensor.doc}")
    return "\n".join([*lines, "    "])
