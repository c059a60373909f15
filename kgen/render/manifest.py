"""`manifest.json`: everything about an emitted file that later stages need, so that they read nothing else."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import kgen
from kgen.expr import to_python
from kgen.families.model import Value
from kgen.judges import profile
from kgen.plan.model import Plan, RegimePlan
from kgen.render import depends
from kgen.render.hashes import core_sha256, sha256
from kgen.render.launch import Signature
from kgen.render.linemap import Origin
from kgen.render.model import Launcher
from kgen.spec import Axis, PerRequest, Sweep
from kgen.spec.nodes import path
from kgen.spec.regime import SECTIONS


def manifest(
    plan: Plan,
    launchers: Sequence[Launcher],
    signatures: Sequence[Signature],
    text: str,
    origins: Sequence[Origin | None],
    templates_sha: str,
) -> Mapping[str, Any]:
    """The manifest as plain data; deterministic, with no path and no time in it."""
    document = plan.spec.document
    return {
        "kgen": kgen.__version__,
        "spec": {"name": document.name, "file": plan.spec.path.name, "sha256": plan.spec.sha256},
        "templates": templates_sha,
        "bytes_sha256": sha256(text),
        "core_sha256": core_sha256(text),
        "family": plan.family.name,
        "judge": plan.judge,
        "entry": profile(plan.judge).entry,
        "arguments": list(plan.arguments),
        "returns": list(plan.returns),
        "devices": list(plan.devices),
        "targets": list(plan.targets),
        "limits": document.limits.model_dump(),
        "gates": document.gates.model_dump(),
        "regimes": [_regime(plan, regime, launchers) for regime in plan.regimes],
        "kernels": _kernels(launchers),
        "signatures": [_signature(one) for one in signatures],
        "problem": problem(plan),
        "depends": depends.constants(plan),
        "values": _values(plan),
        "places": _places(plan),
        "functions": _functions(text),
        **({"knobs": _knobs(plan)} if plan.knobs else {}),
        **_source_map(origins),
    }


def _knobs(plan: Plan) -> dict[str, Any]:
    """What each environment variable may hold."""
    return {
        one.name: {"variable": one.variable, "default": one.default, "range": [one.low, one.high]}
        for one in plan.knobs.values()
    }


def _regime(plan: Plan, regime: RegimePlan, launchers: Sequence[Launcher]) -> dict[str, Any]:
    own = [launcher for launcher in launchers if launcher.regime is regime]
    return {
        "name": regime.name,
        "when": "otherwise" if regime.when is None else to_python(regime.when),
        "variant": regime.call or regime.template.variant.variant,
        "fallback": regime.fallback,
        "parameters": dict(regime.mentioned),
        "defaults": dict(regime.unmentioned),
        "launches": [[kernel.function for kernel in one.kernels] for one in own],
        "launchers": [one.function for one in own],
        "depends": depends.of_regime(plan, regime),
    }


def _kernels(launchers: Sequence[Launcher]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for launcher in launchers:
        for kernel in launcher.kernels:
            known = found.setdefault(
                kernel.function,
                {
                    "role": kernel.plan.role,
                    "doc": kernel.plan.doc,
                    "template": launcher.regime.template.file,
                    "writes": list(kernel.plan.writes),
                    "regimes": [],
                },
            )
            if launcher.regime.name not in known["regimes"]:
                known["regimes"].append(launcher.regime.name)
    return found


def _signature(signature: Signature) -> dict[str, Any]:
    return {
        "function": signature.function,
        "signature": dict(signature.types),
        "constants": dict(signature.constants),
        "divisible_by_16": list(signature.divisible),
        "num_warps": signature.num_warps,
        "num_stages": signature.num_stages,
        "regimes": list(signature.regimes),
    }


def problem(plan: Plan) -> dict[str, Any]:
    """What the family's problem module is given."""
    document = plan.spec.document
    return {
        **plan.family.problem(plan.spec),
        "arguments": list(plan.arguments),
        "returns": list(plan.returns),
        "outside": document.interface.outside,
        "axes": {axis.name: _axis(axis) for axis in plan.spec.axes.values()},
        "regimes": [
            {
                "name": regime.name,
                "when": "otherwise" if regime.when is None else document.regimes[regime.index].when,
                "fallback": regime.fallback,
                "aligned": bool(regime.aligned),
                "parameters": dict(regime.mentioned),
            }
            for regime in plan.regimes
        ],
        "workloads": {
            "check": [
                {name: _cell(value) for name, value in one.items()}
                for one in document.workloads.check
            ],
            "bench": [
                {name: _cell(value) for name, value in one.items()}
                for one in document.workloads.bench
            ],
        },
    }


def _axis(axis: Axis) -> dict[str, Any]:
    if axis.const is not None:
        return {"const": axis.const}
    if axis.values is not None:
        return {"values": list(axis.values)}
    found: dict[str, Any] = {"range": [_bound(axis.low), _bound(axis.high)]}
    return {**found, "runtime": True} if axis.runtime else found


def _bound(bound: Any) -> int | str:
    text = to_python(bound)
    return int(text) if text.lstrip("-").isdigit() else text


def _cell(value: Any) -> Value | dict[str, list[int | None]]:
    if isinstance(value, Sweep):
        return {"sweep": list(value.values)}
    return {"per_request": list(value.values)} if isinstance(value, PerRequest) else value


def _places(plan: Plan) -> dict[str, str]:
    """`FILE:LINE` where each axis, regime, parameter and key behind a constant is written; not there, it is a default."""
    found = {
        f"axes.{axis.name}": _place(plan, "axes", axis.name, next(iter(_axis(axis))))
        for axis in plan.spec.axes.values()
    }
    found |= {f"knobs.{name}": _place(plan, "knobs", name, "range") for name in plan.knobs}
    for index, regime in enumerate(plan.spec.document.regimes):
        found[f"regimes.{regime.name}"] = _place(plan, "regimes", index)
        for section in SECTIONS:
            for name in getattr(regime, section):
                key = f"regimes.{regime.name}.{section}.{name}"
                found[key] = _place(plan, "regimes", index, section, name)
    for key in _values(plan):
        parts = key.split(".")
        if len(list(path(plan.spec.origin.root, parts))) > len(parts):
            found[key] = _place(plan, *parts)
    return found


def _place(plan: Plan, *key: str | int) -> str:
    """The place of a value: its file as it is called from the spec's folder, or `<--set 1>`, and the line."""
    place = plan.spec.place(*key)
    if place.file.startswith("<"):
        return place.file
    return f"{os.path.relpath(place.file, plan.spec.path.parent)}:{place.line}"


def _values(plan: Plan) -> dict[str, Any]:
    """The values of keys that constants depend on, apart from those of axes."""
    keys = sorted({*plan.family.keys.values(), *depends.constants(plan).values()})
    own = [key for key in keys if not key.startswith(("axes.", "knobs."))]
    return {key: functools.reduce(getattr, key.split("."), plan.spec.document) for key in own}


def _functions(text: str) -> dict[str, list[int]]:
    """First and last line of each function of the file."""
    return {
        node.name: [
            min([node.lineno, *(one.lineno for one in node.decorator_list)]),
            node.end_lineno,
        ]
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }


def _source_map(origins: Sequence[Origin | None]) -> dict[str, Any]:
    templates = sorted({origin.template for origin in origins if origin})
    return {
        "templates_index": templates,
        "source_map": [[templates.index(o.template), o.line] if o else None for o in origins],
    }
