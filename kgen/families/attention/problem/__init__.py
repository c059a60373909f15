"""Attention in fp64 torch, and the inputs that kernels are tested on.

Tensors: q [B, Q, HK * G, D]; k_cache [PAGES, PAGE, HK, D] and v_cache [PAGES, PAGE, HK, DV], or as `cache` of the
problem orders these; block_table [B, CAP // PAGE] int32; seq_lens [B] int32; k_scale and v_scale fp32, one element or
[HK], or as the caches without their columns; sinks fp32 [HK * G]; out [B, Q, HK * G, DV]; lse [B, Q, HK * G] fp32. DV is D where the problem has no such axis.
A contiguous cache [B, CAP, HK, D] is here one of pages of CAP tokens, request b having page b. In place of both caches
there may be a kv_cache that holds them, `interleaved` with a dimension of 2 behind the first, or `packed` with values
behind keys. Over latents keys have D + DR columns and values are the first D of them: q [B, Q, G, D + DR] and kv_cache
[PAGES, PAGE, 1, D + DR], or q_nope and q_pe, ckv_cache [PAGES, PAGE, D] and kpe_cache [PAGES, PAGE, DR]. Ragged queries are q [T, HK * G, D] with cu_q [B + 1] int32, and so are out and lse; max_q
is Q. Top-k has indices [B, Q, CAP] and valid_topk [B, Q], int32 both, in place of block_table and seq_lens.

Whatever a kernel must not use is poisoned: slots and pages that no row of the request sees hold NaN, table entries
past the live length hold ids far outside the cache, and indices that do not count those of slots that hold NaN.
"""

from kgen.families.attention.problem.calls import cases, variations, workloads
from kgen.families.attention.problem.least import work
from kgen.families.attention.problem.softmax import expected
from kgen.families.attention.problem.tensors import inputs

__all__ = ["cases", "expected", "inputs", "variations", "work", "workloads"]
