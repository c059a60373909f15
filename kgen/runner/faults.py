"""What the interpreter raises when a kernel does something that no GPU would report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Where:
    """The kernel and the program (its three ids) in which something happened."""

    kernel: str
    program: tuple[int, int, int]

    def __str__(self) -> str:
        return f"program {self.program} of kernel {self.kernel!r}"


class KernelFault(Exception):
    """A fault: its code (a KG7xx page), the tensor's name, the element's index, the program."""

    def __init__(
        self,
        code: str,
        message: str,
        where: Where,
        tensor: str = "",
        element: tuple[int, ...] = (),
    ):
        super().__init__(message)
        self.code = code
        self.message = message
        self.where = where
        self.tensor = tensor
        self.element = element


class Unsupported(Exception):
    """A construct that Triton's interpreter can't run; says nothing about whether the kernel is
    right.
    """


class Untrusted(Exception):
    """The installed interpreter computed a known kernel wrongly, so its verdicts would mean
    nothing.
    """


class NoDevice(Exception):
    """The asked-for device is not there."""
