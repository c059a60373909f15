"""An emitted attention file where one KV head holds inf and NaN in a live token; prints which query heads that changes, as JSON.

python tests/interpret/poisoned.py BUNDLE HEAD LENGTH...
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


def main(bundle: Path, head: int, lengths: list[int]) -> None:
    problem = json.loads((bundle / "manifest.json").read_text())["problem"]
    case = case_of(problem, 1, None, lengths, "plain")
    given = attention.inputs(problem, case, torch.Generator().manual_seed(7), torch.device("cpu"))
    source = compile((bundle / "submission.py").read_text(), str(bundle / "submission.py"), "exec")
    module: dict = {"__name__": "submission"}
    exec(source, module)

    def run() -> torch.Tensor:
        use_memory(BUILDER, {}, {})
        return module["run"](**given).clone()

    clean = run()
    for request in range(len(lengths)):
        page = given["block_table"][request, 0]
        given["k_cache"][page, 0, head, 0] = float("inf")
        given["k_cache"][page, 0, head, 1:] = float("nan")
        given["v_cache"][page, 0, head] = float("nan")
    poisoned = run()
    differ = (clean != poisoned).any(-1).flatten(0, 1).any(0)
    print(json.dumps(differ.nonzero().flatten().tolist()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), [int(length) for length in sys.argv[3:]])
