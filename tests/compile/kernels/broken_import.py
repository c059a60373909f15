"""A file that can't be imported."""

import triton

LIMIT = 1
RATIO = LIMIT / 0


@triton.jit
def kernel(p_x):
    pass
