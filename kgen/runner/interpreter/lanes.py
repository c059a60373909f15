"""Says which element of which tensor an access of a kernel went wrong at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgen.runner.faults import KernelFault, Where
from kgen.runner.interpreter.windows import Access


@dataclass(frozen=True)
class Lanes:
    """The active lanes of one load, store or atomic: `action` by `where`, at the true positions of
    `mask`.
    """

    mask: np.ndarray
    where: Where
    action: str

    def fault(self, code: str, access: Access, lane: int, text: str) -> KernelFault:
        """A fault at the `lane`-th pointer of `access`; `{element}` in `text` is that element."""
        window = access.window
        offset = int(access.offsets[lane]) // window.itemsize
        element = window.extent.index(offset)
        active = lane if isinstance(access.which, slice) else int(access.which[lane])
        position = tuple(int(i) for i in np.argwhere(self.mask)[active])
        message = text.format(element=f"{window.name!r} at element {list(element)}")
        message += f", in {self.where}, lane {position}"
        return KernelFault(code, message, self.where, window.name, element)

    def out_of_bounds(self, access: Access) -> KernelFault:
        """The fault of an access that is not inside its view."""
        outside = ~access.inside
        lane = int(np.argmax(outside))
        text = f"{self.action} out of bounds: {{element}} {_why_outside(access, lane)}"
        others = int(outside.sum()) - 1
        if others:
            text += f" (and {others} more lanes)"
        return self.fault("KG703", access, lane, text)


def _why_outside(access: Access, lane: int) -> str:
    window = access.window
    offset, misaligned = divmod(int(access.offsets[lane]), window.itemsize)
    shape = f"of shape {window.extent.shape}"
    if misaligned:
        return f"{shape} is not aligned to the element"
    if 0 <= offset < window.extent.span:
        return f"lies in a gap of the view {shape} with strides {window.extent.strides}"
    if offset < 0:
        return f"lies {-offset} elements before the view {shape}"
    return f"lies {offset - window.extent.span + 1} past the last element of the view {shape}"


def same_units(units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of lanes that touch the same unit, neighbours in a stable sort."""
    order = np.argsort(units, kind="stable")
    ordered = units[order]
    equal = np.flatnonzero(ordered[1:] == ordered[:-1])
    return order[equal], order[equal + 1]


def bits(values: np.ndarray) -> np.ndarray:
    """The values as unsigned integers, so that NaN equals itself."""
    return np.ascontiguousarray(values).view(f"u{values.itemsize}")
