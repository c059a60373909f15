"""Runs every committed bundle on the GPU of this machine and writes a receipt for each.

    PYTHONPATH=. python benchmarks/gpu_tests.py OUT [--seed N] [--stale]

It needs Python's standard library, torch and Triton. A receipt is bound by hash to the file that ran: its bytes, and its
core (see `kgen.render.hashes`). Copy receipts to `benchmarks/receipts/tests/`; `tests/unit/test_receipts.py` says when
one is stale. With `--stale` only bundles run whose committed receipt is missing or of another core.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECEIPTS = ROOT / "benchmarks" / "receipts" / "tests"


def receipt(bundle: Path, seed: int) -> dict:
    """What the runner said of a bundle: its summary, and a line for each case."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "results.jsonl")
        command = [sys.executable, "-m", "kgen.runner", "test", str(bundle), "--mode", "gpu"]
        subprocess.run([*command, "--seed", str(seed), "--out", str(out)], cwd=ROOT)
        records = [json.loads(line) for line in out.read_text().splitlines()]
    *cases, summary = records
    summary["bundle"] = str(bundle.relative_to(ROOT))
    return {
        "kind": "test",
        "bundle": summary["bundle"],
        "core_sha256": manifest["core_sha256"],
        "bytes_sha256": summary["sha256"],
        "summary": summary,
        "cases": [
            {
                key: case[key]
                for key in ("name", "regime", "status", "launched", "worst", "failures")
            }
            for case in cases
        ],
    }


def holds(manifest: Path) -> bool:
    """Whether the committed receipt of a bundle is of its core."""
    kept = RECEIPTS / f"{manifest.parent.name}.json"
    if not kept.exists():
        return False
    return (
        json.loads(kept.read_text())["core_sha256"]
        == json.loads(manifest.read_text())["core_sha256"]
    )


def main() -> int:
    """Exit status 0 if every bundle passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--stale", action="store_true", help="only what has no receipt that holds")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    passed = []
    for manifest in sorted(ROOT.glob("generated/*/*/manifest.json")):
        if chosen.stale and holds(manifest):
            continue
        made = receipt(manifest.parent, chosen.seed)
        passed.append(made["summary"]["passed"])
        file = chosen.out / f"{manifest.parent.name}.json"
        file.write_text(json.dumps(made, indent=1) + "\n")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
