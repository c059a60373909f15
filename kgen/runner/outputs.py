"""What a call returned: which outputs, of what form, in whose memory."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from kgen.runner.bundle import Bundle
from kgen.runner.case import Expected
from kgen.runner.extent import Extent
from kgen.runner.results import Failure

_PLAIN = (torch.Tensor, torch.nn.Parameter)
"""A subclass decides by itself what its values are, and when they are computed."""


class WrongReturn(Exception):
    """The entry did not return what the manifest declares."""


def named_outputs(
    result: object, bundle: Bundle, inputs: Mapping[str, object]
) -> dict[str, torch.Tensor]:
    """The outputs by name, from what the entry returned and from the arguments that it updated in
    place.

    Raises `WrongReturn` if there are too few or too many, or one is no plain tensor.
    """
    if result is None:
        returned = ()
    else:
        returned = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    allocated = tuple(name for name in bundle.returns if name not in bundle.arguments)
    names = bundle.returns if len(returned) == len(bundle.returns) else allocated
    if len(returned) != len(names):
        raise WrongReturn(
            f"{bundle.entry}() returned {len(returned)} values, the manifest declares "
            f"{len(bundle.returns)} ({', '.join(bundle.returns)})"
        )
    by_name = {name: inputs.get(name) for name in bundle.returns} | dict(zip(names, returned))
    for name, output in by_name.items():
        if type(output) not in _PLAIN:
            raise WrongReturn(f"output {name!r} is a {type(output).__name__}, not a tensor")
    return by_name


def wrong_form(name: str, output: torch.Tensor, expected: Expected, device: str) -> Failure | None:
    """Compares shape, dtype and type of device with what they must be."""
    form = {
        "shape": (tuple(output.shape), tuple(expected.values.shape)),
        "dtype": (output.dtype, expected.dtype),
        "device": (output.device.type, device),
    }
    wrong = [f"{key} {got}, not {want}" for key, (got, want) in form.items() if got != want]
    if not wrong:
        return None
    return Failure("KG707", f"output {name!r} has " + " and ".join(wrong), tensor=name)


def aliases(outputs: Mapping[str, torch.Tensor], inputs: Mapping[str, object]) -> list[Failure]:
    """Outputs in an input's storage (unless that argument is updated in place), or overlapping each
    other.
    """
    tensors = {name: t for name, t in inputs.items() if isinstance(t, torch.Tensor)}
    found = []
    for position, (name, output) in enumerate(outputs.items()):
        if name in tensors:
            continue
        shared = [f"the input {n!r}" for n, t in tensors.items() if _same_storage(output, t)]
        earlier = list(outputs.items())[:position]
        shared += [f"the output {n!r}" for n, t in earlier if _overlap(output, t)]
        if shared:
            message = f"output {name!r} shares memory with {shared[0]}"
            found.append(Failure("KG708", message, tensor=name))
    return found


def _same_storage(one: torch.Tensor, other: torch.Tensor) -> bool:
    address = one.untyped_storage().data_ptr()
    return address != 0 and address == other.untyped_storage().data_ptr()


def _overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    first, second = sorted((one, other), key=lambda tensor: tensor.data_ptr())
    span = Extent.of(tuple(first.shape), first.stride()).span * first.element_size()
    return bool(second.numel()) and first.data_ptr() + span > second.data_ptr()
