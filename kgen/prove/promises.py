"""What no check of the entry can see, and proofs assume all the same: promises of the caller, and of torch."""

from __future__ import annotations

from collections.abc import Iterator

from kgen.expr import names, parse
from kgen.families.model import Accesses, Contents
from kgen.plan.model import Plan

TORCH = "torch gives no tensor a negative stride, and no storage 2^63 bytes"


def promises(plan: Plan) -> Iterator[str]:
    """Each promise that proofs of this plan's file may rest on."""
    accesses = plan.family.accesses(plan.spec)
    dims = {tensor.name: [dim.name for dim in tensor.dims] for tensor in plan.tensors}
    for contents in accesses.contents:
        yield _entries(contents, accesses, dims[contents.tensor])
    for tensor in plan.tensors:
        if tensor.role == "output" and tensor.name in plan.arguments:
            yield f"where {tensor.name} is given, its elements share memory with nothing else"
    yield TORCH


def _entries(contents: Contents, accesses: Accesses, dims: list[str]) -> str:
    behind = f"{contents.first} + " if contents.first else ""
    said = f"{contents.tensor}[{behind}{', '.join(dims)}] is from {contents.low} to {contents.high}"
    if contents.rising:
        said += ", the first the least and the last the most, and none less than the one before it"
    if contents.steps:
        said += f" nor more than {contents.steps} above it"
    if contents.distinct:
        said += ", no two of them equal"
    if contents.where == "true":
        return said
    about = contents.where + (f" and 0 <= {contents.first}" if contents.first else "")
    meanings = ", ".join(dict.fromkeys(_meanings(about, accesses)))
    return f"{said} wherever {contents.where}" + (f", where {meanings}" if meanings else "")


def _meanings(text: str, accesses: Accesses) -> Iterator[str]:
    """What the names of an expression stand for, and those in turn."""
    for name in sorted(names(parse(text))):
        if name in accesses.let:
            chosen = accesses.let[name]
            when = "" if chosen.when == "true" else f" if {chosen.when} else {chosen.otherwise}"
            yield f"{name} = {chosen.value}{when}"
            yield from _meanings(chosen.value, accesses)
        elif name in accesses.values:
            lookup = accesses.values[name]
            yield f"{name} = {lookup.tensor}[{', '.join(lookup.at)}]"
