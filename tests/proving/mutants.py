"""Verdicts on mutants of every template: what the prover says, what small calls show, and whether tests notice.

    python tests/proving/mutants.py [--only TEXT] [--log FILE] [--jobs N]

writes `docs/mutants.md`. It takes forty minutes on two cores; with `--log`, a run that was stopped goes on where it was. The
small calls run the Python source on an evaluator that shares no code with the prover (`kgen.prove.replay`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from unittest.mock import patch

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from subjects import Subject as Kernel, T, findings, parameters_of

from kgen.algebra import Status
from kgen.devices import device
from kgen.plan.build import build
from kgen.plan.model import Plan
from kgen.plan.obligation import Obligation as HostObligation
from kgen.plan.templates import Templates
from kgen.prove.check import Proof, prove
from kgen.prove.frontend import Frontend
from kgen.prove.host import prove_host
from kgen.prove.mutate import OPERATORS, VALUE, Mutant, mutants
from kgen.prove.replay.judge import Judgement, judge
from kgen.prove.replay.model import Unsupported
from kgen.prove.replay.scenes import scenes
from kgen.prove.ttir import read
from kgen.prove.world import prove_world
from kgen.render.assemble import Source, render
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.render.model import Launcher
from kgen.spec import load

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "mutants.md"
ATTENTION = ROOT / "tests" / "proving" / "small.yaml"
EVEN = ROOT / "tests" / "proving" / "small_even.yaml"
FORWARD = ROOT / "tests" / "proving" / "small_forward.yaml"
NORM = ROOT / "specs" / "norm" / "rms_4096.yaml"
ODD = ROOT / "specs" / "norm" / "rms_odd.yaml"
MERGE = ROOT / "specs" / "merge" / "merge_h16_d512.yaml"
LAST_BLOCK = ROOT / "tests" / "compile" / "kernels" / "last_block.py"


@dataclass(frozen=True)
class File:
    """A rendered spec. `functions` are mutated; the rest of the file repeats the same templates with other labels.

    `overrides` change the spec, such as to a row that leaves a tile partly empty; `sms` is the number of multiprocessors,
    so few that a small call fills them all.
    """

    path: Path
    functions: Mapping[str, str] = field(default_factory=dict)
    overrides: tuple[str, ...] = ()
    sms: int = 132

    @cached_property
    def plan(self) -> Plan:
        with patch("kgen.plan.build.device", lambda name: replace(device(name), sms=self.sms)):
            return build(load(self.path, self.overrides))

    @cached_property
    def launchers(self) -> list[Launcher]:
        return list(launchers(self.plan, workshop(Templates())))

    @cached_property
    def source(self) -> Source:
        return render(self.plan, Templates())

    @cached_property
    def scenes(self):
        return scenes(self.source.manifest)

    def mutants(self) -> tuple[Mutant, ...]:
        return mutants(self.source.text, self.functions)

    def verdict(self, mutant: Mutant, shown: Judgement) -> tuple[Status, str]:
        """The worst of what the prover says of the launchers that the change concerns, and why.

        Where small calls show what is wrong, as `shown`, one statement that stays open is enough for `refuted`.
        """
        wrong = shown.outcome == "wrong"
        proof = self._proof(mutant.source, mutant.function, whole=not wrong)
        known = self._doubts(mutant.function)
        open_ones = [one for one in proof.kernels if one.status is not Status.PROVED]
        open_ones += [one for one in _open(proof.host) if (one.says, one.evidence) not in known]
        open_ones.sort(key=lambda one: one.status is not Status.REFUTED)
        if not open_ones:
            return Status.PROVED, ""
        status = Status.REFUTED if wrong else open_ones[0].status
        return status, shown.why if wrong else f"{open_ones[0].subject}: {open_ones[0].evidence}"

    def judgement(self, mutant: Mutant) -> Judgement:
        """What small calls show."""
        kernel = mutant.function if mutant.function.endswith("_kernel") else ""
        return judge(mutant.source, self.scenes, kernel)

    def noticed(self, mutant: Mutant) -> bool:
        """Whether `kgen test` fails on the changed file."""
        with tempfile.TemporaryDirectory() as folder:
            manifest = dict(self.source.manifest)
            Path(folder, "submission.py").write_text(mutant.source)
            Path(folder, "manifest.json").write_text(json.dumps(manifest))
            command = [sys.executable, "-m", "kgen.runner", "test", folder, "--seed", "1"]
            run = subprocess.run(
                [*command, "--mode", "interpret"], cwd=ROOT, capture_output=True, text=True
            )
        return run.returncode != 0

    def _proof(self, text: str, function: str, whole: bool = True) -> Proof:
        calls = self.source.manifest if whole else None
        return prove(self.plan, self._concerned(function), text, calls, whole=whole)

    def _concerned(self, function: str) -> list[Launcher]:
        return [one for one in self.launchers if function in _functions(one)]

    def _doubts(self, function: str) -> set[tuple[str, str]]:
        """What is not proved of the honest host code when only some launchers are looked at."""
        host = prove_host(self.source.text, self.plan, self._concerned(function)).obligations
        return {(one.says, one.evidence) for one in _open(host)}


def _open(host: Iterable[HostObligation]) -> Iterator[HostObligation]:
    return (one for one in host if one.status is not Status.PROVED)


def _functions(one: Launcher) -> tuple[str, ...]:
    return (one.function, *(kernel.function for kernel in one.kernels))


FILES = (
    File(
        ATTENTION,
        {
            "split_window_verify_kernel": "attention/split_k: split",
            "combine_window_verify_kernel": "attention/split_k: combine",
            "launch_verify_window": "attention/split_k: launcher",
            "attend_kernel": "attention/generic: attend",
            "launch_rest": "attention/generic: launcher",
        },
    ),
    File(
        EVEN,
        {
            "schedule_kernel": "attention/even: schedule",
            "piece_kernel": "attention/even: piece",
            "combine_kernel": "attention/even: combine",
            "launch_verify": "attention/even: launcher",
        },
        sms=12,
    ),
    File(
        FORWARD,
        {
            "forward_kernel": "attention/flash_forward: forward",
            "launch_prefill": "attention/flash_forward: launcher",
        },
    ),
    File(
        NORM,
        {"row_kernel": "norm/generic: row", "launch_rest": "norm/generic: launcher"},
        ("axes.H={const: 2880}",),
    ),
    File(
        MERGE,
        {"merge_kernel": "merge/generic: merge", "launch_rest": "merge/generic: launcher"},
        ("axes.D={const: 24}", "axes.H={const: 3}"),
    ),
    File(ODD, {"rms_kernel": "norm/rms: rms", "launch_rows": "norm/rms: launcher"}),
)
REDUCTION = Kernel(
    "honest",
    {
        "p_x": T("fp32", "R", "PARTS", "BLOCK"),
        "p_part": T("fp32", "R", "PARTS", "BLOCK", role="scratch"),
        "p_count": T("int32", "R", role="state"),
        "p_out": T("fp32", "R", "BLOCK", role="output"),
    },
    {"R": (1, 1000)},
    [8, "R"],
    {"PARTS": 8, "BLOCK": 128},
)
BY_HAND = "last block (tests/compile/kernels)"
BY_HAND_FUNCTIONS = ("honest", "store_part", "add_parts")


@dataclass(frozen=True)
class Row:
    """A mutant and what came of it. `noticed` is asked only where the prover proves it."""

    template: str
    operator: str
    line: int
    before: str
    after: str
    verdict: str
    why: str
    shown: str
    noticed: bool | None = None

    @property
    def wrong(self) -> bool:
        """Whether it is proved, and wrong all the same."""
        return self.verdict == "proved" and self.shown == "wrong"


def rows(done: Iterable[Row], only: str = "", jobs: int = 1) -> Iterator[Row]:
    """A row for each mutant; those in `done` are not looked at again. `jobs` processes work side by side."""
    known = {(row.template, row.operator, row.line, row.before, row.after): row for row in done}
    with ProcessPoolExecutor(jobs) as pool:
        waiting: list[Row | Future[Row]] = []
        for number, file in enumerate(FILES):
            for mutant in file.mutants():
                template = file.functions[mutant.function]
                if only in f"{template}: {mutant.operator}":
                    key = (template, mutant.operator, mutant.line, mutant.before, mutant.after)
                    waiting.append(known.get(key) or pool.submit(_row, number, mutant))
        for one in waiting:
            yield one if isinstance(one, Row) else one.result()
    if only in BY_HAND:
        yield from by_hand()


def _row(number: int, mutant: Mutant) -> Row:
    file = FILES[number]
    template = file.functions[mutant.function]
    shown = file.judgement(mutant)
    status, why = file.verdict(mutant, shown)
    noticed = file.noticed(mutant) if status is Status.PROVED else None
    head = (template, mutant.operator, mutant.line, mutant.before, mutant.after)
    return Row(*head, str(status), why, shown.outcome, noticed)


def by_hand() -> Iterator[Row]:
    """The last-block reduction, alone in its file's tests: no template has one yet."""
    text = LAST_BLOCK.read_text()
    parameters = parameters_of(LAST_BLOCK)["honest"]
    signature = REDUCTION.signature(parameters)
    with Frontend() as frontend:
        for mutant in mutants(text, BY_HAND_FUNCTIONS):
            (lowered,) = frontend.lower(mutant.source, [signature], ["sm_90"], 120)
            status, why = Status.UNKNOWN, lowered.refused
            if not lowered.refused:
                function = read(lowered.text, lowered.file)
                proof = prove_world(REDUCTION.world(parameters), "test", [function])
                bad = [one for one in proof.obligations if one.status is not Status.PROVED]
                status = Status.UNKNOWN if bad else Status.PROVED
                why = f"{bad[0].subject}: {bad[0].evidence}" if bad else ""
            shown, seen = _shown(mutant, parameters)
            if shown == "wrong" and status is Status.UNKNOWN:
                status, why = Status.REFUTED, seen
            head = (BY_HAND, mutant.operator, mutant.line, mutant.before, mutant.after)
            yield Row(*head, str(status), why, shown)


def _shown(mutant: Mutant, parameters: Sequence[str]) -> tuple[str, str]:
    """What a small call of the reduction shows, and in which words."""
    try:
        seen = findings(mutant.source, REDUCTION, parameters, R=2)
    except Unsupported as refused:
        return "refused", str(refused)
    return ("wrong", seen[0].text) if seen else ("clean", "")


# ---------------------------------------------------------------- the document

HEAD = """# Mutants

Generated by `python tests/proving/mutants.py`; not written by hand. Each mutant is one small change of a rendered file,
made from its syntax tree (`kgen/prove/mutate.py`): as a person, or a template, could get it wrong.

`refuted` has axis values at which a run of the Python source goes wrong; `unknown` was not proved, and nothing was seen
to go wrong. Where a mutant is `proved`, it is memory-safe: it changes numbers only, or nothing at all. `noticed` counts
those on which `kgen test` fails. Those on which it passes, at the end of this page, change nothing that an output holds
in any of its cases: values of lanes that no store writes, a mask that another one implies, a maximum that guards against
overflow alone, how evenly keys are divided. *Wrong and proved* are mutants that the prover proves and that a run shows to be wrong.

"""


def document(found: Sequence[Row]) -> str:
    """The table of all templates and operators, and the proved mutants one by one."""
    parts = [HEAD, _table(found), "\n## Mutants by operator\n\n", _counted(found)]
    return "".join(parts) + "\n## Proved mutants\n\n" + _proved(found)


def _table(found: Sequence[Row]) -> str:
    head = "| template | mutation | mutants | refuted | unknown | proved | noticed | wrong and proved |\n"
    lines = [head, "|---|---|--:|--:|--:|--:|--:|--:|\n"]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        groups.setdefault((row.template, row.operator), []).append(row)
    for (template, operator), group in groups.items():
        verdicts = Counter(row.verdict for row in group)
        noticed = sum(row.noticed is True for row in group)
        wrong = sum(row.wrong for row in group)
        cells = (len(group), verdicts["refuted"], verdicts["unknown"], verdicts["proved"])
        shown = noticed if verdicts["proved"] else ""
        lines.append(
            f"| {template} | {operator} | {' | '.join(map(str, cells))} | {shown} | {wrong} |\n"
        )
    return "".join(lines)


def _counted(found: Sequence[Row]) -> str:
    counts = Counter(row.operator for row in found)
    lines = ["| mutation | mutants | changes |\n", "|---|--:|---|\n"]
    for operator in OPERATORS:
        changes = "numbers" if operator in VALUE else "memory"
        lines.append(f"| {operator} | {counts[operator]} | {changes} |\n")
    return "".join(lines)


def _proved(found: Sequence[Row]) -> str:
    lines = ["| template | mutation | before | after | `kgen test` |\n", "|---|---|---|---|---|\n"]
    for row in found:
        if row.verdict == "proved":
            told = {True: "fails", False: "passes", None: ""}[row.noticed]
            cells = (row.template, row.operator, _code(row.before), _code(row.after), told)
            lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)


def _code(text: str) -> str:
    flat = " ".join(text.split()).replace("|", "\\|")
    return f"`{flat[:90]}{'...' if len(flat) > 90 else ''}`"


def _logged(log: Path | None) -> list[Row]:
    if log is None or not log.exists():
        return []
    return [Row(**json.loads(line)) for line in log.read_text().splitlines()]


def main() -> int:
    """Writes the document; the exit code is 1 if a wrong mutant was proved."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a template and an operator")
    parser.add_argument("--log", type=Path, help="a file that keeps what was found so far")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    options = parser.parse_args()
    done = _logged(options.log)
    found: list[Row] = []
    for row in rows(done, options.only, options.jobs):
        found.append(row)
        if row not in done:
            line = f"{row.verdict:8} {row.shown:9} {row.template}: {row.operator}, line {row.line}"
            print(("WRONG " if row.wrong else "") + line, flush=True)
            if options.log:
                with options.log.open("a") as stream:
                    stream.write(json.dumps(asdict(row)) + "\n")
    if not options.only:
        DOCUMENT.write_text(document(found))
    return int(any(row.wrong for row in found))


if __name__ == "__main__":
    sys.exit(main())
