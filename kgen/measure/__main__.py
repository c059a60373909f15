"""`python -m kgen.measure judge|bench`: measuring where kgen is not installed; the same table as `kgen judge`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from pathlib import Path

from kgen.measure.judge import judged
from kgen.measure.request import Request

HELP = {
    "seed": "of the inputs; drawn and recorded if left out",
    "precision": "half width of a ratio's interval at which a shape's rounds may end",
    "floor": "half width that no interval is narrower than",
    "rounds": "the most rounds of a shape",
    "replays": "recorded graph replays of a turn",
    "budget": "seconds for the rounds of all shapes together",
    "timeout": "seconds for one step of one candidate",
    "host_gib": "GiB of host memory that a candidate may hold",
}


def main() -> int:
    """Exit status: 0 if nothing speaks against the file, 1 if something does, 2 if nothing could be measured."""
    if sys.argv[1:2] == ["serve"]:
        from kgen.measure.session import Session
        from kgen.worker import serve

        serve(Session().verbs())
        return 0
    chosen = _parser().parse_args()
    request, gates = request_of(chosen), (chosen.min_gain, chosen.max_regression)
    outcome = judged(request, chosen.out, show_progress, gates)
    for line in outcome.lines:
        print(line)
    if outcome.problem:
        print(f"{chosen.verb}: {outcome.problem}", file=sys.stderr)
    return outcome.code


def request_of(chosen: argparse.Namespace) -> Request:
    """The request that the options ask for."""
    options = {name: value for name, value in vars(chosen).items() if value is not None}
    known = {field.name for field in fields(Request)}
    kept = {name: value for name, value in options.items() if name in known}
    return Request(**kept)


def show_progress(text: str) -> None:
    """How far it is, on stderr: on a terminal one line that the next replaces."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif text and ": round " not in text:
        print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kgen.measure", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, help in (
        ("judge", "is a file right, and faster than what is used now"),
        ("bench", "what a file takes, beside others"),
    ):
        one = verbs.add_parser(verb, help=help)
        one.add_argument("candidate", help="a bundle's folder or a Python file with run(...)")
        required = verb == "judge"
        one.add_argument("--against", required=required, metavar="FILE", help="the baseline")
        one.add_argument("--incumbent", metavar="FILE", help="the best file so far")
        one.add_argument(
            "--peer", action="append", dest="peers", metavar="FILE", help="shown, never gated"
        )
        one.add_argument("--problem", metavar="FILE", help="a bundle, or a Python file")
        one.add_argument(
            "--shapes",
            metavar="TEXT",
            help="part of the names of those to measure; such a judgement is incomplete",
        )
        for name, help in HELP.items():
            kind = int if name in ("seed", "rounds", "replays") else float
            one.add_argument(f"--{name.replace('_', '-')}", type=kind, help=help)
        one.add_argument("--device", help=argparse.SUPPRESS)
        one.add_argument("--min-gain", type=float, help="share to gain; the spec's if left out")
        one.add_argument("--max-regression", type=float, help="share that a shape may lose")
        one.add_argument("--out", type=Path, metavar="DIR", help="where the receipt is written")
    return parser


if __name__ == "__main__":
    sys.exit(main())
