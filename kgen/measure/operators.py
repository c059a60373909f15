"""What a call asks of torch: the operators that it runs, and those that wait for their result."""

from __future__ import annotations

from torch.utils._python_dispatch import TorchDispatchMode

_WAIT = ("aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::_unique2")


class Operators(TorchDispatchMode):
    """While active, collects the names of operators; `waited` says whether one needed a value on the host.

    Allocations are left out: a file that allocates a workspace at its first call is no other file at its second.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.waited = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Torch asks this of each mode; yes would import its compiler into every process."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.name()
        if not name.startswith(("aten::empty", "aten::new_empty")):
            self.names.append(name)
        self.waited = self.waited or name.split(".")[0] in _WAIT
        return func(*args, **(kwargs or {}))
