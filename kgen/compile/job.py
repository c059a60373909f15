"""What to compile: one kernel, one signature, one target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

Constant = int | float | bool | str | None
"""A constexpr's value. A string that starts with `tl.` names a Triton dtype (`tl.float16`)."""


@dataclass(frozen=True)
class Job:
    """A kernel of a generated file, specialised as the launcher will specialise it.

    `signature` gives each parameter its Triton type (`*bf16`, `i64`, `i32`, `fp32`) or `constexpr`;
    `constants` gives each constexpr its value; arguments in `divisible_by_16` (pointers in bytes)
    carry `tt.divisibility`, no other argument is specialised. `options` are Triton's compile
    options beside the number of warps and stages.
    """

    source: Path
    function: str
    signature: Mapping[str, str]
    constants: Mapping[str, Constant]
    divisible_by_16: tuple[str, ...]
    num_warps: int
    num_stages: int
    target: str
    options: Mapping[str, Constant] = field(default_factory=dict)

    def as_json(self) -> dict:
        """The job as plain data, which `from_json` reads."""
        return {**asdict(self), "source": str(self.source)}

    @classmethod
    def from_json(cls, data: Mapping) -> Job:
        """The job that `as_json` wrote."""
        marked = tuple(data["divisible_by_16"])
        return cls(**{**data, "source": Path(data["source"]), "divisible_by_16": marked})

    def __str__(self) -> str:
        sizes = [f"{k}={v}" for k, v in self.constants.items()]
        shown = [*sizes, f"num_warps={self.num_warps}", f"num_stages={self.num_stages}"]
        return f"{self.function}[{', '.join(shown)}] for {self.target}"


def manifest_jobs(manifest: Mapping, source: Path, targets: Iterable[str]) -> list[Job]:
    """One job for each of a manifest's signatures and each target, targets innermost.

    `source` is the generated file that the manifest describes.
    """
    return [
        Job(
            source=source,
            function=entry["function"],
            signature=entry["signature"],
            constants=entry["constants"],
            divisible_by_16=tuple(entry["divisible_by_16"]),
            num_warps=entry["num_warps"],
            num_stages=entry["num_stages"],
            target=target,
            options=entry.get("options", {}),
        )
        for entry in manifest["signatures"]
        for target in targets
    ]
