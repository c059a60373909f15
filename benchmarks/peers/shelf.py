"""Finds a peer: installed in the environment, or as a file in `.peers/`, where `fetch.py` put it."""

from __future__ import annotations

import importlib
import importlib.util
import lzma
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import torch

from kgen.paths import cache_dir

SHELF = Path(__file__).resolve().parents[2] / ".peers"
HOW = "run `python benchmarks/peers/fetch.py` where packages can be downloaded, and take `.peers` along"


def kept(pattern: str) -> Path | None:
    """The file in `.peers/` whose name matches, or None."""
    return next(iter(sorted(SHELF.glob(pattern))), None)


def missing(module: str, pattern: str) -> str:
    """One sentence on why a peer cannot run here, or "" if it can.

    The peer is there if `module` can be imported or a file of `.peers/` matches `pattern`.
    """
    if not torch.cuda.is_available():
        return f"{module} needs a GPU, and torch sees none"
    if importlib.util.find_spec(module) is None and kept(pattern) is None:
        return f"{module} is not installed and no {pattern} is in {SHELF.name}: {HOW}"
    return ""


def importable(module: str, pattern: str) -> Path | None:
    """Makes `import module` work, and gives the folder it is then in.

    A file of `.peers/` that matches `pattern` goes before the environment, since its version is the pinned one; without
    such a file this does nothing, and gives None.
    """
    archive = kept(pattern)
    if archive is None:
        return None
    folder = unpacked(archive, _unzip)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
        importlib.invalidate_caches()
    return folder


def decompressed(file: Path) -> Path:
    """The file that `file`, compressed with xz, holds."""
    return unpacked(file, _unxz) / file.stem


def unpacked(file: Path, unpack: Callable[[Path, Path], None]) -> Path:
    """A folder with what `file` holds, made once and kept in kgen's cache.

    Whoever comes second finds either nothing or all of it.
    """
    stamp = file.stat()
    folder = cache_dir().resolve() / "peers" / f"{file.name}-{stamp.st_size}-{stamp.st_mtime_ns}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent))
        unpack(file, made)
        try:
            os.rename(made, folder)
        except OSError:
            # another process was faster
            shutil.rmtree(made)
    return folder


def _unzip(file: Path, folder: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder)


def _unxz(file: Path, folder: Path) -> None:
    with lzma.open(file) as source, (folder / file.stem).open("wb") as target:
        shutil.copyfileobj(source, target)
