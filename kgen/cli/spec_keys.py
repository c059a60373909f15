"""The spec keys that a rendered line depends on: by the names in it, and what the manifest says of these."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_WORD = re.compile(r"[A-Za-z_]\w*")
_OPTIONS = ("num_warps", "num_stages", "launch_pdl")


@dataclass(frozen=True)
class SpecKey:
    """A key with its value; `place` is `FILE:LINE` where it is written, empty for a default that is not."""

    key: str
    value: Any
    place: str


def spec_keys(
    manifest: Mapping[str, Any], text: str, line: int, function: str
) -> tuple[SpecKey, ...] | None:
    """The keys behind the names of a line of `text`, which is in `function`, each once, in the order of the line.

    In a kernel, a launcher or a row of the warm-up, names are those of its regimes; elsewhere only those that mean the
    same in every regime. None for a manifest of an older kgen, which does not tell.
    """
    if "depends" not in manifest:
        return None
    source = text.splitlines()[line - 1].partition("#")[0]
    kernel = _kernel_at(manifest, text, line)
    regimes = [
        one
        for one in manifest["regimes"]
        if one["name"] in regimes_of(manifest, kernel or function)
    ]
    found: dict[str, None] = {}
    for name in _names(manifest, source, kernel):
        for known in (one["depends"] for one in regimes):
            found |= dict.fromkeys(known.get(name, ()))
        if name in manifest["depends"]:
            found[manifest["depends"][name]] = None
    found |= dict.fromkeys(_launched(manifest, source))
    return tuple(
        SpecKey(key, _value(manifest, key), manifest["places"].get(key, "")) for key in found
    )


def regimes_of(manifest: Mapping[str, Any], function: str) -> tuple[str, ...]:
    """The regimes that a kernel or launcher serves."""
    if function in manifest["kernels"]:
        return tuple(manifest["kernels"][function]["regimes"])
    own = (one for one in manifest["regimes"] if function in one.get("launchers", ()))
    return tuple(one["name"] for one in own)


def _names(manifest: Mapping[str, Any], source: str, kernel: str) -> Iterator[str]:
    """The words of a line; a launch option goes by the role of the kernel that is launched with it."""
    for word in _WORD.findall(source):
        if word in _OPTIONS and kernel:
            yield f"{manifest['kernels'][kernel]['role']}.{word}"
        else:
            yield word


def _kernel_at(manifest: Mapping[str, Any], text: str, line: int) -> str:
    """The kernel whose launch, or row of the warm-up, a line is part of; empty where it is part of none."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Subscript(value=ast.Name(id=name))):
                pass
            case ast.Tuple(elts=[ast.Name(id=name), *_]):
                pass
            case _:
                continue
        if node.lineno <= line <= node.end_lineno and name in manifest["kernels"]:
            return name
    return ""


def _launched(manifest: Mapping[str, Any], source: str) -> Iterator[str]:
    """The regimes whose launchers a line calls."""
    for regime in manifest["regimes"]:
        if set(regime["launchers"]) & set(_WORD.findall(source)):
            yield f"regimes.{regime['name']}"


def _value(manifest: Mapping[str, Any], key: str) -> Any:
    """The value of a key: of an axis its domain, of a knob its range and default, of a regime its condition."""
    if key in manifest["values"]:
        return manifest["values"][key]
    kind, name, *rest = key.split(".")
    if kind == "axes":
        return manifest["problem"]["axes"][name]
    if kind == "knobs":
        return manifest["knobs"][name]
    regime = next(one for one in manifest["regimes"] if one["name"] == name)
    if not rest:
        return {"when": regime["when"]}
    parameter = next(own for own, keys in regime["depends"].items() if keys == [key])
    value = {**regime.get("defaults", {}), **regime["parameters"]}[parameter]
    return "none" if value is None else value
