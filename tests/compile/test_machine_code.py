"""Registers, stack and spills, read from logs, cubins and assembly."""

from __future__ import annotations

import contextlib
import io

import pytest
import triton
from triton.compiler import ASTSource

from kgen.compile.amdgcn import read_amdgcn
from kgen.compile.cubin import read_cubin, read_ptxas_log
from kgen.compile.loading import load
from kgen.compile.standin import gpu_target, stand_in
from kgen.devices import target as find_target

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'gemm' for 'sm_90a'
ptxas info    : Function properties for gemm
    424 bytes stack frame, 420 bytes spill stores, 428 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers
"""
METADATA = """
amdhsa.kernels:
  - .agpr_count:     24
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 1188
    .sgpr_count:     78
    .sgpr_spill_count: 2
    .vgpr_count:     172
    .vgpr_spill_count: 296
"""


def test_a_log_of_ptxas_tells_everything():
    assert read_ptxas_log(LOG) == {
        "registers": 255,
        "stack_bytes": 424,
        "spill_store_bytes": 420,
        "spill_load_bytes": 428,
    }


@pytest.mark.parametrize("log", ["", "ptxas info    : 0 bytes gmem\n"])
def test_a_log_without_numbers_is_none_not_zero(log):
    assert read_ptxas_log(log) is None


def test_amd_metadata_is_read_after_its_marker():
    text = "; .vgpr_count: 999\n\t.amdgpu_metadata\n" + METADATA
    assert read_amdgcn(text) == {
        "registers": 172,
        "agprs": 24,
        "sgprs": 78,
        "vgpr_spills": 296,
        "sgpr_spills": 2,
        "stack_bytes": 1188,
    }


def test_amd_metadata_that_lacks_a_number_is_an_error_not_zero():
    with pytest.raises(ValueError, match="the assembly's metadata has no .sgpr_spill_count"):
        read_amdgcn(METADATA.replace(".sgpr_spill_count: 2", ""))


@pytest.fixture(scope="module", params=["hoard sm_90", "doubles", "matmul sm_100"])
def cubin_and_log(request, jobs):
    """A kernel compiled in this process, and what its own ptxas run printed."""
    job = jobs[request.param]
    target = find_target(job.target)
    printed = io.StringIO()
    with stand_in(target), triton.knobs.nvidia.scope(), triton.knobs.compilation.scope():
        triton.knobs.nvidia.dump_ptxas_log = True
        triton.knobs.compilation.always_compile = True
        kernel = getattr(load(job.source, job.target), job.function)
        source = ASTSource(fn=kernel, signature=dict(job.signature), constexprs=dict(job.constants))
        options = {"num_warps": job.num_warps, "num_stages": job.num_stages}
        with contextlib.redirect_stdout(printed):
            made = triton.compile(source, target=gpu_target(target), options=options)
    return made, printed.getvalue()


def test_the_cubin_says_what_ptxas_said(cubin_and_log):
    made, log = cubin_and_log
    told = read_ptxas_log(log)
    assert read_cubin(made.asm["cubin"], made.metadata.name) == {
        "registers": told["registers"],
        "stack_bytes": told["stack_bytes"],
    }


def test_a_kernel_that_the_cubin_lacks_is_an_error(cubin_and_log):
    made, _ = cubin_and_log
    with pytest.raises(ValueError, match="says nothing about registers and stack of absent"):
        read_cubin(made.asm["cubin"], "absent")
