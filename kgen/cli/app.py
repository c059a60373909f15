"""The `kgen` application: which verbs there are, in the order in which they are used."""

from __future__ import annotations

from typing import Annotated

import typer

from kgen import __version__
from kgen.cli import (
    bench,
    check,
    compile,
    demo,
    diff,
    explain,
    judge,
    ledger,
    prove,
    recheck,
    render,
    schema,
    sweep,
    test,
    tune,
)

app = typer.Typer(
    name="kgen",
    help="Turns a YAML kernel spec into proved, compiled and tested Triton source.",
    epilog="Exit codes: 0 good, 1 findings, 2 wrong use of the command, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(render.render)
app.command()(check.check)
app.command()(prove.prove)
app.command()(recheck.recheck)
app.command()(compile.compile)
app.command()(test.test)
app.command()(bench.bench)
app.command()(judge.judge)
app.command()(diff.diff)
app.command()(sweep.sweep)
app.command()(tune.tune)
app.add_typer(ledger.ledger, name="ledger")
app.command()(explain.explain)
app.command()(schema.schema)
app.command()(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kgen {__version__}")
        raise typer.Exit()


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Prints the version."),
    ] = False,
) -> None:
    pass
