"""Requests of an emitted attention file, in one batch and each alone; prints the elements of each that differ, as JSON.

python tests/interpret/alone.py BUNDLE LENGTH...
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"

import torch  # noqa: E402

from kgen.families.attention import problem as attention  # noqa: E402
from kgen.families.attention.problem.case import case_of  # noqa: E402
from kgen.runner.interpreter.install import install, use_memory  # noqa: E402

BUILDER = install()


def main(bundle: Path, lengths: list[int]) -> None:
    problem = json.loads((bundle / "manifest.json").read_text())["problem"]
    case = case_of(problem, 1, None, lengths, "plain")
    generator = torch.Generator().manual_seed(7)
    batch = attention.inputs(problem, case, generator, torch.device("cpu"))
    source = compile((bundle / "submission.py").read_text(), str(bundle / "submission.py"), "exec")
    module: dict = {"__name__": "submission"}
    exec(source, module)

    def run(arguments: dict) -> torch.Tensor:
        use_memory(BUILDER, {}, {})
        return module["run"](**arguments)

    together = run(batch)
    differ = []
    for request, length in enumerate(lengths):
        pages = max(-(-length // problem["page"]), 1)
        own = {name: batch[name][request : request + 1] for name in ("q", "seq_lens")}
        own["block_table"] = batch["block_table"][request : request + 1, :pages].contiguous()
        alone = run({**batch, **own})
        differ.append(int((alone[0] != together[request]).sum()))
    print(json.dumps(differ))


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(length) for length in sys.argv[2:]])
