"""The command as a whole: its verbs, its exit codes for wrong use, and what it never imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kgen as package

VERBS = (
    "render",
    "check",
    "prove",
    "recheck",
    "compile",
    "test",
    "explain",
    "schema",
    "demo",
    "diff",
)
LEDGER = ("verify", "best", "log", "import")
SPEC = "specs/norm/rms_4096.yaml"


def imported(root, cache, *arguments: str) -> set[str]:
    """The top-level packages in a new process after `kgen` ran there with these arguments."""
    program = (
        "import sys\n"
        "from kgen.cli import main\n"
        f"sys.argv = ['kgen', *{list(arguments)!r}]\n"
        "try:\n    main()\n"
        "except SystemExit as exited:\n    assert not exited.code, exited.code\n"
        "print('\\n' + ' '.join({name.split('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        env={"KGEN_CACHE": str(cache), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_help_lists_every_verb_and_the_exit_codes(kgen):
    told = kgen("--help")
    assert told.code == 0
    assert [verb for verb in (*VERBS, "ledger") if f"\n  {verb} " not in told.out] == []
    assert "0 good, 1 findings, 2 wrong use" in told.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_of_its_own(kgen, verb):
    told = kgen(verb, "--help")
    assert told.code == 0
    assert "--json" in told.out


@pytest.mark.parametrize("verb", LEDGER)
def test_every_verb_of_the_ledger_has_help_of_its_own(kgen, verb):
    told = kgen("ledger", verb, "--help")
    assert told.code == 0
    assert "--json" in told.out


def test_the_version_is_the_packages(kgen):
    assert kgen("--version").out == f"kgen {package.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("rendr",),
        ("render",),
        ("render", "nowhere.yaml"),
        ("render", "specs"),
        ("check", "nowhere.yaml"),
        ("compile", "nowhere"),
        ("compile", SPEC, "--target", "sm_91"),
        ("compile", SPEC, "--workers", "0"),
        ("test", "nowhere"),
        ("test", SPEC, "--mode", "tpu"),
        ("explain",),
        ("explain", "KG204", "--all"),
        ("explain", "KG999"),
        ("explain", "nowhere.py:3"),
        ("explain", "something"),
        ("demo",),
        ("ledger", "verfy"),
        ("ledger", "verify", "nowhere"),
        ("ledger", "import", SPEC),
        ("ledger", "import", SPEC, "--map", SPEC, "--file", SPEC, "--min-gain", "3"),
    ],
    ids=" ".join,
)
def test_wrong_use_exits_2_and_says_so_on_stderr(kgen, root, monkeypatch, arguments):
    monkeypatch.chdir(root)
    told = kgen(*arguments)
    assert (told.code, told.out) == (2, "")
    assert "Error: " in told.err


def test_an_unknown_target_is_told_the_known_ones(kgen, root, monkeypatch):
    monkeypatch.chdir(root)
    assert "known are sm_80, sm_90" in kgen("compile", SPEC, "--target", "sm_91").err


def test_help_loads_nothing_that_reads_or_renders_specs(root, cache):
    loaded = imported(root, cache, "--help")
    assert "typer" in loaded
    assert loaded & {"yaml", "pydantic", "jinja2", "rich", "black", "sympy"} == set()
    assert loaded & {"torch", "numpy", "scipy"} == set()


def test_rendering_again_loads_neither_a_prover_a_formatter_nor_a_compiler(root, cache, tmp_path):
    command = ("render", SPEC, "-o", str(tmp_path))
    imported(root, cache, *command)
    loaded = imported(root, cache, *command)
    assert "yaml" in loaded
    assert loaded & {"sympy", "black", "torch", "triton", "numpy", "rich"} == set()
