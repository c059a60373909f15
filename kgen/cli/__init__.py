"""The command line: one thin module a verb, over the libraries that do the work."""

from __future__ import annotations


def main() -> None:
    """Runs `kgen` with the process's arguments; exits 0 when good, 1 on findings, 2 on wrong use."""
    from kgen.cli.app import app

    app(prog_name="kgen")
