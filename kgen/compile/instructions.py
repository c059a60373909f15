"""Counts of the instructions that decide speed, in the text of PTX or AMD assembly.

Each count is of places in the text, not of executions: an instruction in a loop counts once,
however often it runs, and an unrolled loop counts every copy. PTX is what ptxas gets, so what ptxas
removes or merges is still counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_PTX_OPCODE = re.compile(
    r"(?:^|[;{}])\s*(?:[$\w]+:\s+)?(?:@!?%?\w+\s+)?([a-z]\w*(?:[.:]+\w+)*)([^;\n]*)", re.M
)
_PTX_COMMENT = re.compile(r"//[^\n]*")
_PTX_VECTOR = re.compile(r"v([248])")
_PTX_WIDTH = re.compile(r"[bsuf](\d+)")
_PTX_COPY_BYTES = re.compile(r"\]\s*,\s*(0x[0-9a-fA-F]+|\d+)")

_AMD_OPCODE = re.compile(r"^\s+([a-z]\w+)([^\n]*)", re.M)
_AMD_COMMENT = re.compile(r";[^\n]*")
_AMD_MEMORY = re.compile(r"(?:global|buffer|flat)_(load|store)_(lds_)?(\w+)")
_AMD_BYTES = {
    "dwordx4": 16,
    "dwordx3": 12,
    "dwordx2": 8,
    "dword": 4,
    "ushort": 2,
    "sshort": 2,
    "short": 2,
    "ubyte": 1,
    "sbyte": 1,
    "byte": 1,
}


def count_ptx(ptx: str) -> dict[str, int]:
    """Counts by name; a name that is absent counts 0.

    - `global_loads_<n>B`, `global_stores_<n>B`: `ld` and `st` with state space `.global`, n bytes a
      thread.
    - `async_copies_<n>B`: `cp.async` of n bytes a thread from global to shared memory.
    - `bulk_copies`: `cp.async.bulk` (with `.tensor`: TMA) in either direction.
    - `mma_sync`, `wgmma`, `tcgen05_mma`: matrix instructions, a CTA's or warp's each.
    - `ldmatrix`, `stmatrix`; `atomics` (`atom` and `red` on global memory).
    - `fp64`: instructions with an `.f64` operand that compute or convert.
    - `barriers`: CTA barriers (`bar`, `barrier`); `mbarrier_waits`: `mbarrier.try_wait` and
      `test_wait`.
    """
    counts: Counter[str] = Counter()
    for opcode, operands in _PTX_OPCODE.findall(_PTX_COMMENT.sub("", ptx)):
        counts.update(_ptx_names(opcode.split("."), operands))
    return dict(sorted(counts.items()))


def _ptx_names(parts: list[str], operands: str) -> Iterator[str]:
    """The counts to which one PTX instruction adds one."""
    head = parts[0]
    rest = parts[1:]
    if head in ("ld", "st") and "global" in rest:
        kind = "loads" if head == "ld" else "stores"
        yield f"global_{kind}_{_ptx_bytes(rest)}B"
    elif parts[:2] == ["cp", "async"]:
        if "bulk" in rest:
            if not {"commit_group", "wait_group", "prefetch"} & set(rest):
                yield "bulk_copies"
        elif (size := _PTX_COPY_BYTES.search(operands)) is not None:
            yield f"async_copies_{int(size[1], 0)}B"
    elif head in ("atom", "red") and "global" in rest:
        yield "atomics"
    elif head in ("ldmatrix", "stmatrix"):
        yield head
    elif head == "mma":
        yield "mma_sync"
    elif parts[:2] == ["wgmma", "mma_async"]:
        yield "wgmma"
    elif parts[:2] == ["tcgen05", "mma"]:
        yield "tcgen05_mma"
    elif head in ("bar", "barrier") and not {"warp", "cluster"} & set(rest):
        yield "barriers"
    elif head == "mbarrier" and rest[0] in ("try_wait", "test_wait"):
        yield "mbarrier_waits"
    if "f64" in rest and head not in ("ld", "st", "mov"):
        yield "fp64"


def _ptx_bytes(parts: list[str]) -> int:
    """Bytes a thread that `ld.global.v4.b32` and the like move."""
    vector = next((int(m[1]) for part in parts if (m := _PTX_VECTOR.fullmatch(part))), 1)
    width = next(int(m[1]) for part in reversed(parts) if (m := _PTX_WIDTH.fullmatch(part)))
    return vector * width // 8


def count_amdgcn(assembly: str) -> dict[str, int]:
    """Counts by name, as `count_ptx`; a name that is absent counts 0.

    - `global_loads_<n>B`, `global_stores_<n>B`: `global_`, `buffer_` and `flat_` loads and stores
      of n bytes a lane.
    - `async_copies_<n>B`: loads straight into LDS.
    - `mfma`: matrix instructions. `atomics`, `fp64`, `barriers` (`s_barrier`) as their names say.
    """
    counts: Counter[str] = Counter()
    for opcode, operands in _AMD_OPCODE.findall(_AMD_COMMENT.sub("", assembly)):
        counts.update(_amd_names(opcode, operands.split()))
    return dict(sorted(counts.items()))


def _amd_names(opcode: str, operands: list[str]) -> Iterator[str]:
    """The counts to which one AMD instruction adds one."""
    if (memory := _AMD_MEMORY.fullmatch(opcode)) is not None:
        size = next((n for name, n in _AMD_BYTES.items() if memory[3].startswith(name)), None)
        if size is not None and (memory[2] or "lds" in operands):
            yield f"async_copies_{size}B"
        elif size is not None:
            yield f"global_{memory[1]}s_{size}B"
    elif re.match(r"(global|buffer|flat)_atomic_", opcode):
        yield "atomics"
    elif opcode.startswith(("v_mfma_", "v_smfmac_")):
        yield "mfma"
    elif opcode == "s_barrier":
        yield "barriers"
    elif opcode.startswith("v_") and "_f64" in opcode:
        yield "fp64"
