"""Small kernels that look right: each with what is wrong with it, beside its right form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

Axes = Mapping[str, int]


@dataclass(frozen=True)
class Trap:
    """`kinds` are the findings at `axes`; a right kernel has none. Tensors are (name, dtype,
    extents, role, values)."""

    name: str
    kinds: set[str]
    body: str
    axes: Axes
    tensors: Callable[[Axes], list[tuple]]
    constants: Mapping[str, int] = field(default_factory=dict)
    grid: Callable[[Axes], tuple[int, ...]] = lambda axes: (1,)
    wide: frozenset[str] = frozenset()


def row(*names: str) -> Callable[[Axes], list[tuple]]:
    """Tensors of N floats; the one called `o` is the output."""
    return lambda axes: [(name, "fp32", (axes["N"],)) for name in names]


def table(size: str, *, pages: str = "P", values: Callable[[Axes], list]) -> Callable:
    """x [pages] floats, and a table of `size` page ids."""
    return lambda axes: [
        ("x", "fp32", (axes[pages],)),
        ("pt", "i32", (axes[size],), "input", values(axes)),
    ]


B16 = {"B": 16}
LOAD = "i = tl.arange(0, B)\n"
IDS = "i = tl.arange(0, B)\np = tl.load(pt + i, mask=i < N{})\ntl.load(x + p{})"

TRAPS = [
    Trap(
        "a mask computed from an index that has wrapped below 0",
        {"wraps", "out of range"},
        "i = tl.program_id(0) * B + tl.arange(0, B)\ntl.load(x + i, mask=i < N)",
        {"N": 2**31 + 7},
        row("x"),
        {"B": 1 << 17},
        lambda axes: (-(-axes["N"] // (1 << 17)),),
        frozenset({"N"}),
    ),
    Trap(
        "the same index in 64 bits",
        set(),
        "i = tl.program_id(0).to(tl.int64) * B + tl.arange(0, B)\ntl.load(x + i, mask=i < N)",
        {"N": 2**31 + 7},
        row("x"),
        {"B": 1 << 17},
        lambda axes: (-(-axes["N"] // (1 << 17)),),
        frozenset({"N"}),
    ),
    Trap(
        "one range of lanes on two axes, masked on one",
        {"out of range"},
        LOAD + "tl.load(x + i[:, None] * N + i[None, :], mask=(i < N)[:, None])",
        {"N": 5},
        lambda axes: [("x", "fp32", (5, 5))],
        {"B": 8},
    ),
    Trap(
        "the same, masked on both",
        set(),
        LOAD + "tl.load(x + i[:, None] * N + i[None, :], mask=(i < N)[:, None] & (i < N)[None, :])",
        {"N": 5},
        lambda axes: [("x", "fp32", (5, 5))],
        {"B": 8},
    ),
    Trap(
        "two ranges of lanes added are a diagonal, not a square",
        {"never written"},
        "a = tl.arange(0, B)\nb = tl.arange(0, B)\ntl.store(o + a * B + b, 1.0)",
        {},
        lambda axes: [("o", "fp32", (4, 4), "output")],
        {"B": 4},
    ),
    Trap(
        "the mask of the other axis of a square tile",
        {"out of range"},
        "a = tl.arange(0, B)\nb = tl.arange(0, B)\n"
        "tl.load(x + a[:, None] * N + b[None, :], mask=(a < M)[None, :] & (b < N)[:, None])",
        {"M": 2, "N": 4},
        lambda axes: [("x", "fp32", (2, 4))],
        {"B": 4},
    ),
    Trap(
        "a table whose entry may be -1",
        {"out of range"},
        IDS.format(", other=0", ", mask=i < N"),
        {"N": 3, "P": 4},
        table("N", values=lambda axes: [0, -1, 3]),
        B16,
    ),
    Trap(
        "the same, guarded",
        set(),
        IDS.format(", other=-1", ", mask=p >= 0"),
        {"N": 3, "P": 4},
        table("N", values=lambda axes: [0, -1, 3]),
        B16,
    ),
    Trap(
        "an `other` out of range that becomes an address",
        {"out of range"},
        IDS.format(", other=P", ""),
        {"N": 3, "P": 4},
        table("N", values=lambda axes: [0, 1, 3]),
        B16,
    ),
    Trap(
        "where guards nothing after the load",
        {"out of range"},
        LOAD + "v = tl.where(i < N, tl.load(x + i), 0.0)",
        {"N": 5},
        row("x"),
        B16,
    ),
    Trap(
        "where guards the index",
        set(),
        LOAD + "tl.load(x + tl.where(i < N, i, 0))",
        {"N": 5},
        row("x"),
        B16,
    ),
    Trap(
        "a remainder with Python's meaning",
        {"out of range"},
        LOAD + "tl.load(x + (i - 1) % N)",
        {"N": 5},
        row("x"),
        B16,
    ),
    Trap(
        "quotient and remainder put together again",
        set(),
        LOAD + "tl.load(x + (i // 4) * 4 + i % 4, mask=i < N)",
        {"N": 5},
        row("x"),
        B16,
    ),
    Trap(
        "a mask that says or",
        {"out of range"},
        LOAD + "tl.load(x + i, mask=(i < N) | (i < M))",
        {"N": 5, "M": 7},
        row("x"),
        B16,
    ),
    Trap(
        "a carried index that doubles",
        {"out of range"},
        "i = 0\nfor j in range(N):\n    tl.load(x + i)\n    i = i * 2 + 1",
        {"N": 5},
        row("x"),
    ),
    Trap(
        "a carried index that counts",
        set(),
        "i = 0\nfor j in range(N):\n    tl.load(x + i)\n    i += 1",
        {"N": 5},
        row("x"),
    ),
    Trap(
        "a carried index that counts only sometimes",
        {"out of range"},
        "i = 0\nfor j in range(N):\n    tl.load(x + i)\n"
        "    i = tl.where(tl.load(t + j) > 0, i + 2, i)",
        {"N": 4},
        lambda axes: [("x", "fp32", (4,)), ("t", "i32", (4,), "input", [1, 1, 0, 1])],
    ),
    Trap(
        "a pointer that moves while its index does",
        {"out of range"},
        "a = x + 0\nfor j in range(N):\n    tl.load(a + j)\n    a = a + 1",
        {"N": 4},
        row("x"),
    ),
    Trap(
        "an index after its loop",
        {"out of range"},
        "i = 0\nfor j in range(N):\n    i += 1\ntl.load(x + i)",
        {"N": 4},
        row("x"),
    ),
    Trap(
        "a bound that the loop hides",
        {"out of range"},
        "hi = N\nfor j in range(N):\n    hi = M\n    tl.load(x + j, mask=j < hi)\n"
        "tl.load(x + hi - 1)",
        {"N": 4, "M": 9},
        row("x"),
    ),
    Trap(
        "a table that the kernel itself writes",
        {"input written", "out of range"},
        LOAD
        + "tl.store(pt + i, i + P, mask=i < N)\n"
        + "tl.load(x + tl.load(pt + i, mask=i < N), mask=i < N)",
        {"N": 3, "P": 4},
        table("N", values=lambda axes: [0, 1, 2]),
        B16,
    ),
    Trap(
        "a rounded-up quotient whose sum wraps",
        {"wraps", "out of range"},
        "tl.load(x + tl.cdiv(N, B) - 1)",
        {"N": 2**31 - 5},
        lambda axes: [("x", "fp32", (2**21,))],
        {"B": 1024},
    ),
    Trap(
        "two calls that give two values",
        {"out of range"},
        "i = tl.arange(0, B)\na = tl.argmax(tl.load(x + i), 0)\n"
        "b = tl.argmax(tl.load(x + B + i), 0)\ntl.load(x + a - b)",
        {},
        lambda axes: [("x", "fp32", (8,), "input", [1, 0, 0, 0, 0, 0, 0, 1])],
        {"B": 4},
    ),
    Trap(
        "a reduction is no lane",
        {"out of range"},
        LOAD + "tl.load(x + tl.max(tl.where(i < N, i, 0)[None, :], 1))",
        {"N": 5},
        lambda axes: [("x", "fp32", (1,))],
        B16,
    ),
    Trap(
        "the largest of padded lanes",
        {"out of range"},
        LOAD + "tl.load(x + tl.argmax(tl.load(x + i, mask=i < N, other=0.0), 0))",
        {"N": 5},
        lambda axes: [("x", "fp32", (5,), "input", [-1, -2, -3, -4, -5])],
        B16,
    ),
    Trap(
        "an unsigned index below 0",
        {"out of range", "wraps"},
        "i = tl.arange(0, B).to(tl.uint32) - 1\ntl.load(x + i, mask=tl.arange(0, B) < N)",
        {"N": 5},
        row("x"),
        B16,
    ),
    Trap(
        "a 16-bit table times a constant",
        {"wraps", "out of range"},
        LOAD + "tl.load(x + tl.load(pt + i, mask=i < N, other=0) * 128)",
        {"N": 2},
        lambda axes: [("x", "fp32", (128 * 1000,)), ("pt", "i16", (2,), "input", [1, 999])],
        {"B": 2},
    ),
    Trap(
        "grid axes the wrong way round",
        {"out of range"},
        "tl.load(x + tl.program_id(1) * N + tl.program_id(0))",
        {"M": 2, "N": 5},
        lambda axes: [("x", "fp32", (2, 5))],
        grid=lambda axes: (2, 5),
    ),
    Trap(
        "an early return that leaves the last row out",
        {"never written"},
        "r = tl.program_id(0)\nif r >= N - 1:\n    return\ntl.store(o + r, tl.load(x + r))",
        {"N": 4},
        lambda axes: [("x", "fp32", (4,)), ("o", "fp32", (4,), "output")],
        grid=lambda axes: (6,),
    ),
    Trap(
        "an early return at the right row",
        set(),
        "r = tl.program_id(0)\nif r >= N:\n    return\ntl.store(o + r, tl.load(x + r))",
        {"N": 4},
        lambda axes: [("x", "fp32", (4,)), ("o", "fp32", (4,), "output")],
        grid=lambda axes: (6,),
    ),
    Trap(
        "a store by every program",
        {"written twice", "unordered"},
        LOAD + "tl.store(o + i, 1.0, mask=i < N)",
        {"N": 4},
        lambda axes: [("o", "fp32", (4,), "output")],
        B16,
        lambda axes: (2,),
    ),
    Trap(
        "a store behind a condition on data",
        {"never written"},
        LOAD
        + "v = tl.load(x + i, mask=i < N, other=0.0)\ntl.store(o + i, v, mask=(i < N) & (v > 0.0))",
        {"N": 3},
        lambda axes: [("x", "fp32", (3,), "input", [1, -1, 2]), ("o", "fp32", (3,), "output")],
        {"B": 4},
    ),
    Trap(
        "an assumption is no fact",
        {"broken promise", "out of range"},
        LOAD + "tl.assume(N >= B)\ntl.load(x + i)",
        {"N": 5},
        row("x"),
        B16,
    ),
    Trap(
        "a branch that leaves another value",
        {"out of range"},
        "i = 0\nif tl.load(f) > 0:\n    i = N\ntl.load(x + i)",
        {"N": 4},
        lambda axes: [("x", "fp32", (4,)), ("f", "i32", (1,), "input", [1])],
    ),
    Trap(
        "a tile loop that reads one tile ahead",
        {"out of range"},
        LOAD + "for j in range(0, N, B):\n    tl.load(x + j + B + i, mask=j + i < N)",
        {"N": 20},
        row("x"),
        B16,
    ),
    Trap(
        "a grid without programs",
        {"never written"},
        "tl.store(o + tl.program_id(0), 1.0)",
        {},
        lambda axes: [("o", "fp32", (1,), "output")],
        grid=lambda axes: (0,),
    ),
    Trap(
        "a dependent index that no table bounds",
        {"out of range"},
        "i = 0\nn = 0\nwhile n < 3:\n    tl.load(x + i)\n    i = tl.load(pt + i)\n    n += 1",
        {"N": 3, "P": 3},
        table("N", values=lambda axes: [2, 0, 3]),
    ),
]


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_trap(kernel, tensor, trap):
    tensors = []
    for name, dtype, extents, *rest in trap.tensors(trap.axes):
        role, values = (*rest, None, None)[:2] if rest else ("input", None)
        tensors.append(tensor(name, dtype, *extents, role=role, values=values))
    used = {name: value for name, value in trap.axes.items() if name in trap.body}
    numbers = {n: (v, "i64" if n in trap.wide else "i32") for n, v in used.items()}
    subject = kernel(
        trap.body, *tensors, numbers=numbers, constants=trap.constants, grid=trap.grid(trap.axes)
    )
    if trap.wide:
        # too many programs to run them all: those next to 2**31 show it
        from kgen.prove.replay.report import findings_of

        last = trap.grid(trap.axes)[0] - 1
        traces = [subject.trace(program) for program in (0, last)]
        found = {f.kind for trace in traces for f in findings_of(subject.instance, 0, trace)}
    else:
        found = subject.kinds()
    assert found == trap.kinds
