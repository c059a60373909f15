"""Random kernels, mostly right and sometimes not, with what may be assumed of them: one rule of the prover each.

Some are changed once more, by an operator of `kgen.prove.mutate`.
"""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from subjects import T

from kgen.prove.mutate import SAFETY, mutants

HEADER = "import triton\nimport triton.language as tl\n"
BLOCKS = (2, 4, 8)
AXES: dict[str, tuple[int | str, int | str]] = {
    "N": (1, 40),
    "M": (1, 6),
    "S": ("N", 2**33),
    "W": ("N", 2**31 - 1),
    "L": (0, "N * B"),
    "P": (1, 8),
}
"""`S` and `W` are strides of 64 and of 32 bits, `L` tokens in N pages of B, `P` parts."""
TYPES = {"S": "i64"}
ROWS = {"x": T("fp32", "M", "N"), "o": T("fp32", "M", "N", role="output")}
FLAT = {"x": T("fp32", "M", "N"), "o": T("fp32", "N", role="output")}
LINE = {"x": T("fp32", "N"), "o": T("fp32", "N", role="output")}
TILES = "ceil_div(N, B)"


@dataclass(frozen=True)
class Launched:
    """A kernel with the sizes that it is passed, and its grid: expressions over the axes and B."""

    name: str
    source: str
    tensors: Mapping[str, T]
    sizes: tuple[str, ...]
    grid: tuple[str, ...]


@dataclass(frozen=True)
class Fuzzed:
    """Kernels that are launched one after the other, and the rule that they are about.

    With `reads` every element of x is to be read once (`all`), or the keys of x through a table of pages (`pages`).
    """

    rule: str
    launches: tuple[Launched, ...]
    block: int
    reads: str = ""
    mutation: str = ""

    @property
    def source(self) -> str:
        return "".join(one.source for one in self.launches)

    @property
    def tensors(self) -> dict[str, T]:
        return {name: tensor for one in self.launches for name, tensor in one.tensors.items()}

    @property
    def axes(self) -> dict[str, tuple[int | str, int | str]]:
        """The axes that it is about."""
        known = {"N", "M", *(size for one in self.launches for size in one.sizes)}
        return {
            name: tuple(self._bound(end) for end in bounds)
            for name, bounds in AXES.items()
            if name in known
        }

    def _bound(self, end: int | str) -> int | str:
        return end.replace("B", str(self.block)) if isinstance(end, str) else end


@dataclass
class Draft:
    """What a rule makes: a body and its grid. `sizes` and `tensors` are what the kernel is passed."""

    body: str
    grid: tuple[str, ...]
    tensors: Mapping[str, T]
    sizes: tuple[str, ...] = ("N", "M")
    reads: str = ""
    then: Draft | None = field(default=None)
    """A kernel that is launched after it."""


class Maker:
    """Makes kernels from one seed, of each rule in turn."""

    def __init__(self, seed: int, mutated: float = 0.25):
        self._chance = random.Random(seed)
        self._mutated = mutated

    def kernels(self, count: int) -> list[Fuzzed]:
        return [self._kernel(number) for number in range(count)]

    def _kernel(self, number: int) -> Fuzzed:
        rule, draft = list(RULES.items())[number % len(RULES)]
        made, launches = draft(self), []
        part: Draft | None = made
        while part is not None:
            launches.append(_launched(f"k{number}_{len(launches)}", part))
            part = part.then
        found = Fuzzed(rule, tuple(launches), self._chance.choice(BLOCKS), made.reads)
        return self._changed(found) if self._chance.random() < self._mutated else found

    def _changed(self, one: Fuzzed) -> Fuzzed:
        """The kernels with one change of `kgen.prove.mutate`, if one applies."""
        at = self._chance.randrange(len(one.launches))
        launched = one.launches[at]
        found = [m for m in mutants(HEADER + launched.source) if m.operator in SAFETY]
        if not found:
            return one
        mutant = self._chance.choice(found)
        changed = replace(launched, source=mutant.source.removeprefix(HEADER))
        launches = (*one.launches[:at], changed, *one.launches[at + 1 :])
        return replace(one, launches=launches, mutation=mutant.operator)

    def pick(self, right: str, *wrong: str) -> str:
        """Mostly the first."""
        return right if self._chance.random() < 0.85 else self._chance.choice(wrong)

    def any(self, *alternatives: str) -> str:
        return self._chance.choice(alternatives)


def _launched(name: str, draft: Draft) -> Launched:
    parameters = ", ".join((*draft.tensors, *draft.sizes, "B: tl.constexpr"))
    body = textwrap.indent(textwrap.dedent(draft.body).strip(), "    ")
    source = f"\n\n@triton.jit\ndef {name}({parameters}):\n{body}\n"
    return Launched(name, source, draft.tensors, draft.sizes, draft.grid)


RULES: dict[str, Callable[[Maker], Draft]] = {}


def rule(name: str) -> Callable[[Callable[[Maker], Draft]], Callable[[Maker], Draft]]:
    """Registers what makes kernels about one rule of the prover."""

    def register(make: Callable[[Maker], Draft]) -> Callable[[Maker], Draft]:
        RULES[name] = make
        return make

    return register


def table(low: int | str, high: int | str, *, dtype: str = "int32", **more) -> dict[str, T]:
    return {"table": T(dtype, "N", entries=(low, high), **more)}


INDICES = table(0, "N - 1")


# ---------------------------------------------------------------- bounds, masks and stores


@rule("masked tile")
def _tile(make: Maker) -> Draft:
    mask = make.pick("n < N", "n <= N", "n < N - 1", "n < N + 1", "n < M")
    body = f"""
    n = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + {make.pick("n", "n + 1", "n - 1")}, mask={mask}, other=0.0)
    tl.store(o + n, v, mask={make.pick(mask, "n < N")})
    """
    return Draft(body, (make.pick(TILES, "N // B", "N // B + 1", "M"),), FLAT)


@rule("rows in turns")
def _rows(make: Maker) -> Draft:
    mask = make.pick("n < N", "n <= N", "n < N + 1", "n < M")
    body = f"""
    i = tl.program_id(0)
    for c in tl.range(0, {make.pick("N", "N - 1", "N + B")}, B):
        n = c + tl.arange(0, B)
        m = {mask}
        v = tl.load(x + i * N + n, mask=m, other=0.0)
        tl.store(o + {make.pick("i * N", "i * M", "(i + 1) * N")} + n, v, mask=m)
    """
    return Draft(body, (make.pick("M", "N", "M - 1", "M + 1"),), ROWS)


@rule("disjunctive mask")
def _either(make: Maker) -> Draft:
    near = make.pick("(n >= N - 3)", "(n > N - 3)", "(n >= N - M)")
    far = make.pick("(n < M)", "(n <= M)", "(n < N)")
    within = make.pick(" & (n < N)", "", " & (n <= N)")
    body = f"""
    n = tl.program_id(0) * B + tl.arange(0, B)
    kept = ({near} | {far}){within}
    v = tl.load(x + n, mask=kept, other=0.0)
    w = tl.load(x + n, mask={make.pick("(n < N) & ~kept", "~kept", "(n < N) | ~kept")}, other=0.0)
    tl.store(o + n, v + w, mask={make.pick("n < N", "kept", "(n < N) | kept")})
    """
    return Draft(body, (TILES,), LINE, reads="all")


@rule("tile of two dimensions")
def _square(make: Maker) -> Draft:
    body = f"""
    r = tl.arange(0, B)
    i = tl.program_id(0)
    for c in tl.range(0, N, B):
        for a in tl.range(0, M, B):
            p = {make.pick("(a + r)[:, None]", "(a + r)[None, :]", "(c + r)[:, None]")}
            q = (c + r)[None, :]
            m = ({make.pick("p < M", "p <= M", "p < N")}) & ({make.pick("q < N", "q <= N")})
            if i == 0:
                tl.store(o + p * N + q, tl.load(x + p * N + q, mask=m, other=0.0), mask=m)
    """
    return Draft(body, (make.pick("1", "2"),), ROWS)


@rule("strides of 64 bits")
def _strided(make: Maker) -> Draft:
    row = make.pick("a[:, None] * S", "a[:, None] * N", "(a[:, None] + 1) * S", "a[None, :] * S")
    body = f"""
    a = tl.program_id(0) * {make.pick("B", "2")} + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    m = ({make.pick("a < M", "a <= M", "a < N")})[:, None] & ({make.pick("n < N", "n < S")})[None, :]
    v = tl.load(x + {row} + n[None, :], mask=m, other=0.0)
    tl.store(o + a[:, None] * N + n[None, :], v, mask=m)
    """
    grid = (make.pick("ceil_div(M, B)", "M"), make.pick(TILES, "N"))
    tensors = {**ROWS, "x": T("fp32", "M", "N", strides=["S", 1])}
    return Draft(body, grid, tensors, ("N", "M", "S"))


@rule("statements in steps")
def _steps(make: Maker) -> Draft:
    body = f"""
    n = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + n, mask=n < N, other=0.0)
    tl.store(o + {make.pick("2 * n", "n", "2 * n + 1")}, v, mask={make.pick("n < N", "n <= N")})
    tl.store(o + {make.pick("2 * n + 1", "n + N", "2 * n + 2")}, v, mask={make.pick("n < N", "n < N - 1")})
    """
    tensors = {**FLAT, "o": T("fp32", "2 * N", role="output")}
    return Draft(body, (make.pick(TILES, "N // B"),), tensors)


@rule("statements in branches")
def _branches(make: Maker) -> Draft:
    other = make.pick("else", "if M <= 3", "if M < 3", "if M >= 3")
    body = f"""
    n = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + n, mask=n < N, other=0.0)
    if M > 3:
        tl.store(o + n, v, mask={make.pick("n < N", "n < M")})
    {other}:
        tl.store(o + n, 2 * v, mask={make.pick("n < N", "n <= N")})
    """
    return Draft(body, (make.pick(TILES, "N"),), FLAT)


@rule("branch and early return")
def _branch(make: Maker) -> Draft:
    body = f"""
    i = tl.program_id(0)
    if {make.pick("i >= N", "i > N", "i >= M")}:
        return
    j = i
    if {make.any("N > 5", "M > 2")}:
        j = {make.pick("N - 1 - i", "N - i", "i + 1")}
    tl.store(o + {make.pick("i", "j")}, tl.load(x + j))
    """
    return Draft(body, (make.pick("N", "N + 3", "M"),), FLAT)


# ---------------------------------------------------------------- widths


@rule("entries of 8 bits")
def _narrow(make: Maker) -> Draft:
    high = make.any("9", "40", "63")
    step = make.pick("e.to(tl.int32) * 2", "e * 2", "(e + e).to(tl.int32)", "(e * 2).to(tl.int64)")
    body = f"""
    n = tl.program_id(0) * B + tl.arange(0, B)
    e = tl.load(table + n, mask=n < N, other=0)
    tl.store(o + n, tl.load(x + {step} + {make.pick("1", "2")}, mask=n < N, other=0.0), mask=n < N)
    """
    entries = table(0, make.pick(high, "127"), dtype=make.pick("int8", "int16"))
    tensors = {"x": T("fp32", 2 * int(high) + 2), **entries, "o": FLAT["o"]}
    return Draft(body, (TILES,), tensors)


@rule("products of 32 bits")
def _products(make: Maker) -> Draft:
    rows = make.pick("i.to(tl.int64) * W", "i * W", "(i * W).to(tl.int64)", "i.to(tl.int32) * W")
    body = f"""
    i = tl.program_id(0)
    for c in tl.range(0, N, B):
        n = c + tl.arange(0, B)
        v = tl.load(x + {rows} + n, mask={make.pick("n < N", "n <= N")}, other=0.0)
        tl.store(o + i * N + n, v, mask=n < N)
    """
    tensors = {**ROWS, "x": T("fp32", "M", "N", strides=["W", 1])}
    return Draft(body, (make.pick("M", "M + 1"),), tensors, ("N", "M", "W"))


@rule("unsigned and shifted")
def _bits(make: Maker) -> Draft:
    place = make.pick("((n >> 1) << 1) + (n & 1)", "(n >> 1) * 2 + n % 2", "(n << 1) >> 1", "n ^ 1")
    body = f"""
    n = tl.program_id(0) * B + tl.arange(0, B)
    u = n.to(tl.uint32){make.pick("", " - 1", " + 1")}
    v = tl.load(x + u, mask={make.pick("n < N", "u < N", "n <= N")}, other=0.0)
    tl.store(o + {place}, v, mask=n < N)
    """
    return Draft(body, (make.pick(TILES, "N // B"),), FLAT)


# ---------------------------------------------------------------- tables


@rule("entries as indices")
def _looked_up(make: Maker) -> Draft:
    use = make.pick("m", "n <= N", "n < B")
    other = make.pick("0", "-1", "N", "1000")
    body = f"""
    n = tl.program_id(0) * B + tl.arange(0, B)
    m = n < N
    e = tl.load(table + n, mask={make.pick("m", "n <= N")}, other={other})
    v = tl.load(x + {make.pick("e", "e + 1", "N - 1 - e", "e * 2")}, mask={use}, other=0.0)
    tl.store(o + n, v, mask=m)
    """
    return Draft(body, (make.pick(TILES, "N // B", "N"),), {**FLAT, **INDICES})


@rule("entries that may be -1")
def _maybe(make: Maker) -> Draft:
    test = make.pick("e >= 0", "e != -1", "e > 0", "e >= -1", "e != 0")
    place = make.pick("e", "tl.maximum(e, 0)", "e + 1", "tl.where(e < 0, 0, e)")
    body = f"""
    n = tl.program_id(0) * B + tl.arange(0, B)
    e = tl.load(table + n, mask=n < N, other={make.pick("-1", "0")})
    v = tl.load(x + {place}, mask={make.pick(f"({test}) & (n < N)", test, "n < N")}, other=0.0)
    tl.store(o + n, v, mask=n < N)
    """
    return Draft(body, (TILES,), {**FLAT, **table(-1, "N - 1")})


@rule("entries that are promised in part")
def _promised(make: Maker) -> Draft:
    live = make.pick("(n < N) & (n < M)", "n < N", "(n < N) & (n <= M)", "n < M")
    use = make.pick(live, "n < N")
    body = f"""
    n = tl.program_id(0) * B + tl.arange(0, B)
    e = tl.load(table + n, mask={make.pick("n < N", live)}, other=0)
    e = {make.any("e", "tl.where(n < M, e, 0)", "tl.minimum(tl.maximum(e, 0), N - 1)")}
    tl.store(o + n, tl.load(x + e, mask={make.any(use, "n < N")}, other=0.0), mask=n < N)
    """
    return Draft(body, (TILES,), {**FLAT, **table(0, "N - 1", promised="M")})


@rule("rising offsets")
def _ragged(make: Maker) -> Draft:
    hi = make.pick(
        "tl.load(offsets + i + 1)", "tl.load(offsets + i + 1) + 1", "tl.load(offsets + i)"
    )
    mask = make.pick("n < hi", "n <= hi", "n < hi - 1", "n < N")
    body = f"""
    i = tl.program_id(0)
    lo = tl.load(offsets + i)
    hi = {make.pick(hi, f"tl.minimum({hi}, N)")}
    for c in tl.range(lo, hi, B):
        n = c + tl.arange(0, B)
        m = {mask}
        tl.store(o + n, tl.load(x + n, mask=m, other=0.0), mask=m)
    """
    rising = make.pick("rising", "")
    offsets = T("int32", "M + 1", entries=(0, make.pick("N", "N - 1")), rising=bool(rising))
    return Draft(body, (make.pick("M", "M - 1", "M + 1"),), {**LINE, "offsets": offsets})


@rule("distinct slots")
def _slots(make: Maker) -> Draft:
    slot = make.pick("tl.load(table + i)", "tl.load(table + i // 2)", "i % M", "tl.load(table)")
    body = f"""
    i = tl.program_id(0)
    h = tl.arange(0, B)
    slot = {slot}
    tl.store(o + slot * {make.pick("B", "2")} + h, tl.load(x + i * B + h))
    """
    tensors = {
        "x": T("fp32", "N", "B"),
        **table(0, "N + 1", distinct=make.pick("distinct", "") != ""),
        "o": T("fp32", make.pick("N + 2", "N + 1"), "B", role="updated"),
    }
    return Draft(body, (make.pick("N", "N + 1"),), tensors)


@rule("keys through a table of pages")
def _pages(make: Maker) -> Draft:
    stop = make.pick("L", "L - 1", "N * B", "L + 1")
    page = make.pick("p // B", "p // B + 1", "p // 4", "0 * p")
    body = f"""
    r = tl.arange(0, B)
    i = tl.program_id(0)
    for c in tl.range(0, {make.pick("L", "N * B", "L - B")}, B):
        p = c + r
        m = p < {stop}
        e = tl.load(pages + i * N + {page}, mask=m, other=0)
        v = tl.load(x + e * B + {make.pick("p % B", "r", "p % 4")}, mask=m, other=0.0)
        tl.store(o + i * (N * B) + p, v, mask=p < N * B)
    """
    tensors = {
        "x": T("fp32", "N", "B"),
        "pages": T("int32", "M", "N", entries=(0, "N - 1")),
        "o": T("fp32", "M", "N * B", role="updated"),
    }
    return Draft(body, (make.pick("M", "M - 1"),), tensors, ("N", "M", "L"), reads="pages")


@rule("elements read once")
def _read_once(make: Maker) -> Draft:
    body = f"""
    i = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    for c in tl.range(0, {make.pick("N", "N - 1", "N + B")}, B):
        n = c + tl.arange(0, B)
        m = {make.pick("n < N", "n < M", "n < N - 1")}
        total += tl.load(x + {make.pick("i * N", "0", "(M - 1 - i) * N")} + n, mask=m, other=0.0)
    tl.store(o + i, tl.sum(total))
    """
    tensors = {**ROWS, "o": T("fp32", "M", role="output")}
    return Draft(body, (make.pick("M", "M - 1", "M + 1"),), tensors, reads="all")


# ---------------------------------------------------------------- scratch


@rule("scratch")
def _scratch(make: Maker) -> Draft:
    part = T("fp32", "M", make.pick("B", "2"), role="scratch")
    first = f"""
    i = tl.program_id(0)
    r = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for c in tl.range(0, N, B):
        n = c + r
        total += tl.load(x + i * N + n, mask=n < N, other=0.0)
    tl.store(part + {make.pick("i * B", "i", "(M - 1 - i) * B")} + r, total{make.pick("", ", mask=r < N")})
    """
    second = f"""
    i = tl.program_id(0)
    r = tl.arange(0, B)
    v = tl.load(part + {make.pick("i * B", "0", "i * 2")} + r{make.pick("", ", mask=r < N, other=0.0")})
    tl.store(o + i, tl.sum(v))
    """
    output = {"part": part, "o": T("fp32", "M", role="output")}
    then = Draft(second, (make.pick("M", "M + 1"),), output)
    return Draft(first, (make.pick("M", "M - 1"),), {"x": ROWS["x"], "part": part}, then=then)


@rule("scratch of parts")
def _partial(make: Maker) -> Draft:
    part = T("fp32", "M", "P", role="scratch")
    chunk = make.pick("tl.cdiv(N, P)", "N // P", "tl.cdiv(N, P + 1)")
    first = f"""
    i = tl.program_id(0)
    s = tl.program_id(1)
    lo = s * {chunk}
    hi = {make.pick(f"tl.minimum(lo + {chunk}, N)", f"lo + {chunk}", "N")}
    total = tl.zeros((B,), tl.float32)
    for c in tl.range(lo, hi, B):
        n = c + tl.arange(0, B)
        total += tl.load(x + i * N + n, mask={make.pick("n < hi", "n < N", "n <= hi")}, other=0.0)
    tl.store(part + i * {make.pick("P", "M")} + s, tl.sum(total))
    """
    second = f"""
    i = tl.program_id(0)
    total = 0.0
    for s in tl.range(0, {make.pick("P", "P - 1", "P + 1")}):
        total += tl.load(part + i * P + {make.pick("s", "0", "P - 1 - s")})
    tl.store(o + i, total)
    """
    sizes, output = ("N", "M", "P"), {"part": part, "o": T("fp32", "M", role="output")}
    then = Draft(second, (make.pick("M", "M - 1"),), output, sizes)
    inputs = {"x": ROWS["x"], "part": part}
    return Draft(first, ("M", make.pick("P", "P - 1")), inputs, sizes, reads="all", then=then)


@rule("table that a kernel makes")
def _made(make: Maker) -> Draft:
    who = T("int32", "N", role="scratch")
    first = f"""
    i = tl.program_id(0)
    e = tl.load(table + i)
    tl.store(who + i, {make.pick("tl.maximum(tl.minimum(e, N - 1), 0)", "tl.minimum(e, N - 1)", "e")})
    """
    second = f"""
    i = tl.program_id(0)
    tl.store(o + i, tl.load(x + tl.load(who + {make.pick("i", "0", "N - 1 - i")}) + {make.pick("0", "1")}))
    """
    then = Draft(second, (make.pick("N", "N - 1"),), {**LINE, "who": who})
    entries = table(make.pick("0", "-2"), make.pick("N - 1", "N"))
    return Draft(first, (make.pick("N", "N - 1"),), {**entries, "who": who}, then=then)


# ---------------------------------------------------------------- arithmetic and loops


@rule("quotient and remainder")
def _divided(make: Maker) -> Draft:
    by = make.any("N", "M")
    other = "M" if by == "N" else "N"
    place = f"({by} * (f // {by}) + f % {by})" if by == "N" else "((f % M) * N + f // M)"
    place = make.pick(place, f"((f % {by}) * {other} + f // {by})")
    body = f"""
    f = tl.program_id(0) * B + tl.arange(0, B)
    m = f < {make.pick("M * N", "M * N + 1", "M * N - 1", "N * N")}
    tl.store(o + {place}, tl.load(x + f, mask=m, other=0.0), mask=m)
    """
    tensors = {**ROWS, "x": T("fp32", "M * N")}
    return Draft(body, (make.pick("ceil_div(M * N, B)", "M * N // B", "M * N"),), tensors)


@rule("parts that are divided evenly")
def _parts(make: Maker) -> Draft:
    chunk = make.pick("tl.cdiv(N, M)", "N // M", "tl.cdiv(N, M) * B", "tl.cdiv(N, M + 1)")
    mask = make.pick("n < hi", "n < N", "n <= hi")
    body = f"""
    chunk = {chunk}
    lo = tl.program_id(0) * chunk
    hi = {make.pick("tl.minimum(lo + chunk, N)", "lo + chunk", "N")}
    for c in tl.range(lo, hi, B):
        n = c + tl.arange(0, B)
        m = {mask}
        tl.store(o + n, tl.load(x + n, mask=m, other=0.0), mask=m)
    """
    return Draft(body, (make.pick("M", "M + 1", "M - 1"),), FLAT)


@rule("clamped indices")
def _clamped(make: Maker) -> Draft:
    low = make.pick("tl.maximum(e - 3, 0)", "e - 3", "tl.maximum(e - 3, -1)")
    high = make.pick("tl.minimum(a + 5, N - 1)", "a + 5", "tl.minimum(a + 5, N)")
    high = make.any(high, "tl.where(a + 5 < N, a + 5, N - 1)", "tl.where(a + 5 <= N, a + 5, 0)")
    body = f"""
    n = tl.program_id(0) * B + tl.arange(0, B)
    e = tl.load(table + n, mask=n < N, other=0)
    a = {low}
    v = tl.load(x + {high})
    tl.store(o + n, v, mask={make.pick("n < N", "n < N - 1")})
    """
    return Draft(body, (make.pick(TILES, "N"),), {**FLAT, **INDICES})


@rule("carried index")
def _carried(make: Maker) -> Draft:
    body = f"""
    i = tl.program_id(0)
    n = {make.pick("i * N", "i * M", "i")} + tl.arange(0, B)
    for c in tl.range(0, {make.pick("N", "N - 1", "N + 1")}, B):
        m = n < {make.pick("(i + 1) * N", "M * N", "(i + 2) * N")}
        tl.store(o + n, tl.load(x + n, mask=m, other=0.0), mask=m)
        n += {make.pick("B", "1", "N", "c")}
    """
    return Draft(body, (make.pick("M", "M + 1"),), ROWS)


@rule("carried pointer")
def _pointer(make: Maker) -> Draft:
    body = f"""
    i = tl.program_id(0)
    r = tl.arange(0, B)
    p = x + {make.pick("i * N", "i * M", "i")} + r
    q = o + i * N + r
    for c in tl.range(0, {make.pick("N", "N - 1")}, B):
        m = r < {make.pick("N - c", "N - c + 1", "N")}
        tl.store(q, tl.load(p, mask=m, other=0.0), mask=m)
        p += {make.pick("B", "1", "N")}
        q += {make.pick("B", "1")}
    """
    return Draft(body, (make.pick("M", "M + 1"),), ROWS)


@rule("entry fetched a turn early")
def _ahead(make: Maker) -> Draft:
    first = make.pick("tl.load(table)", "tl.load(table + 1)", "tl.load(table) + 1")
    more = make.pick("c + 1 < N", "c < N", "c + 2 < N")
    body = f"""
    i = tl.program_id(0)
    e = {first}
    for c in tl.range(0, N):
        tl.store(o + {make.pick("i * N + c", "i * N + e")}, tl.load(x + i * N + e))
        e = tl.load(table + c + 1, mask={more}, other={make.pick("0", "N")})
    """
    return Draft(body, (make.pick("M", "M - 1"),), {**ROWS, **INDICES})


def file_of(kernels: list[Fuzzed]) -> str:
    """One file with all of them."""
    return HEADER + "".join(kernel.source for kernel in kernels)
