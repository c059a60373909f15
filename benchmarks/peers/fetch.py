"""Fills `.peers/` with what the peers need, on a machine where packages can be downloaded.

    python benchmarks/peers/fetch.py [--downloads DIR] [PEER...]

Downloads the wheels with pip, for Python 3.12 on x86-64 Linux, and takes only what the adapters use: about 22 MB that
can travel to a GPU machine. What is there already is left as it is. None of it belongs in the repository.
"""

from __future__ import annotations

import argparse
import lzma
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SHELF = Path(__file__).resolve().parents[2] / ".peers"
GLIBC = (17, 24, 27, 28, 31, 34, 35)
"""Minor versions that the wheels below are tagged with; pip matches each exactly."""


@dataclass(frozen=True)
class Peer:
    """A wheel, what becomes of it, and the name of that."""

    wheel: str
    kept: str
    take: Callable[[Path, Path], None]


def whole(wheel: Path, kept: Path) -> None:
    """The wheel as it is: adapters unpack it where they run."""
    shutil.copyfile(wheel, kept)


def fa3(wheel: Path, kept: Path) -> None:
    """One library of vLLM's, compressed from 153 MB to 8 MB."""
    with zipfile.ZipFile(wheel) as archive:
        with archive.open("vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so") as source:
            with lzma.open(kept, "wb", preset=9) as target:
                shutil.copyfileobj(source, target, 2**20)


def decode(wheel: Path, kept: Path) -> None:
    """Three modules of sglang's: the kernels, what they import, and the rule for the number of splits."""
    folder = "sglang/kernels/ops/attention"
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(kept, "w") as target:
        for name in ("decode_attention", "score_mod", "metadata"):
            member = f"{folder}/{name}.py"
            target.writestr(zipfile.ZipInfo(member), archive.read(member))


PEERS = {
    "fa3": Peer("vllm==0.22.1", "_vllm_fa3_C.abi3.so.xz", fa3),
    "flashinfer": Peer("flashinfer-python==0.6.9", "flashinfer_python-0.6.9.whl", whole),
    "tvm_ffi": Peer("apache-tvm-ffi==0.1.15.post2", "apache_tvm_ffi-0.1.15.post2.whl", whole),
    "sglang": Peer("sglang==0.5.23", "sglang-0.5.23-decode.zip", decode),
    "liger": Peer("liger-kernel==0.8.5", "liger_kernel-0.8.5.whl", whole),
}


def downloaded(wheel: str, folder: Path) -> Path:
    """The file of a wheel, downloaded into `folder` unless it is there."""
    name, version = wheel.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not any(folder.glob(pattern)):
        options = ["--no-deps", "--only-binary=:all:", "--python-version", "3.12"]
        options += ["--implementation", "cp", "--dest", str(folder)]
        for minor in GLIBC:
            options += ["--platform", f"manylinux_2_{minor}_x86_64"]
        command = [sys.executable, "-m", "pip", "download", "--quiet", *options, wheel]
        subprocess.run(command, check=True)
    return next(folder.glob(pattern))


def fetch(peer: Peer, downloads: Path) -> str:
    """Makes what is kept of a peer, and says how large it is."""
    kept = SHELF / peer.kept
    if not kept.exists():
        SHELF.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=SHELF) as folder:
            made = Path(folder, peer.kept)
            peer.take(downloaded(peer.wheel, downloads), made)
            made.rename(kept)
    return (
        f"{kept.relative_to(SHELF.parent)}  {kept.stat().st_size / 1e6:.1f} MB  from {peer.wheel}"
    )


def main() -> None:
    """Fetches the peers that were asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--downloads", type=Path, help="keep wheels here, or take them from here")
    parser.add_argument("peers", nargs="*", metavar="PEER", help=", ".join(PEERS))
    chosen = parser.parse_args()
    for name in chosen.peers:
        if name not in PEERS:
            parser.error(f"no peer is called {name!r}: they are {', '.join(PEERS)}")
    with tempfile.TemporaryDirectory() as temporary:
        downloads = chosen.downloads or Path(temporary)
        downloads.mkdir(parents=True, exist_ok=True)
        for name in chosen.peers or PEERS:
            print(fetch(PEERS[name], downloads), flush=True)


if __name__ == "__main__":
    main()
