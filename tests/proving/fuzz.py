"""Random kernels, mostly right and sometimes not, with what may be assumed of them."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

HEADER = "import triton\nimport triton.language as tl\n"
NAMES = ("x", "table", "o", "N", "M", "B")
BLOCKS = (2, 4, 8)


@dataclass(frozen=True)
class Fuzzed:
    """A kernel: x[M, N] and table[N] (entries from 0 to N - 1) are read, o is written, whole if it is `whole`.

    `flat` says that o has N elements and not M rows of N. The grid is an expression over N, M and B.
    """

    name: str
    body: str
    grid: str
    flat: bool
    whole: bool
    block: int

    @property
    def source(self) -> str:
        head = f"\n\n@triton.jit\ndef {self.name}({', '.join(NAMES[:-1])}, B: tl.constexpr):\n"
        return head + textwrap.indent(textwrap.dedent(self.body).strip(), "    ") + "\n"


class Maker:
    """Makes kernels from one seed."""

    def __init__(self, seed: int):
        self._chance = random.Random(seed)

    def kernels(self, count: int) -> list[Fuzzed]:
        return [self._kernel(f"k{number}") for number in range(count)]

    def _kernel(self, name: str) -> Fuzzed:
        shape: Callable[[], tuple[str, str, bool, bool]] = self._chance.choice(
            [self._tile, self._rows, self._looked_up, self._divided, self._parts, self._clamped]
            + [self._carried, self._ahead, self._branch, self._square]
        )
        body, grid, flat, whole = shape()
        return Fuzzed(name, body, grid, flat, whole, self._chance.choice(BLOCKS))

    def _pick(self, right: str, *wrong: str) -> str:
        """Mostly the first."""
        return right if self._chance.random() < 0.85 else self._chance.choice(wrong)

    def _any(self, *alternatives: str) -> str:
        return self._chance.choice(alternatives)

    def _tile(self) -> tuple[str, str, bool, bool]:
        mask = self._pick("n < N", "n <= N", "n < N - 1", "n < N + 1", "n < M")
        body = f"""
        n = tl.program_id(0) * B + tl.arange(0, B)
        v = tl.load(x + {self._pick("n", "n + 1", "n - 1")}, mask={mask}, other=0.0)
        tl.store(o + n, v, mask={self._pick(mask, "n < N")})
        """
        return body, self._pick("ceil_div(N, B)", "N // B", "N // B + 1", "M"), True, True

    def _rows(self) -> tuple[str, str, bool, bool]:
        stop = self._pick("N", "N - 1", "N + B")
        mask = self._pick("n < N", "n <= N", "n < N + 1", "n < M")
        row = self._pick("i * N", "i * M", "(i + 1) * N")
        body = f"""
        i = tl.program_id(0)
        for c in tl.range(0, {stop}, B):
            n = c + tl.arange(0, B)
            m = {mask}
            tl.store(o + {row} + n, tl.load(x + i * N + n, mask=m, other=0.0), mask=m)
        """
        return body, self._pick("M", "N", "M - 1", "M + 1"), False, True

    def _looked_up(self) -> tuple[str, str, bool, bool]:
        other = self._pick("0", "-1", "N", "1000")
        use = self._pick("m", "n <= N", "n < B")
        body = f"""
        n = tl.program_id(0) * B + tl.arange(0, B)
        m = n < N
        e = tl.load(table + n, mask={self._pick("m", "n <= N")}, other={other})
        v = tl.load(x + {self._pick("e", "e + 1", "N - 1 - e", "e * 2")}, mask={use}, other=0.0)
        tl.store(o + n, v, mask=m)
        """
        return body, self._pick("ceil_div(N, B)", "N // B", "N"), True, True

    def _divided(self) -> tuple[str, str, bool, bool]:
        by = self._any("N", "M")
        other = "M" if by == "N" else "N"
        place = f"({by} * (f // {by}) + f % {by})" if by == "N" else "((f % M) * N + f // M)"
        if self._chance.random() < 0.2:
            place = f"((f % {by}) * {other} + f // {by})"
        body = f"""
        f = tl.program_id(0) * B + tl.arange(0, B)
        m = f < {self._pick("M * N", "M * N + 1", "M * N - 1", "N * N")}
        tl.store(o + {place}, tl.load(x + f, mask=m, other=0.0), mask=m)
        """
        return body, self._pick("ceil_div(M * N, B)", "M * N // B", "M * N"), False, True

    def _parts(self) -> tuple[str, str, bool, bool]:
        chunk = self._pick("tl.cdiv(N, M)", "N // M", "tl.cdiv(N, M) * B", "tl.cdiv(N, M + 1)")
        hi = self._pick("tl.minimum(lo + chunk, N)", "lo + chunk", "N")
        mask = self._pick("n < hi", "n < N", "n <= hi")
        body = f"""
        chunk = {chunk}
        lo = tl.program_id(0) * chunk
        hi = {hi}
        for c in tl.range(lo, hi, B):
            n = c + tl.arange(0, B)
            m = {mask}
            tl.store(o + n, tl.load(x + n, mask=m, other=0.0), mask=m)
        """
        return body, self._pick("M", "M + 1", "M - 1"), True, True

    def _clamped(self) -> tuple[str, str, bool, bool]:
        low = self._pick("tl.maximum(e - 3, 0)", "e - 3", "tl.maximum(e - 3, -1)")
        high = self._pick("tl.minimum({} + 5, N - 1)", "{} + 5", "tl.minimum({} + 5, N)")
        body = f"""
        n = tl.program_id(0) * B + tl.arange(0, B)
        e = tl.load(table + n, mask=n < N, other=0)
        a = {low}
        v = tl.load(x + {high.format("a")})
        tl.store(o + n, v, mask={self._pick("n < N", "n < N - 1")})
        """
        return body, self._pick("ceil_div(N, B)", "N"), True, True

    def _carried(self) -> tuple[str, str, bool, bool]:
        body = f"""
        i = tl.program_id(0)
        n = {self._pick("i * N", "i * M", "i")} + tl.arange(0, B)
        for c in tl.range(0, {self._pick("N", "N - 1", "N + 1")}, B):
            m = n < {self._pick("(i + 1) * N", "M * N", "(i + 2) * N")}
            tl.store(o + n, tl.load(x + n, mask=m, other=0.0), mask=m)
            n += {self._pick("B", "1", "N", "c")}
        """
        return body, self._pick("M", "M + 1"), False, True

    def _ahead(self) -> tuple[str, str, bool, bool]:
        first = self._pick("tl.load(table)", "tl.load(table + 1)", "tl.load(table) + 1")
        more = self._pick("c + 1 < N", "c < N", "c + 2 < N")
        body = f"""
        i = tl.program_id(0)
        e = {first}
        for c in tl.range(0, N):
            tl.store(o + {self._pick("i * N + c", "i * N + e")}, tl.load(x + i * N + e))
            e = tl.load(table + c + 1, mask={more}, other={self._pick("0", "N")})
        """
        return body, self._pick("M", "M - 1"), False, True

    def _branch(self) -> tuple[str, str, bool, bool]:
        body = f"""
        i = tl.program_id(0)
        if {self._pick("i >= N", "i > N", "i >= M")}:
            return
        j = i
        if {self._any("N > 5", "M > 2")}:
            j = {self._pick("N - 1 - i", "N - i", "i + 1")}
        tl.store(o + {self._pick("i", "j")}, tl.load(x + j))
        """
        return body, self._pick("N", "N + 3", "M"), True, True

    def _square(self) -> tuple[str, str, bool, bool]:
        body = f"""
        r = tl.arange(0, B)
        i = tl.program_id(0)
        for c in tl.range(0, N, B):
            for a in tl.range(0, M, B):
                p = {self._pick("(a + r)[:, None]", "(a + r)[None, :]", "(c + r)[:, None]")}
                q = (c + r)[None, :]
                m = ({self._pick("p < M", "p <= M", "p < N")}) & ({self._pick("q < N", "q <= N")})
                if i == 0:
                    tl.store(o + p * N + q, tl.load(x + p * N + q, mask=m, other=0.0), mask=m)
        """
        return body, self._pick("1", "2"), False, True


def file_of(kernels: list[Fuzzed]) -> str:
    """One file with all of them."""
    return HEADER + "".join(kernel.source for kernel in kernels)
