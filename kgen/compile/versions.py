"""The versions of Triton and its ptxas, found without importing Triton."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import subprocess
from pathlib import Path

from kgen.compile.storage import read_json, write_json
from kgen.diagnostics import Diagnostic, KgenError, Place

_TOOLS = {
    "ptxas": "TRITON_PTXAS_PATH",
    "ptxas-blackwell": "TRITON_PTXAS_BLACKWELL_PATH",
}
"""Triton's assemblers, and the variables by which a user may name others. Which one serves a target
depends on the version of Triton, so that a record names the versions of both.
"""

TOOL_VARIABLES = frozenset(_TOOLS.values())


def toolchain(cache_dir: Path) -> dict[str, str]:
    """Versions of `triton` and of each ptxas it has, by name.

    What a ptxas says of itself is kept in `cache_dir` for a file of the same path, size and time.
    Raises `KgenError` (KG601) if Triton isn't installed.
    """
    try:
        triton = importlib.metadata.distribution("triton")
    except importlib.metadata.PackageNotFoundError:
        raise KgenError([_NOT_INSTALLED]) from None
    binaries = Path(triton.locate_file("triton/backends/nvidia/bin"))
    found = {"triton": triton.version}
    for name, variable in _TOOLS.items():
        tool = Path(os.environ.get(variable) or binaries / name)
        if tool.is_file():
            found[name] = _tool_version(tool, cache_dir)
    return found


_NOT_INSTALLED = Diagnostic(
    code="KG601",
    message="kernels can't be compiled: Triton isn't installed in this Python environment",
    place=Place("(environment)"),
    hint="install Triton 3.6 to 3.9, such as `pip install triton==3.7.1`; no GPU is needed",
)


def _tool_version(tool: Path, cache_dir: Path) -> str:
    stat = tool.stat()
    identity = f"{tool.resolve()}:{stat.st_size}:{stat.st_mtime_ns}"
    record = cache_dir / "tools" / f"{hashlib.sha256(identity.encode()).hexdigest()}.json"
    known = read_json(record)
    if isinstance(known, str):
        return known
    version = ask_version(tool)
    write_json(record, version)
    return version


def ask_version(tool: Path) -> str:
    """`12.8.93` for a ptxas that says `release 12.8, V12.8.93`."""
    printed = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    match = re.search(r"\bV(\d+(?:\.\d+)+)", printed)
    return match[1] if match else printed.strip()
