"""Last-block reductions and dependent launches: an honest one of each, and what breaks them."""

import triton
import triton.language as tl


@triton.jit
def store_part(p_x, p_part, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    o = (tl.program_id(1) * PARTS + tl.program_id(0)) * BLOCK + tl.arange(0, BLOCK)
    tl.store(p_part + o, 2 * tl.load(p_x + o))


@triton.jit
def add_parts(p_part, p_out, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    b_sum = tl.zeros((BLOCK,), tl.float32)
    for i in tl.range(PARTS):
        b_sum += tl.load(p_part + (tl.program_id(1) * PARTS + i) * BLOCK + o)
    tl.store(p_out + tl.program_id(1) * BLOCK + o, b_sum)


@triton.jit
def honest(p_x, p_part, p_count, p_out, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    store_part(p_x, p_part, PARTS, BLOCK)
    tl.debug_barrier()
    ticket = tl.atomic_add(p_count + tl.program_id(1), 1, sem="acq_rel", scope="gpu")
    if ticket == PARTS - 1:
        add_parts(p_part, p_out, PARTS, BLOCK)
        tl.store(p_count + tl.program_id(1), 0)


@triton.jit
def no_barrier(p_x, p_part, p_count, p_out, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    store_part(p_x, p_part, PARTS, BLOCK)
    ticket = tl.atomic_add(p_count + tl.program_id(1), 1, sem="acq_rel", scope="gpu")
    if ticket == PARTS - 1:
        add_parts(p_part, p_out, PARTS, BLOCK)
        tl.store(p_count + tl.program_id(1), 0)


@triton.jit
def relaxed(p_x, p_part, p_count, p_out, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    store_part(p_x, p_part, PARTS, BLOCK)
    tl.debug_barrier()
    ticket = tl.atomic_add(p_count + tl.program_id(1), 1, sem="relaxed", scope="gpu")
    if ticket == PARTS - 1:
        add_parts(p_part, p_out, PARTS, BLOCK)
        tl.store(p_count + tl.program_id(1), 0)


@triton.jit
def release_only(p_x, p_part, p_count, p_out, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    store_part(p_x, p_part, PARTS, BLOCK)
    tl.debug_barrier()
    ticket = tl.atomic_add(p_count + tl.program_id(1), 1, sem="release", scope="gpu")
    if ticket == PARTS - 1:
        add_parts(p_part, p_out, PARTS, BLOCK)
        tl.store(p_count + tl.program_id(1), 0)


@triton.jit
def cta_scope(p_x, p_part, p_count, p_out, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    store_part(p_x, p_part, PARTS, BLOCK)
    tl.debug_barrier()
    ticket = tl.atomic_add(p_count + tl.program_id(1), 1, sem="acq_rel", scope="cta")
    if ticket == PARTS - 1:
        add_parts(p_part, p_out, PARTS, BLOCK)
        tl.store(p_count + tl.program_id(1), 0)


@triton.jit
def no_reset(p_x, p_part, p_count, p_out, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    store_part(p_x, p_part, PARTS, BLOCK)
    tl.debug_barrier()
    ticket = tl.atomic_add(p_count + tl.program_id(1), 1, sem="acq_rel", scope="gpu")
    if ticket == PARTS - 1:
        add_parts(p_part, p_out, PARTS, BLOCK)


@triton.jit
def reset_of_another(p_x, p_part, p_count, p_out, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    store_part(p_x, p_part, PARTS, BLOCK)
    tl.debug_barrier()
    ticket = tl.atomic_add(p_count + tl.program_id(1), 1, sem="acq_rel", scope="gpu")
    if ticket == PARTS - 1:
        add_parts(p_part, p_out, PARTS, BLOCK)
        tl.store(p_count + tl.program_id(1) + 1, 0)


@triton.jit
def reset_to_one(p_x, p_part, p_count, p_out, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    store_part(p_x, p_part, PARTS, BLOCK)
    tl.debug_barrier()
    ticket = tl.atomic_add(p_count + tl.program_id(1), 1, sem="acq_rel", scope="gpu")
    if ticket == PARTS - 1:
        add_parts(p_part, p_out, PARTS, BLOCK)
        tl.store(p_count + tl.program_id(1), 1)


@triton.jit
def counts(p_x, p_part, p_count, p_out, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    # an atomic after which nothing is read is no ticket
    store_part(p_x, p_part, PARTS, BLOCK)
    tl.atomic_add(p_count + tl.program_id(1), 1, sem="relaxed", scope="gpu")


@triton.jit
def waits(p_x, p_out, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_wait()
    tl.store(p_out + o, tl.load(p_x + o))
    tl.extra.cuda.gdc_launch_dependents()


@triton.jit
def waits_after_its_load(p_x, p_out, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    b_x = tl.load(p_x + o)
    tl.extra.cuda.gdc_wait()
    tl.store(p_out + o, b_x)


@triton.jit
def never_waits(p_x, p_out, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(p_out + o, tl.load(p_x + o))
