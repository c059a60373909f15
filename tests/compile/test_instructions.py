"""Counting instructions in text: by name and width, nothing twice, comments not at all."""

from __future__ import annotations

import pytest

from kgen.compile.instructions import count_amdgcn, count_ptx


@pytest.mark.parametrize(
    "line, counts",
    [
        ("ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];", {"global_loads_16B": 1}),
        ("@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 ];", {"global_loads_16B": 1}),
        ("@!%p1 ld.global.b16 { %rs1 }, [ %rd1 + 0 ];", {"global_loads_2B": 1}),
        (
            "ld.global.L1::evict_last.L2::cache_hint.v2.b64 {%rd1, %rd2}, [%rd3], %rd4;",
            {"global_loads_16B": 1},
        ),
        (
            "ld.global.nc.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1];",
            {"global_loads_32B": 1},
        ),
        ("ld.global.acquire.gpu.b32 %r1, [ %rd1 + 0 ];", {"global_loads_4B": 1}),
        ("ld.volatile.global.u8 %rs1, [%rd1];", {"global_loads_1B": 1}),
        ("st.global.v4.b32 [ %rd1 + 0 ], { %r1, %r2, %r3, %r4 };", {"global_stores_16B": 1}),
        ("st.relaxed.gpu.global.f64 [%rd1], %fd1;", {"global_stores_8B": 1}),
        ("ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%r5];", {}),
        ("ld.param.b64 %rd8, [gemm_param_3];", {}),
        ("ld.param.f64 %fd1, [kernel_param_0];", {}),
        (
            "cp.async.cg.shared.global [ %r1 + 0 ], [ %rd1 + 0 ], 0x10, %r2;",
            {"async_copies_16B": 1},
        ),
        ("@%p2 cp.async.ca.shared.global [ %r1 ], [ %rd1 ], 0x4;", {"async_copies_4B": 1}),
        ("cp.async.commit_group ;", {}),
        ("cp.async.wait_group 2;", {}),
        (
            "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [%r1], [%rd1, {%r2, %r3}], [%r4];",
            {"bulk_copies": 1},
        ),
        (
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r2, %r3}], [%r1];",
            {"bulk_copies": 1},
        ),
        ("cp.async.bulk.commit_group;", {}),
        ("cp.async.bulk.wait_group.read 0;", {}),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];", {"ldmatrix": 1}),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r5], {%r1};", {"stmatrix": 1}),
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 { %f1 }, { %r1 };", {"mma_sync": 1}),
        (
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd1}, {%fd2};",
            {"mma_sync": 1, "fp64": 1},
        ),
        ("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {%f1}, %rd1, %rd2;", {"wgmma": 1}),
        ("wgmma.fence.sync.aligned;", {}),
        (
            "@%p13 tcgen05.mma.cta_group::1.kind::f16 [ %r1 + 0 ], %rd45, %rd46, %r39, %p12;",
            {"tcgen05_mma": 1},
        ),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 64;", {}),
        ("bar.sync 0;", {"barriers": 1}),
        ("barrier.cta.sync.aligned 0;", {"barriers": 1}),
        ("bar.warp.sync -1;", {}),
        ("barrier.cluster.arrive;", {}),
        ("mbarrier.try_wait.parity.shared::cta.b64 complete, [%r1], %r2;", {"mbarrier_waits": 1}),
        ("mbarrier.init.shared::cta.b64 [%r1], 1;", {}),
        ("@%p1 atom.global.gpu.acq_rel.add.f32 %r1, [ %rd1 + 0 ], %r2;", {"atomics": 1}),
        ("red.global.gpu.relaxed.add.f64 [%rd1], %fd1;", {"atomics": 1, "fp64": 1}),
        ("atom.shared.add.u32 %r1, [%r2], 1;", {}),
        ("mul.rn.f64 %fd2, %fd1, 0d4008000000000000;", {"fp64": 1}),
        ("cvt.f64.f32 %fd1, %f1;", {"fp64": 1}),
        ("mov.f64 %fd1, %fd2;", {}),
        ("// ld.global.b32 %r1, [%rd1];", {}),
        ("add.s32 %r1, %r2, %r3; // then bar.sync 0;", {}),
        ("{ bar.sync 0; bar.sync 1; }", {"barriers": 2}),
        (".param .u64 .ptr .global .align 1 kernel_param_0,", {}),
        (".extern .shared .align 16 .b8 global_smem[];", {}),
        ("$L__BB0_2: bar.sync 0;", {"barriers": 1}),
    ],
)
def test_a_line_of_ptx(line, counts):
    assert count_ptx(f"\t{line}\n") == dict(sorted(counts.items()))


def test_ptx_lines_add_up():
    text = "\tbar.sync \t0;\n\tmov.u32 %r1, 0x0;\n\t@%p1 ld.global.b32 { %r1 }, [ %rd1 + 0 ];\n" * 3
    assert count_ptx(text) == {"barriers": 3, "global_loads_4B": 3}


@pytest.mark.parametrize(
    "line, counts",
    [
        ("global_load_dwordx4 v[0:3], v[4:5], off", {"global_loads_16B": 1}),
        ("buffer_load_dwordx2 v[0:1], v2, s[0:3], 0 offen", {"global_loads_8B": 1}),
        ("global_load_ushort v1, v[2:3], off", {"global_loads_2B": 1}),
        ("global_load_short_d16_hi v1, v[2:3], off", {"global_loads_2B": 1}),
        ("buffer_load_ubyte v1, v2, s[0:3], 0 offen", {"global_loads_1B": 1}),
        ("global_store_dwordx4 v[4:5], v[0:3], off", {"global_stores_16B": 1}),
        ("buffer_store_short v1, v2, s[0:3], 0 offen", {"global_stores_2B": 1}),
        ("flat_load_dword v1, v[2:3]", {"global_loads_4B": 1}),
        ("buffer_load_dword v2, s[0:3], 0 offen lds", {"async_copies_4B": 1}),
        ("global_load_lds_dwordx4 v[2:3], off", {"async_copies_16B": 1}),
        ("scratch_load_dword v1, off, s32", {}),
        ("ds_read_b64 v[0:1], v2", {}),
        ("s_load_dwordx4 s[0:3], s[4:5], 0x0", {}),
        ("v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]", {"mfma": 1}),
        ("s_barrier", {"barriers": 1}),
        ("buffer_atomic_add_f32 v1, v2, s[0:3], 0 offen", {"atomics": 1}),
        ("global_atomic_add_f64 v[0:1], v[2:3], off", {"atomics": 1}),
        ("v_mul_f64 v[0:1], v[0:1], s[2:3]", {"fp64": 1}),
        ("v_mul_f32 v0, v1, v2", {}),
        ("; global_load_dword v1, v[2:3], off", {}),
        ("s_nop 0 ; then s_barrier", {}),
    ],
)
def test_a_line_of_amd_assembly(line, counts):
    assert count_amdgcn(f"\t{line}\n") == counts
