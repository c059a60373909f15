"""Emitted files to TTIR, in a process of its own: Triton's front end may crash, and is slow to import."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.worker import WorkerFailure, module_worker

WORKER = "kgen.prove.frontend_worker"
FOREIGN = ("TRITON_", "MLIR_", "LLVM_")
"""Variables that change what Triton makes of a file."""


@dataclass(frozen=True)
class Lowered:
    """One signature for one target: its text, or why there is none. `file` is the path that TTIR's locations name."""

    function: str
    constants: Mapping[str, Any]
    target: str
    file: str
    text: str = ""
    refused: str = ""


def triton_version() -> str:
    """The version of the installed Triton. Raises KgenError (KG601) where there is none."""
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        hint = "install Triton 3.6 to 3.9, such as `pip install triton==3.7.1`; no GPU is needed"
        message = "kernels can't be proved: Triton isn't installed in this Python environment"
        raise KgenError([Diagnostic("KG601", message, Place("(environment)"), hint)]) from None


class Frontend:
    """A worker that lowers signatures; it starts at once, so that Triton is imported while others work."""

    def __init__(self) -> None:
        triton_version()
        self._folder = tempfile.TemporaryDirectory(prefix="kgen-prove-")
        foreign = dict.fromkeys(name for name in os.environ if name.startswith(FOREIGN))
        own = {"TRITON_CACHE_DIR": str(Path(self._folder.name, "triton"))}
        self._worker = module_worker(WORKER, env={**foreign, **own})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._worker.close()
        self._folder.cleanup()

    @classmethod
    @contextlib.contextmanager
    def ahead(cls) -> Iterator[Self | None]:
        """A worker that imports Triton while the plan is checked; None where there is no Triton."""
        try:
            found = cls()
        except KgenError:
            found = None
        with found or contextlib.nullcontext():
            yield found

    def lower(
        self,
        text: str,
        signatures: Sequence[Mapping[str, Any]],
        targets: Sequence[str],
        timeout: float,
    ) -> list[Lowered]:
        """The TTIR of every signature for every target. A worker that dies or is too slow leaves a reason for all."""
        return self._called("lower", text, signatures, targets, timeout)

    def assemble(
        self,
        text: str,
        signatures: Sequence[Mapping[str, Any]],
        targets: Sequence[str],
        timeout: float,
    ) -> list[Lowered]:
        """The same with PTX, or with assembly where the target has no PTX."""
        return self._called("assemble", text, signatures, targets, timeout)

    def _called(
        self,
        verb: str,
        text: str,
        signatures: Sequence[Mapping[str, Any]],
        targets: Sequence[str],
        timeout: float,
    ) -> list[Lowered]:
        path = Path(self._folder.name, "submission.py")
        path.write_text(text, encoding="utf-8")
        found = []
        for target in targets:
            payload = {"source": str(path), "target": target, "signatures": list(signatures)}
            try:
                answers = self._worker.call(verb, payload, timeout)["texts"]
            except WorkerFailure as failure:
                answers = [{"refused": failure.message}] * len(signatures)
            for signature, answer in zip(signatures, answers, strict=True):
                found.append(
                    Lowered(
                        signature["function"], signature["constants"], target, str(path), **answer
                    )
                )
        return found
