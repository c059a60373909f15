"""`kgen demo`: one spec through everything that needs no GPU, with what each step found."""

from __future__ import annotations

from kgen.cli.bundle import keep, search
from kgen.cli.check import check_spec
from kgen.cli.compile import compile_bundle
from kgen.cli.options import Json, Set, Spec
from kgen.cli.report import reporting
from kgen.cli.test import test_bundle

SEED = 0


def demo(spec: Spec, overrides: Set = [], as_json: Json = False) -> None:
    """Takes one spec through all that needs no GPU.

    Checks, renders, compiles for every known target, and tests in the interpreter.
    """
    from kgen.devices import targets

    with reporting("demo", as_json) as report:
        report.say(f"check {spec}: what holds for every declared axis value")
        loaded, found = check_spec(report, spec, overrides, search(None))
        if found.wrong:
            return

        built = keep(loaded, found)
        report.values["directory"] = str(built.directory)
        report.say(f"\nrender {built.submission}: {len(built.manifest['source_map'])} lines")
        for regime in built.manifest["regimes"]:
            report.say(f"  {regime['name']}: {regime['when']} -> {regime['variant']}")

        report.say(f"\ncompile for {', '.join(targets())}: the most that any signature takes")
        compile_bundle(report, built, list(targets()))

        outputs = " and ".join(built.manifest["returns"])
        report.say(f"\ntest in Triton's interpreter: {outputs} against the fp64 reference in torch")
        test_bundle(report, built, mode="interpret", seed=SEED, each=False)

        report.say("\nNothing ran on a GPU: `kgen test --mode gpu` does that, where one is.")
