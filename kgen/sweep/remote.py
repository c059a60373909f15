"""`python -m kgen.sweep.remote DIR`: runs a packed sweep where kgen is not installed, only torch and Triton are.

Exit status: 0 when it came to its end, 1 when its time was spent before, 2 if nothing could be measured, 130 if it was
interrupted. What was measured is in the folder's store in any case; run again, it goes on.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
from contextlib import closing
from pathlib import Path

from kgen.diagnostics import KgenError
from kgen.measure.member import NoRun
from kgen.sweep.executor import Crew, crew
from kgen.sweep.pack import STORE, Packed, unpacked
from kgen.sweep.state import State
from kgen.sweep.store import Store
from kgen.sweep.sweeps import SPENT, WHOLE, sweep_all


def main() -> int:
    """See the module."""
    chosen = _parser().parse_args()
    try:
        packed = unpacked(chosen.folder)
        with closing(Store(chosen.folder / STORE)) as store:
            return run(_changed(packed, chosen), store, crew(""))
    except KgenError as error:
        print(error, file=sys.stderr)
    except NoRun as error:
        print(f"nothing could be measured: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 2


def run(packed: Packed, store: Store, crew: Crew) -> int:
    """Runs all fields on a crew, which is closed then; gives the exit status. Raises `NoRun`."""
    state = sweep_all(packed.fields, store, crew, packed.timing, packed.plan, Lines())
    print(f"{state}; the trials are in {store.path}")
    return {WHOLE: 0, SPENT: 1}[state]


class Lines:
    """A line on stderr whenever a candidate is done or others are raced."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, state: State) -> None:
        told = f"{state.regime}: {state.measured} of {state.total} measured, {state.failed} failed"
        told += f", {state.racing} in question" if state.racing else ""
        if told != self._last:
            self._last = told
            best = f", best {math.exp(state.log):.3f}x {state.best.file.name}" if state.best else ""
            print(f"{told}{best}, {state.seconds_left:.0f} s left", file=sys.stderr, flush=True)


def _changed(packed: Packed, chosen: argparse.Namespace) -> Packed:
    seconds = packed.plan.seconds if chosen.budget is None else chosen.budget
    return dataclasses.replace(packed, plan=dataclasses.replace(packed.plan, seconds=seconds))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kgen.sweep.remote", description=__doc__)
    parser.add_argument("folder", type=Path, help="what `kgen sweep --pack` wrote")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="in place of the request's")
    return parser


if __name__ == "__main__":
    sys.exit(main())
