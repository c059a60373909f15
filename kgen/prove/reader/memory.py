"""Handlers of pointers, loads, stores, atomic operations and what orders them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kgen.algebra import TRUE, Poly
from kgen.prove.coordinates import coordinates
from kgen.prove.reader.machine import Handler, Reader
from kgen.prove.reader.values import NONE, Condition, Integer, Lost, Pointer, Value, needs_of
from kgen.prove.ttir import Operation

_ORDERING = re.compile(
    r"griddepcontrol\.(wait|launch_dependents)|membar\.\w+|fence\.[\w.]+|mov\.[bu]32 \$0, \w+"
)
"""Inline assembly that orders accesses and makes none."""
_MEMORY = re.compile(r"\[|\b(global|flat|buffer|scratch|ds|s_load|s_store|s_buffer|s_atomic)_")
"""What instructions that access memory have in them: PTX writes every address in brackets."""

_COMPUTING = re.compile(
    r"(@!?[%$\w]+\s+)?(abs|add|addc|and|bfe|bfi|bfind|brev|clz|cnot|copysign|cos|cvt|div|dp2a|dp4a|ex2|fma|fns|lg2|lop3|mad"
    r"|madc|max|min|mov|mul|mul24|neg|not|or|popc|prmt|rcp|rem|rsqrt|sad|selp|set|setp|shf|shl|shr|sin|slct|sqrt|sub"
    r"|subc|szext|tanh|testp|xor)(\.\w+)*\s.*|\.reg\s.*|v_(?!cmpx)\w+\s.*|s_nop\s.*|s_waitcnt\s.*"
)
"""Instructions of PTX and of AMD's machines that compute a value, and go on behind themselves."""
_MASK_OF_LANES = re.compile(r"\bexec\b")

PLAIN = "write plain pointers with strides and masks instead"
PLAIN_MATH = "write what it computes with Triton's own functions"
PURE_OR_PLAIN = (
    "declare text that only computes as is_pure, and access memory with tl.load and tl.store"
)


def add_pointer(reader: Reader, operation: Operation, pointer: Value, offset: Value) -> Value:
    """`tt.addptr`: addresses have 64 bits and wrap as one, so only the place they end at counts."""
    shape = operation.result_types[0].shape
    if not isinstance(pointer, Pointer) or not isinstance(offset, Integer):
        return Lost(_why(pointer, offset), shape)
    needs = pointer.needs | offset.needs
    return replace(pointer, offset=pointer.offset + offset.poly, shape=shape, needs=needs)


def _why(pointer: Value, offset: Value) -> str:
    return next(
        (v.reason for v in (pointer, offset) if isinstance(v, Lost)), "no pointer plus integer"
    )


def cast_pointer(reader: Reader, operation: Operation, value: Value) -> Value:
    """`tt.bitcast`: a pointer to elements of another type; any other value becomes an unknown of its type."""
    (kind,) = operation.result_types
    if isinstance(value, Pointer) and kind.pointer:
        if value.offset.variables or value.offset.constant:
            # the offset would have to be counted in other elements
            return Lost(f"a pointer into {value.tensor} is cast after it has moved", kind.shape)
        return replace(value, element=kind.element, shape=kind.shape)
    return reader.unknown(operation, kind)


def load(reader: Reader, operation: Operation, pointer: Value, *rest: Value) -> Value:
    """`tt.load` with a mask and what stands for masked lanes, where it has these."""
    mask = rest[0] if rest else None
    other = rest[1] if len(rest) > 1 else None
    mask = _mask(reader, operation, mask)
    result = _loaded(reader, operation, pointer, mask, other)
    followed = isinstance(result, Integer) and result.poly != _unfollowed(reader, operation)
    reader.access("load", operation, pointer, mask, result=result, followed=followed)
    return result


def _unfollowed(reader: Reader, operation: Operation) -> Poly | None:
    """What an integer is of which nothing is known but that this load gives it."""
    value = reader.unknown(operation, operation.operand_types[0].pointee())
    return value.poly if isinstance(value, Integer) else None


def _mask(reader: Reader, operation: Operation, mask: Value | None) -> Condition | None:
    """A mask; one that is not known may let every lane through."""
    if mask is None or isinstance(mask, Condition):
        return mask
    reader.obstacle(operation, "the mask is not known", False)
    return None


def _loaded(
    reader: Reader,
    operation: Operation,
    pointer: Value,
    mask: Condition | None,
    other: Value | None,
) -> Value:
    kind = operation.operand_types[0].pointee()
    if not isinstance(pointer, Pointer) or kind.bits in (None, 1):
        return reader.unknown(operation, kind)
    tensor = reader.world.tensors[pointer.tensor]
    contents = tensor.contents
    if pointer.tensor in reader.written:
        return _left(reader, operation, pointer, mask, other)
    known = contents is not None
    if not known or pointer.element != tensor.element:
        return reader.unknown(operation, kind)
    place = coordinates(reader.space, pointer.offset, tensor)
    if place is None:
        return reader.unknown(operation, kind)
    formula = TRUE if mask is None else mask.formula
    replaced = other.poly if isinstance(other, Integer) else None
    poly = reader.space.entry(
        contents.table, pointer.offset, formula, replaced, contents.promised(place)
    )
    needs = pointer.needs | needs_of(other) | (NONE if mask is None else mask.needs)
    return Integer(poly, kind.shape, kind.bits, needs)


def _left(
    reader: Reader,
    operation: Operation,
    pointer: Pointer,
    mask: Condition | None,
    other: Value | None,
) -> Value:
    """What an earlier launch left in a tensor, where that is known."""
    kind = operation.operand_types[0].pointee()
    formula = TRUE if mask is None else mask.formula
    whole = reader.world.tensors[pointer.tensor].element == pointer.element
    found = None
    if whole:
        found = reader.stored(pointer.tensor, pointer.offset, (formula, reader.path()))
    if found is None:
        return reader.unknown(operation, kind)
    needs = pointer.needs | (NONE if mask is None else mask.needs)
    if formula == TRUE:
        return Integer(found, kind.shape, kind.bits, needs)
    masked = other if isinstance(other, Integer) else reader.unknown(operation, kind)
    poly = reader.space.where(formula, found, masked.poly)
    return Integer(poly, kind.shape, kind.bits, needs | needs_of(masked))


def store(reader: Reader, operation: Operation, pointer: Value, value: Value, *rest: Value) -> None:
    """`tt.store`."""
    mask = _mask(reader, operation, rest[0] if rest else None)
    reader.access("store", operation, pointer, mask, value=value)


def atomic(reader: Reader, operation: Operation, pointer: Value, *rest: Value) -> Value:
    """`tt.atomic_rmw`, `tt.atomic_cas`: a value, and for the former maybe a mask; gives what was there."""
    kind = operation.result_types[-1]
    result = reader.unknown(operation, kind)
    swap = operation.name == "tt.atomic_cas"
    mask = _mask(reader, operation, rest[1] if len(rest) > 1 and not swap else None)
    reader.access("atomic", operation, pointer, mask, value=rest[0], result=result)
    return result


def barrier(reader: Reader, operation: Operation, *_: Value) -> None:
    """A barrier of the whole program."""
    reader.barrier(operation)


def assembly(reader: Reader, operation: Operation, *operands: Value) -> list[Value]:
    """`tt.elementwise_inline_asm`: pure text computes values; what orders accesses is kept among the events.

    That text is pure is its author's word, so text that names memory, is given an address, or has an instruction that is
    not known to compute only, is not believed.
    """
    statements = _statements(operation.text)
    acting = next((one for one in _instructions(operation.text) if not _computes(one)), "")
    addressed = any(isinstance(value, (Pointer, Lost)) for value in operands)
    touching = next((one for one in statements if _MEMORY.search(one)), "")
    if addressed or touching:
        what = "accesses memory" if touching else "is given an address"
        reader.obstacle(operation, f"inline assembly that {what} is not followed; {PLAIN}", True)
    elif operation.attributes.get("pure") == "true" and acting:
        reason = f"`{acting}` in inline assembly may do more than compute; {PLAIN_MATH}"
        reader.obstacle(operation, reason, True)
    elif operation.attributes.get("pure") != "true":
        if all(_ORDERING.fullmatch(statement) for statement in statements):
            reader.barrier(operation)
        else:
            reason = f"inline assembly that is not pure may access memory; {PURE_OR_PLAIN}"
            reader.obstacle(operation, reason, True)
    return reader.unknowns(operation)


def _statements(text: str) -> list[str]:
    """The instructions of inline assembly, without comments."""
    return [part.strip() for part in " ".join(_lines(text)).split(";") if part.strip()]


def _lines(text: str) -> list[str]:
    quoted = text.partition('"')[2].rpartition('"')[0].partition('"')[0]
    lines = re.split(r"\\0A|\n", quoted)  # a comment ends with its line, as MLIR escapes it
    return [re.sub(r"\\[0-9A-F]{2}", " ", line.partition("//")[0]) for line in lines]


def _instructions(text: str) -> Iterator[str]:
    """The same where a line ends an instruction too, as for AMD's machines, and without braces."""
    parts = (part for line in _lines(text) for part in re.split(r"[;{}]", line))
    return filter(None, map(str.strip, parts))


def _computes(instruction: str) -> bool:
    computing = _COMPUTING.fullmatch(f"{instruction} ") is not None
    return computing and not _MASK_OF_LANES.search(instruction)


def descriptor(reader: Reader, operation: Operation, *_: Value) -> list[Value]:
    """Tensor descriptors and block pointers: what is in bounds is decided by shapes inside them."""
    blocks = operation.name in ("tt.make_tensor_ptr", "tt.advance")
    what = "block pointers" if blocks else "tensor descriptors"
    reader.obstacle(operation, f"{what} hold shapes that are not followed; {PLAIN}", True)
    return reader.unknowns(operation)


def assumption(reader: Reader, operation: Operation, condition: Value) -> None:
    """`tl.assume`: nobody checks it, and the compiler makes of a kernel whatever it likes where it is false."""
    if not isinstance(condition, Condition) or not reader.sure(condition):
        reason = "the compiler believes it, and nothing shows that it is true; leave it out"
        reader.obstacle(operation, reason, True)


def nothing(reader: Reader, operation: Operation, *_: Value) -> None:
    """`tl.device_assert` and `tl.device_print`: neither is compiled unless a call asks for it."""


MEMORY: Mapping[str, Handler] = {
    "tt.addptr": add_pointer,
    "tt.bitcast": cast_pointer,
    "tt.load": load,
    "tt.store": store,
    "tt.atomic_rmw": atomic,
    "tt.atomic_cas": atomic,
    "ttg.barrier": barrier,
    "gpu.barrier": barrier,
    "tt.elementwise_inline_asm": assembly,
    "tt.make_tensor_descriptor": descriptor,
    "tt.descriptor_load": descriptor,
    "tt.descriptor_store": descriptor,
    "tt.descriptor_gather": descriptor,
    "tt.descriptor_scatter": descriptor,
    "tt.descriptor_reduce": descriptor,
    "tt.experimental_descriptor_load": descriptor,
    "tt.experimental_descriptor_store": descriptor,
    "tt.make_tensor_ptr": descriptor,
    "tt.advance": descriptor,
    "llvm.intr.assume": assumption,
    "tt.assert": nothing,
    "tt.print": nothing,
}
