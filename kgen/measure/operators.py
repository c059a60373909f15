"""What a call asks of torch: the operators that it runs, and those that wait for their result."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_WAIT = ("aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2")


class Operators(TorchDispatchMode):
    """While active, collects operators as `aten::add.Tensor(4x64, 64)`, with the sizes of the tensors that they are given;
    `waited` says whether one needed a value on the host.

    Allocations are left out: a file that allocates a workspace at its first call is no other file at its second.
    Operators that take functions, such as FlexAttention, are one name each.
    """

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.waited = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch asks this of each mode; yes would import its compiler into every process."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self._note(func.name(), args, kwargs)
        return func(*args, **(kwargs or {}))

    def _note(self, name: str, args: Sequence[object], kwargs: Mapping[str, object] | None) -> None:
        if not name.startswith(("aten::empty", "aten::new_empty")):
            self.names.append(f"{name}({', '.join(_sizes((*args, *(kwargs or {}).values())))})")
        self.waited = self.waited or name.split(".")[0] in _WAIT


class _BesideCompiler(Operators):
    """The same where torch's compiler is there: it neither follows this mode nor gives up because of it.

    What it has compiled runs as it does without; launches within are not seen.
    """

    @classmethod
    def is_infra_mode(cls) -> bool:
        return True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return True

    # torch hides only a class's own function from its compiler, not an inherited one
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self._note(func.name(), args, kwargs)
        return func(*args, **(kwargs or {}))


def _sizes(values: Sequence[object]) -> Iterator[str]:
    """Those of tensors, also in lists of them."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield "x".join(map(str, value.shape)) or "scalar"
        elif isinstance(value, (list, tuple)):
            yield from _sizes(value)


def watched() -> Operators:
    """Operators of what is run while it is active."""
    return _BesideCompiler() if "torch._dynamo" in sys.modules else Operators()
