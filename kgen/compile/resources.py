"""What the compiler made of a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

Status = Literal["compiled", "refused", "crashed", "timeout"]


@dataclass(frozen=True)
class Resources:
    """The resources of one compiled kernel, or why there are none.

    - `registers` a thread; on AMD vector and accumulation registers together.
    - `stack_bytes` a thread: local memory, which a Triton kernel has only for spills (AMD:
      scratch).
    - `spill_bytes` a thread: the sum of bytes stored and loaded by spill code as ptxas reports it;
      on AMD 4 bytes for each spilled vector register. None where the compiler didn't tell.
    - `shared_bytes` a CTA, static and dynamic. Not compared with the target's limit here.
    - `tmem_columns` a CTA, of tensor memory.
    - `details`: what only one vendor reports (`spill_store_bytes`, `spill_load_bytes`; `agprs`,
      `sgprs`, `vgpr_spills`, `sgpr_spills`).
    - `instructions`: counts of instructions *in the text* of the PTX or AMD assembly, see
      `kgen.compile.instructions`.
    - `code_sha256`: of the machine code itself, see `kgen.compile.elf`; empty where nothing was
      compiled.
    - `versions`: of `triton`, and of the `ptxas` that made this cubin.
    - `message` and `line`: why it was refused or what was printed last, and where in the generated
      file, if known.
    - `seconds` the compiler took; `cached` says that it took them in an earlier run.
    """

    status: Status
    registers: int | None = None
    stack_bytes: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    tmem_columns: int | None = None
    details: Mapping[str, int] = field(default_factory=dict)
    instructions: Mapping[str, int] = field(default_factory=dict)
    code_sha256: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    line: int | None = None
    seconds: float = 0.0
    cached: bool = False

    def as_json(self) -> dict:
        """The resources as plain data, which `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping) -> Resources:
        """The resources that `as_json` wrote. Raises TypeError for unknown keys."""
        return cls(**data)

    def at_line(self, line: int | None) -> Resources:
        """The same with another line."""
        return replace(self, line=line)
