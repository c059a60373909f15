"""An emitted attention file, imported with what the environment holds, against the reference; prints its outcome as JSON.

python tests/interpret/with_knobs.py BUNDLE LENGTH...
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
    manifest = json.loads((bundle / "manifest.json").read_text())
    problem = manifest["problem"]
    case = case_of(problem, 1, None, lengths, "plain")
    given = attention.inputs(problem, case, torch.Generator().manual_seed(7), torch.device("cpu"))
    source = compile((bundle / "submission.py").read_text(), str(bundle / "submission.py"), "exec")
    module: dict = {"__name__": "submission"}
    exec(source, module)
    parts = []
    empty = torch.empty

    def noted(shape, **options):
        parts.append(list(shape))
        return empty(shape, **options)

    torch.empty = noted
    use_memory(BUILDER, {}, {})
    out = module["run"](**given)
    right = attention.expected(problem, case, given)["out"]
    allowed = right.absolute + right.relative * right.values.abs()
    wrong = int((~((out.double() - right.values).abs() <= allowed)).sum())
    print(
        json.dumps(
            {"wrong": wrong, "knobs": [module[n] for n in manifest["knobs"]], "shapes": parts}
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), [int(length) for length in sys.argv[2:]])
