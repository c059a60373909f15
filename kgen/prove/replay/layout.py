"""From offsets to elements: which element of a strided tensor lies at an offset, if any does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kgen.prove.replay.model import TensorSpec, Unsupported


@dataclass(frozen=True)
class Layout:
    """A tensor's dimensions as (extent, stride, weight), the largest stride first.

    `weight` is the distance of two neighbours in row-major element numbers. Dimensions of one
    element are left out, and so are those of stride 0, whose elements share one place: the first of
    them stands for all.
    """

    dims: tuple[tuple[int, int, int], ...]
    size: int
    contiguous: bool

    def elements(self, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each offset its row-major element number, and whether an element lies there."""
        if self.contiguous:
            return offsets, (offsets >= 0) & (offsets < self.size)
        inside = offsets >= 0
        element = np.zeros_like(offsets)
        rest = offsets
        for extent, stride, weight in self.dims:
            index, rest = np.divmod(rest, stride)
            inside &= index < extent
            element += index * weight
        inside &= rest == 0
        return element, inside


def layout_of(tensor: TensorSpec) -> Layout:
    """The layout of a tensor. Raises Unsupported where two elements overlap in part."""
    dims, weight = [], 1
    for dim in reversed(tensor.dims):
        if dim.extent > 1 and dim.stride:
            dims.append((dim.extent, dim.stride, weight))
        weight *= dim.extent
    dims.sort(key=lambda dim: dim[1])
    reach = 0
    for extent, stride, _ in dims:
        if stride <= reach:
            raise Unsupported(f"the strides of {tensor.name} let its elements overlap")
        reach += (extent - 1) * stride
    kept = tuple(reversed(dims))
    if not tensor.size:
        return Layout((), 0, True)
    contiguous = all(stride == weight for _, stride, weight in kept)
    folded = any(dim.extent > 1 and not dim.stride for dim in tensor.dims)
    return Layout(kept, tensor.size, contiguous and not folded)
