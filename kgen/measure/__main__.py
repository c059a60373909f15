"""`python -m kgen.measure judge|bench`: measuring where kgen is not installed; the same table as `kgen judge`."""

from __future__ import annotations

import argparse
import sys

VERBS = ("judge", "bench", "serve")


def main() -> int:
    """Exit status: 0 if every gate passed, 1 if one did not or the run is void, 2 if nothing could be measured."""
    if sys.argv[1:2] == ["serve"]:
        from kgen.measure.session import Session
        from kgen.worker import serve

        serve(Session().verbs())
        return 0
    from kgen.measure.judge import Outcome, judged

    chosen = _parser().parse_args()
    outcome: Outcome = judged(request_of(chosen), chosen.out, show_progress)
    for line in outcome.lines:
        print(line)
    if outcome.problem:
        print(f"{chosen.verb}: {outcome.problem}", file=sys.stderr)
    return outcome.code


def show_progress(text: str) -> None:
    """How far it is, on stderr."""
    print(f"\r\x1b[K{text}" if sys.stderr.isatty() else text, end="", file=sys.stderr)
    print("" if not sys.stderr.isatty() or not text else "", end="\n" if not sys.stderr.isatty() else "", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
