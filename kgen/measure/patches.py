"""Whether a file has exchanged what times and checks it, which is in the same process as the file.

What is there before the file is loaded is kept, and compared by identity later. A file that exchanges this module too, that
puts everything back in time, or that writes memory behind Python's back is not seen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from kgen.runner.load import LOADED

OWN = ("kgen.evidence", "kgen.families", "kgen.measure", "kgen.runner", "kgen.worker")
"""Packages of which everything is kept, constants too."""

MODULES = ("time", "ctypes", "torch", "torch.cuda", "triton", "triton.runtime.jit")
"""Modules of others; of these and of the classes below, what has a name that the code of `OWN` speaks."""

CLASSES = (
    "torch.Tensor",
    "torch.cuda.Event",
    "torch.cuda.Stream",
    "torch.cuda.StreamContext",
    "torch.cuda.CUDAGraph",
    "torch.cuda.graph",
    "torch.utils._python_dispatch.TorchDispatchMode",
    "triton.runtime.jit.JITFunction",
    "triton.runtime.jit.KernelInterface",
)
ALWAYS = ("run", "__getitem__", "__enter__", "__exit__", "__torch_dispatch__")
"""What statements call without a name, and how a kernel is launched."""

HONEST = ("torch.manual_seed",)
"""Torch's compiler exchanges it when it is imported."""

HOOK = ("triton.knobs", "runtime", "jit_cache_hook")
"""Where compilations are counted."""


@dataclass(frozen=True)
class Kept:
    """What a name stood for in the first of these places that has it, and the code that a function had."""

    told: str
    name: str
    places: tuple[Mapping[str, Any], ...]
    value: object
    code: CodeType | None

    @property
    def exchanged(self) -> bool:
        """Whether it stands for something else now."""
        now = _lookup(self.places, self.name)
        return now is not self.value or _code(now) is not self.code


class Patches:
    """Looks for what was exchanged since it was made."""

    def __init__(self) -> None:
        own = tuple(_own())
        used = frozenset(ALWAYS).union(*(_names(one.code) for one in own if one.code))
        others = (one for one in _others(used) if one.told not in HONEST)
        self._kept = (*own, *_problem(), *others)
        self._hook = _hook()

    def found(self) -> Iterator[str]:
        """Names that stand for something else now."""
        yield from (one.told for one in self._kept if one.exchanged)
        if _hook() is not self._hook:
            yield ".".join(HOOK)


def _own() -> Iterator[Kept]:
    """Everything of ours that is loaded."""
    for name, module in sorted(sys.modules.items()):
        if not name.startswith(tuple(f"{own}." for own in OWN)):
            continue
        names = {one for one in vars(module) if not one.startswith("__")}
        yield from _members(module, names)
        for value in tuple(vars(module).values()):
            if isinstance(value, type) and value.__module__ == name:
                yield from _members(value, set(vars(value)))


def _problem() -> Iterator[Kept]:
    """The functions of a problem that is a file: nothing else was loaded from one yet. Its constants may change."""
    for name, module in sorted(sys.modules.items()):
        if name.startswith(LOADED):
            yield from _members(
                module, {one for one, value in vars(module).items() if callable(value)}
            )


def _others(used: frozenset[str]) -> Iterator[Kept]:
    """The functions and classes of others that are loaded and `used`."""
    owners: list[Any] = [sys.modules.get(name) for name in MODULES]
    for name in CLASSES:
        module, _, kind = name.rpartition(".")
        owners.append(getattr(sys.modules.get(module), kind, None))
    for owner in owners:
        if owner is not None:
            kept = _members(owner, used.intersection(dir(owner)))
            yield from (one for one in kept if callable(one.value) or _code(one.value))


def _members(owner: ModuleType | type, names: set[str] | frozenset[str]) -> Iterator[Kept]:
    """What these names stand for, as it is: no property is computed and no method bound."""
    is_class = isinstance(owner, type)
    places = tuple(vars(place) for place in (owner.__mro__ if is_class else (owner,)))
    within = f"{owner.__module__}.{owner.__qualname__}" if is_class else owner.__name__
    for name in sorted(names):
        value = _lookup(places, name)
        yield Kept(f"{within}.{name}", name, places, value, _code(value))


def _lookup(places: tuple[Mapping[str, Any], ...], name: str) -> object:
    for place in places:
        if name in place:
            return place[name]
    return None


def _code(value: object) -> CodeType | None:
    """The code of a function, also of one that is a method of a class or a property."""
    if isinstance(value, property):
        value = value.fget
    found = getattr(getattr(value, "__func__", value), "__code__", None)
    return found if isinstance(found, CodeType) else None


def _names(code: CodeType) -> set[str]:
    """Every name that some code speaks, also within the functions that it makes."""
    within = (one for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*map(_names, within))


def _hook() -> object:
    found: object = sys.modules.get(HOOK[0])
    for name in HOOK[1:]:
        found = getattr(found, name, None)
    return found
