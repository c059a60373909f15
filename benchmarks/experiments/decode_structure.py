"""How the work of a decode call is best divided, and how its parts are best summed: on a GPU, by plain kernels.

    python benchmarks/experiments/decode_structure.py OUT

Division: `fixed`, the keys of each request and KV head in equally many parts; `even`, all tiles of all requests in one
row, cut into as many equal pieces as programs fit the multiprocessors, so that a request may straddle programs.

Sum: `second`, a kernel after it; `dependent`, the same, launched early and waiting on the GPU (programmatic dependent
launch); `last`, the last program of a request sums all its parts; `groups`, the last of each group of parts sums the
group, the last of the groups sums these (two levels of tickets).

Caches hold one token a page in random order, 8 query heads to a KV head, 128 columns. q [B, HK * 8, 128] bf16; k, v
[tokens, HK, 128] bf16 or fp8 e4m3; partials fp32. Every result is compared with fp32 torch first: relative error of
the norm under 1 %. Times are medians of CUDA-graph replays over rotated caches of more than twice the L2.
OUT/decode_structure.json holds every variant; the table printed last shows the best of each form.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

D, G, ROWS = 128, 8, 16
SMS = (
    torch.cuda.get_device_properties(0).multi_processor_count if torch.cuda.is_available() else 132
)
SECONDS = 280
"""No shape is begun after so long."""


@triton.jit
def attend(p_q, p_k, p_v, p_ids, b_lo, b_hi, stride, SCALE: tl.constexpr, BLOCK_N: tl.constexpr):
    """Online softmax of 16 query rows over the keys [b_lo, b_hi) of one request and KV head."""
    o_m, o_d, o_n = tl.arange(0, 16), tl.arange(0, 128), tl.arange(0, BLOCK_N)
    operand: tl.constexpr = tl.bfloat16 if p_k.dtype.element_ty == tl.bfloat16 else tl.float16
    b_q = tl.load(p_q + o_m[:, None] * 128 + o_d[None, :], mask=(o_m < 8)[:, None], other=0.0)
    b_q = b_q.to(operand)
    b_m = tl.full((16,), -1e30, tl.float32)
    b_l = tl.zeros((16,), tl.float32)
    b_acc = tl.zeros((16, 128), tl.float32)
    b_page = tl.load(p_ids + b_lo + o_n, mask=b_lo + o_n < b_hi, other=0)
    for i_n in tl.range(b_lo, b_hi, BLOCK_N):
        m_n = i_n + o_n < b_hi
        o_k = b_page.to(tl.int64)[:, None] * stride + o_d[None, :]
        b_k = tl.load(p_k + o_k, mask=m_n[:, None], other=0.0)
        b_v = tl.load(p_v + o_k, mask=m_n[:, None], other=0.0)
        o_next = i_n + BLOCK_N + o_n
        b_page = tl.load(p_ids + o_next, mask=o_next < b_hi, other=0)
        b_s = tl.dot(b_q, tl.trans(b_k.to(operand))) * SCALE
        b_s = tl.where(m_n[None, :], b_s, -1e30)
        b_m_new = tl.maximum(b_m, tl.max(b_s, 1))
        b_p = tl.exp2(b_s - b_m_new[:, None])
        b_alpha = tl.exp2(b_m - b_m_new)
        b_l = b_l * b_alpha + tl.sum(b_p, 1)
        b_acc = tl.dot(b_p.to(operand), b_v.to(operand), b_acc * b_alpha[:, None])
        b_m = b_m_new
    return b_m, b_l, b_acc


@triton.jit
def keep(p_acc, p_ml, slot, b_m, b_l, b_acc):
    """One part, at its slot: 16 rows of sums, their maxima and their weights."""
    o_m, o_d = tl.arange(0, 16), tl.arange(0, 128)
    o_p = slot * 16 + o_m
    tl.store(p_acc + o_p[:, None] * 128 + o_d[None, :], b_acc)
    tl.store(p_ml + o_p * 2, b_m)
    tl.store(p_ml + o_p * 2 + 1, b_l)


@triton.jit
def gather(p_acc, p_ml, first, count, step):
    """The sum of the parts at slots first, first + step, ..., as one part; one after the other, loads ahead."""
    o_m, o_d = tl.arange(0, 16), tl.arange(0, 128)
    b_m = tl.full((16,), -1e30, tl.float32)
    b_l = tl.zeros((16,), tl.float32)
    b_acc = tl.zeros((16, 128), tl.float32)
    for i_s in tl.range(0, count, num_stages=4):
        o_p = (first + i_s * step) * 16 + o_m
        b_part_m = tl.load(p_ml + o_p * 2)
        b_part_l = tl.load(p_ml + o_p * 2 + 1)
        b_part = tl.load(p_acc + o_p[:, None] * 128 + o_d[None, :])
        b_m_new = tl.maximum(b_m, b_part_m)
        b_w = tl.exp2(b_part_m - b_m_new)
        b_alpha = tl.exp2(b_m - b_m_new)
        b_l = b_l * b_alpha + b_w * b_part_l
        b_acc = b_acc * b_alpha[:, None] + b_w[:, None] * b_part
        b_m = b_m_new
    return b_m, b_l, b_acc


@triton.jit
def finish(p_out, b_l, b_acc):
    """8 rows of output."""
    o_m, o_d = tl.arange(0, 16), tl.arange(0, 128)
    b_out = b_acc / tl.where(b_l > 0, b_l, 1.0)[:, None]
    tl.store(
        p_out + o_m[:, None] * 128 + o_d[None, :], b_out.to(tl.bfloat16), mask=(o_m < 8)[:, None]
    )


@triton.jit
def fixed_kernel(
    p_q, p_k, p_v, p_table, p_lens, p_acc, p_ml, p_tickets, p_out, CAP, HK, SPLITS, SCALE: tl.constexpr,
    BLOCK_N: tl.constexpr, SUM: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    i_b, i_h, i_s = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    b_len = tl.load(p_lens + i_b)
    b_chunk = tl.cdiv(tl.cdiv(b_len, SPLITS), BLOCK_N) * BLOCK_N
    b_lo = i_s * b_chunk
    i_r = i_b * HK + i_h
    if SUM == "dependent":
        gdc_launch_dependents()
    b_m, b_l, b_acc = attend(
        p_q + i_r * 1024, p_k + i_h * 128, p_v + i_h * 128, p_table + i_b * CAP,
        b_lo, tl.minimum(b_lo + b_chunk, b_len), HK * 128, SCALE, BLOCK_N,
    )  # fmt: skip
    if SUM == "direct":
        finish(p_out + i_r * 1024, b_l, b_acc)
    else:
        keep(p_acc, p_ml, i_r * SPLITS + i_s, b_m, b_l, b_acc)
    if SUM == "last":
        tl.debug_barrier()
        if tl.atomic_add(p_tickets + i_r, 1, sem="acq_rel") == SPLITS - 1:
            b_m, b_l, b_acc = gather(p_acc, p_ml, i_r * SPLITS, SPLITS, 1)
            finish(p_out + i_r * 1024, b_l, b_acc)
            tl.store(p_tickets + i_r, 0)
    if SUM == "groups":
        GROUPS = tl.cdiv(SPLITS, GROUP)
        i_g = i_s // GROUP
        members = tl.minimum(GROUP, SPLITS - i_g * GROUP)
        p_mine = p_tickets + (i_r * (GROUPS + 1) + i_g)
        tl.debug_barrier()
        if tl.atomic_add(p_mine, 1, sem="acq_rel") == members - 1:
            first = i_r * SPLITS + i_g * GROUP
            b_m, b_l, b_acc = gather(p_acc, p_ml, first, members, 1)
            tl.debug_barrier()
            keep(p_acc, p_ml, first, b_m, b_l, b_acc)
            tl.store(p_mine, 0)
            p_all = p_tickets + (i_r * (GROUPS + 1) + GROUPS)
            tl.debug_barrier()
            if tl.atomic_add(p_all, 1, sem="acq_rel") == GROUPS - 1:
                b_m, b_l, b_acc = gather(p_acc, p_ml, i_r * SPLITS, GROUPS, GROUP)
                finish(p_out + i_r * 1024, b_l, b_acc)
                tl.store(p_all, 0)


@triton.jit
def sum_kernel(p_acc, p_ml, p_out, SPLITS, BLOCK_S: tl.constexpr, DEPENDENT: tl.constexpr):
    """One row of one request and KV head over its parts, all of them in one tile."""
    i_r, i_m = tl.program_id(0), tl.program_id(1)
    if DEPENDENT:
        gdc_wait()
    sum_row(p_acc, p_ml, p_out + i_r * 1024, i_r * SPLITS, SPLITS, i_m, BLOCK_S)


@triton.jit
def sum_row(p_acc, p_ml, p_out, first, count, i_m, BLOCK_S: tl.constexpr):
    o_s, o_d = tl.arange(0, BLOCK_S), tl.arange(0, 128)
    m_s = o_s < count
    o_p = (first + o_s) * 16 + i_m
    b_m = tl.load(p_ml + o_p * 2, mask=m_s, other=-1e30)
    b_l = tl.load(p_ml + o_p * 2 + 1, mask=m_s, other=0.0)
    b_acc = tl.load(p_acc + o_p[:, None] * 128 + o_d[None, :], mask=m_s[:, None], other=0.0)
    b_w = tl.exp2(b_m - tl.max(b_m, 0))
    b_sum = tl.sum(b_w * b_l, 0)
    b_out = tl.sum(b_w[:, None] * b_acc, 0) / tl.where(b_sum > 0, b_sum, 1.0)
    tl.store(p_out + i_m * 128 + o_d, b_out.to(tl.bfloat16))


@triton.jit
def tiles_of(p_lens, B, BLOCK_N: tl.constexpr, BLOCK_B: tl.constexpr):
    o_b = tl.arange(0, BLOCK_B)
    return o_b, tl.cdiv(tl.load(p_lens + o_b, mask=o_b < B, other=0), BLOCK_N)


@triton.jit
def even_kernel(
    p_q, p_k, p_v, p_table, p_lens, p_acc, p_ml, p_out, B, CAP, HK, PROGRAMS, SCALE: tl.constexpr,
    BLOCK_N: tl.constexpr, BLOCK_B: tl.constexpr, DEPENDENT: tl.constexpr,
):  # fmt: skip
    """Tiles [i * total // PROGRAMS, (i + 1) * total // PROGRAMS) of all, request by request, head by head."""
    i = tl.program_id(0)
    o_b, b_tiles = tiles_of(p_lens, B, BLOCK_N, BLOCK_B)
    b_ends = tl.cumsum(b_tiles, 0) * HK
    total = tl.sum(b_tiles, 0) * HK
    # no more pieces than tiles: an empty piece between two others would leave its slot unwritten
    pieces = tl.minimum(PROGRAMS, total)
    tile = tl.where(i < pieces, i * total // tl.maximum(pieces, 1), 0)
    stop = tl.where(i < pieces, (i + 1) * total // tl.maximum(pieces, 1), 0)
    if DEPENDENT:
        gdc_launch_dependents()
    while tile < stop:
        i_b = tl.sum((b_ends <= tile).to(tl.int32), 0)
        n_b = tl.sum(tl.where(o_b == i_b, b_tiles, 0), 0)
        base = tl.sum(tl.where(o_b == i_b, b_ends, 0), 0) - n_b * HK
        i_h = (tile - base) // n_b
        first = (tile - base) % n_b
        last = tl.minimum(n_b, first + stop - tile)
        b_len = tl.load(p_lens + i_b)
        i_r = i_b * HK + i_h
        b_m, b_l, b_acc = attend(
            p_q + i_r * 1024, p_k + i_h * 128, p_v + i_h * 128, p_table + i_b * CAP,
            first * BLOCK_N, tl.minimum(last * BLOCK_N, b_len), HK * 128, SCALE, BLOCK_N,
        )  # fmt: skip
        if last - first == n_b:
            finish(p_out + i_r * 1024, b_l, b_acc)
        else:
            keep(p_acc, p_ml, i + i_r, b_m, b_l, b_acc)
        tile += last - first


@triton.jit
def even_sum_kernel(
    p_lens, p_acc, p_ml, p_out, B, HK, PROGRAMS, BLOCK_N: tl.constexpr, BLOCK_B: tl.constexpr,
    BLOCK_S: tl.constexpr, DEPENDENT: tl.constexpr,
):  # fmt: skip
    """The parts of a request lie at slots program + request: each step along either takes the next one."""
    i_r, i_m = tl.program_id(0), tl.program_id(1)
    o_b, b_tiles = tiles_of(p_lens, B, BLOCK_N, BLOCK_B)
    total = tl.sum(b_tiles, 0) * HK
    i_b = i_r // HK
    n_b = tl.sum(tl.where(o_b == i_b, b_tiles, 0), 0)
    start = tl.sum(tl.where(o_b < i_b, b_tiles, 0), 0) * HK + (i_r % HK) * n_b
    pieces = tl.minimum(PROGRAMS, total)
    first = ((start + 1) * pieces - 1) // total
    last = ((start + n_b) * pieces - 1) // total
    if DEPENDENT:
        gdc_wait()
    if first < last:
        sum_row(p_acc, p_ml, p_out + i_r * 1024, first + i_r, last - first + 1, i_m, BLOCK_S)


@dataclass(frozen=True)
class Shape:
    """B requests of `keys` tokens each; where `ragged`, all but the first have a sixteenth of them."""

    B: int
    keys: int
    HK: int
    dtype: str
    ragged: bool = False

    @property
    def lengths(self) -> list[int]:
        return [self.keys] + [self.keys // 16 if self.ragged else self.keys] * (self.B - 1)

    @property
    def bytes(self) -> int:
        """Of keys and values."""
        return 2 * sum(self.lengths) * self.HK * D * (2 if self.dtype == "bf16" else 1)


@dataclass(frozen=True)
class Variant:
    division: str
    sum: str
    BLOCK_N: int
    num_warps: int
    waves: int
    num_stages: int = 3

    def programs(self, shape: Shape) -> int:
        return SMS * self.waves

    def splits(self, shape: Shape) -> int:
        most = max(1, shape.keys // max(256, self.BLOCK_N))
        return max(1, min(256, most, SMS * self.waves // (shape.B * shape.HK)))


class Data:
    """Tensors of one shape, its rotated caches, scratch, and the right output of each rotation's first cache."""

    def __init__(self, shape: Shape):
        torch.manual_seed(1)
        self.shape = shape
        kind = torch.bfloat16 if shape.dtype == "bf16" else torch.float8_e4m3fn
        tokens, size = shape.B * shape.keys, (shape.B * shape.keys, shape.HK, D)
        self.rotations = max(2, min(24, int(2.2 * 60e6 // shape.bytes) + 1))
        draw = lambda: torch.randn(size, device="cuda", dtype=torch.bfloat16).to(kind)
        self.k = [draw() for _ in range(self.rotations)]
        self.v = [draw() for _ in range(self.rotations)]
        self.q = torch.randn(shape.B, shape.HK * G, D, device="cuda", dtype=torch.bfloat16)
        self.out = torch.empty_like(self.q)
        self.lens = torch.tensor(shape.lengths, device="cuda", dtype=torch.int32)
        self.table = torch.randperm(tokens, device="cuda", dtype=torch.int32).view(shape.B, -1)
        slots = max(shape.B * shape.HK * 257, SMS * 4 + shape.B * shape.HK)
        self.acc = torch.empty(slots * ROWS * D, device="cuda")
        self.ml = torch.empty(slots * ROWS * 2, device="cuda")
        self.tickets = torch.zeros(shape.B * shape.HK * 64, device="cuda", dtype=torch.int32)
        self.right = self._reference()

    def _reference(self) -> torch.Tensor:
        shape, found = self.shape, []
        for b, length in enumerate(shape.lengths):
            ids = self.table[b, :length].long()
            k, v = (x[0][ids].float().transpose(0, 1) for x in (self.k, self.v))
            q = self.q[b].view(shape.HK, G, D).float()
            p = (torch.einsum("hgd,hld->hgl", q, k) / math.sqrt(D)).softmax(-1)
            found.append(torch.einsum("hgl,hld->hgd", p, v).reshape(shape.HK * G, D))
        return torch.stack(found)


SCALE = math.log2(math.e) / math.sqrt(D)


def launch(data: Data, variant: Variant, turn: int) -> None:
    shape = data.shape
    dependent = variant.sum == "dependent"
    tensors = (data.q, data.k[turn], data.v[turn], data.table, data.lens, data.acc, data.ml)
    many = {"num_warps": variant.num_warps, "num_stages": variant.num_stages}
    requests = shape.B * shape.HK
    if variant.division == "fixed":
        splits = variant.splits(shape)
        form = "direct" if splits == 1 else variant.sum
        group = 1 << max(1, round(math.log2(splits) / 2)) if splits > 1 else 1
        fixed_kernel[(shape.B, shape.HK, splits)](
            *tensors, data.tickets, data.out, shape.keys, shape.HK, splits, SCALE, variant.BLOCK_N,
            form, group, **many,
        )  # fmt: skip
        if form in ("second", "dependent"):
            tile = max(2, triton.next_power_of_2(splits))
            sum_kernel[(requests, G)](
                data.acc,
                data.ml,
                data.out,
                splits,
                tile,
                dependent,
                num_warps=4,
                launch_pdl=dependent,
            )
        return
    programs = variant.programs(shape)
    block_b = max(2, triton.next_power_of_2(shape.B))
    even_kernel[(programs,)](
        *tensors, data.out, shape.B, shape.keys, shape.HK, programs, SCALE, variant.BLOCK_N, block_b,
        dependent, **many,
    )  # fmt: skip
    longest = max(shape.lengths) / sum(shape.lengths) / shape.HK
    tile = max(2, triton.next_power_of_2(int(longest * programs) + 2))
    even_sum_kernel[(requests, G)](
        data.lens, data.acc, data.ml, data.out, shape.B, shape.HK, programs, variant.BLOCK_N, block_b,
        tile, dependent, num_warps=4, launch_pdl=dependent,
    )  # fmt: skip


def error(data: Data, variant: Variant) -> float:
    data.out.fill_(float("nan"))
    launch(data, variant, 0)
    torch.cuda.synchronize()
    return ((data.out.float() - data.right).norm() / data.right.norm()).item()


def microseconds(data: Data, variant: Variant, replays: int = 9) -> float:
    """Median time of a call: a graph of one call for each rotated cache, replayed."""
    for turn in range(data.rotations):
        launch(data, variant, turn)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for turn in range(data.rotations):
            launch(data, variant, turn)
    graph.replay()
    times = []
    for _ in range(replays):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / data.rotations)
    return sorted(times)[replays // 2]


SHAPES = (
    Shape(1, 2048, 1, "fp8"),
    Shape(1, 32768, 1, "fp8"),
    Shape(8, 8192, 1, "fp8"),
    Shape(16, 8192, 1, "fp8", ragged=True),
    Shape(48, 8192, 1, "fp8"),
    Shape(96, 8192, 1, "fp8"),
    Shape(16, 65536, 1, "fp8", ragged=True),
    Shape(1, 8192, 8, "bf16"),
    Shape(32, 16384, 1, "bf16"),
    Shape(32, 16384, 8, "bf16"),
)

VARIANTS = tuple(
    Variant(division, how, *cut)
    for division, forms in (
        ("fixed", ("second", "dependent", "last", "groups")),
        ("even", ("second", "dependent")),
    )
    for how in forms
    for cut in ((128, 8, 1), (128, 4, 1), (128, 4, 2), (64, 4, 2))
)


def main(out: Path) -> None:
    began = time.monotonic()
    rows = []
    for shape in SHAPES:
        if time.monotonic() - began > SECONDS:
            print(f"not run: {shape}")
            continue
        data = Data(shape)
        for variant in VARIANTS:
            try:
                wrong = error(data, variant)
                took = microseconds(data, variant) if wrong < 1e-2 else None
            except Exception as failure:  # a variant that does not fit the machine is a result too
                wrong, took = f"{type(failure).__name__}: {failure}"[:200], None
            rows.append(
                {"shape": asdict(shape), "variant": asdict(variant), "error": wrong, "us": took}
            )
        del data
        torch.cuda.empty_cache()
    facts = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }
    (out / "decode_structure.json").write_text(json.dumps({**facts, "rows": rows}, indent=1) + "\n")
    table(rows)


def table(rows: list[dict]) -> None:
    forms = list(dict.fromkeys((v.division, v.sum) for v in VARIANTS))
    print("B keys HK dtype ragged MB | " + " | ".join(" ".join(form) for form in forms))
    for shape, group in itertools.groupby(rows, lambda row: row["shape"]):
        group, cells = list(group), []
        for division, how in forms:
            mine = [
                r
                for r in group
                if (r["variant"]["division"], r["variant"]["sum"]) == (division, how)
            ]
            timed = [r for r in mine if r["us"]]
            if not timed:
                cells.append(str(mine[0]["error"])[:40])
                continue
            best = min(timed, key=lambda r: r["us"])
            cut = best["variant"]
            cells.append(f"{best['us']:.2f} ({cut['BLOCK_N']}, {cut['num_warps']}, {cut['waves']})")
        megabytes = Shape(**shape).bytes / 1e6
        print(*shape.values(), f"{megabytes:.0f} |", " | ".join(cells))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
