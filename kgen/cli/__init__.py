"""The command line: one thin module a verb, over the libraries that do the work."""

from __future__ import annotations

import gc

COLLECTED_AFTER = 200_000
"""Objects between two collections. Plans and proofs are many that live to the end: Python's own 700 cost a fifth of all time."""


def main() -> None:
    """Runs `kgen` with the process's arguments; exits 0 when good, 1 on findings, 2 on wrong use."""
    from kgen.cli.app import app

    gc.set_threshold(COLLECTED_AFTER)
    app(prog_name="kgen")
