"""`python -m kgen.runner test BUNDLE_DIR`: a bundle in, JSON lines and a short table out.

In one process: a kernel that takes the process down ends the run. `kgen.run` supervises a runner
from outside.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import time
from dataclasses import replace
from typing import TextIO

from kgen.runner.results import CaseResult, Failure, Status, count
from kgen.runner.table import table


def main() -> int:
    """Exit status: 0 if every case passed, 1 if one did not or none ran, 2 for wrong use."""
    arguments = _parser().parse_args()
    if arguments.verb == "serve":
        from kgen.runner.serve import serve_session

        serve_session()
        return 0
    if arguments.out:
        with open(arguments.out, "w") as out:
            return _test(arguments, out)
    return _test(arguments, sys.stdout)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kgen.runner", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    test = verbs.add_parser("test", help="run a bundle's cases against its family's reference")
    test.add_argument("bundle", help="the directory of submission.py and manifest.json")
    test.add_argument("--mode", choices=("auto", "interpret", "gpu"), default="auto")
    test.add_argument("--seed", type=int, help="of the random inputs; printed, random by default")
    test.add_argument(
        "--filter", default="", metavar="TEXT", help="part of a case's or regime's name"
    )
    test.add_argument("--out", metavar="FILE", help="where JSON lines go, instead of stdout")
    verbs.add_parser("serve", help="answer kgen's requests on stdin")
    return parser


def _test(arguments: argparse.Namespace, out: TextIO) -> int:
    from kgen.runner.session import REFUSALS, Session

    start = time.perf_counter()
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    shown = sys.stderr if out is sys.stdout else sys.stdout
    try:
        session = Session(arguments.bundle, arguments.mode, seed)
    except tuple(REFUSALS) as error:
        refused = {"code": REFUSALS[type(error)], "message": str(error)}
        _write(out, {"record": "refused", **refused})
        print(f"{refused['code']}: {error}", file=shown)
        return 1
    results: list[CaseResult] = []
    for name, regime in session.units(arguments.filter):
        lost = bool(results) and results[-1].device_lost
        results.append(_not_run(name, regime) if lost else session.run(name))
        _write(out, results[-1].as_json())
    seconds = time.perf_counter() - start
    summary = replace(session.summary(), counts=count(results), seconds=seconds)
    _write(out, summary.as_json())
    print(table(results, summary), file=shown)
    return 0 if summary.passed else 1


def _not_run(name: str, regime: str) -> CaseResult:
    message = "not run: the device was lost in an earlier case"
    return CaseResult(name, regime, Status.ERROR, (Failure("KG714", message),), device_lost=True)


def _write(out: TextIO, record: dict) -> None:
    out.write(json.dumps(record) + "\n")
    out.flush()


if __name__ == "__main__":
    sys.exit(main())
