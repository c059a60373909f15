"""Every pair of features of attention: is it refused, and if not, is it rendered, proved, and right in the interpreter.

    python tests/proving/pairs.py [--only TEXT] [--log FILE] [--jobs N]

writes `docs/pairs.md` from `pairs/base.yaml`, `pairs/features.yaml` and `pairs/impossible.yaml`. With `--log`, a run
that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from kgen.algebra import Status as Verdict
from kgen.cli.bundle import files, write
from kgen.diagnostics import Diagnostic, KgenError
from kgen.make import Made, make
from kgen.plan.build import build
from kgen.plan.check import check
from kgen.plan.model import Plan
from kgen.plan.templates import Templates
from kgen.prove.check import prove
from kgen.render.assemble import raw_text
from kgen.render.environment import workshop
from kgen.render.hashes import core_sha256
from kgen.render.kernels import launchers
from kgen.spec import loads

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "pairs.md"
FOLDER = ROOT / "tests" / "proving" / "pairs"
BASE = FOLDER / "base.yaml"
SEED = 1
SHOWN = 300


@dataclass(frozen=True)
class Feature:
    """A change of the base: keys that are set, arguments that come and that go, keys of the base that go."""

    name: str
    group: str
    set: tuple[str, ...] = ()
    add: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


@functools.cache
def features() -> tuple[Feature, ...]:
    """Those of features.yaml, in its order."""
    groups = yaml.safe_load((FOLDER / "features.yaml").read_text())
    return tuple(
        Feature(
            name, group, *(tuple(keys.get(word, ())) for word in ("set", "add", "drop", "without"))
        )
        for group, members in groups.items()
        for name, keys in members.items()
    )


@functools.cache
def impossible() -> Mapping[str, str]:
    """Why a refused pair is refused, by its name."""
    return yaml.safe_load((FOLDER / "impossible.yaml").read_text())


def pairs() -> Iterator[tuple[Feature, ...]]:
    """Each feature alone, then each two that do not exclude each other."""
    yield from ((one,) for one in features())
    for first, second in itertools.combinations(features(), 2):
        if first.group != second.group:
            yield first, second


def name_of(pair: Sequence[Feature]) -> str:
    """What a pair is called in impossible.yaml and in a log."""
    return " & ".join(one.name for one in pair)


def text_of(pair: Sequence[Feature]) -> str:
    """The base without the keys that go."""
    document = yaml.safe_load(BASE.read_text())
    for path in {path for one in pair for path in one.without}:
        section, key = path.split(".")
        del document[section][key]
    return yaml.safe_dump(document, sort_keys=False)


def overrides(pair: Sequence[Feature]) -> list[str]:
    """The changes of the base that make it have all features of `pair`."""
    args = yaml.safe_load(BASE.read_text())["interface"]["args"]
    gone = {name for one in pair for name in one.drop}
    args = [name for name in args if name not in gone]
    args += [name for one in pair for name in one.add if name not in args]
    changes = [change for one in pair for change in one.set]
    return [*changes, f"interface.args=[{', '.join(args)}]"]


@dataclass(frozen=True)
class Row:
    """What came of a pair: why it was refused; or how much is proved and what is not; and what its cases came to.

    `core` is the hash of the kernels and launchers that it is about.
    """

    name: str
    core: str = ""
    refused: str = ""
    proved: int = 0
    open: str = ""
    cases: int = 0
    wrong: str = ""

    @property
    def mark(self) -> str:
        """One letter: R refused, ? not wholly proved, X wrong in the interpreter, T proved and tested."""
        if self.refused:
            return "R"
        if self.wrong or not self.cases:
            return "X"
        return "?" if self.open or not self.proved else "T"


def refusal(pair: Sequence[Feature]) -> str:
    """Why the pair is refused, in its plan or by what is proved of it; nothing if it is not."""
    planned = _planned(pair)
    return planned if isinstance(planned, str) else _told(check(planned).findings)


def _planned(pair: Sequence[Feature]) -> str | Plan:
    """The plan of a pair, made without a finding; or the first sentence of what is wrong with it."""
    try:
        return build(loads(text_of(pair), str(BASE), overrides(pair)))
    except KgenError as error:
        return _first(error)


def _first(error: KgenError) -> str:
    first = error.diagnostics[0]
    return f"{first.code}: {first.message}"


def _told(findings: Iterable[Diagnostic]) -> str:
    return "; ".join(f"{one.code}: {one.message}" for one in findings)[:SHOWN]


def row(pair: Sequence[Feature], known: Row | None = None) -> Row:
    """Plans, renders, proves and tests a pair; only the first two where `known` is about the same file."""
    name, plan = name_of(pair), _planned(pair)
    if isinstance(plan, str):
        return Row(name, refused=plan)
    try:
        core = core_sha256(raw_text(plan, Templates()))
        if known is not None and known.core == core:
            return known
        made = make(plan.spec, Templates())
    except KgenError as error:
        return Row(name, wrong=_first(error)[:SHOWN])
    if made.wrong:
        return Row(name, refused=_told(made.findings))
    proved, left = _proved(plan, made)
    with tempfile.TemporaryDirectory() as folder:
        write(files(made, Path(folder)))
        cases, wrong = _tested(folder)
    return Row(name, core, "", proved, left, cases, wrong)


def _proved(plan: Plan, made: Made) -> tuple[int, str]:
    """How many statements are proved, and the first that is not."""
    every = prove(plan, list(launchers(plan, workshop(Templates()))), made.text, made.manifest)
    statements = [*every.kernels, *every.host]
    left = [one for one in statements if one.status is not Verdict.PROVED]
    told = f"{left[0].status}: {left[0].says}: {left[0].evidence}" if left else ""
    return len(statements) - len(left), told[:SHOWN]


def _tested(folder: str) -> tuple[int, str]:
    """How many of the check cases passed in the interpreter, and what the first that did not came to."""
    from kgen.runner.bundle import read_bundle
    from kgen.runner.execute import Executor
    from kgen.runner.problem import Asker, ProblemError
    from kgen.runner.results import Status

    bundle = read_bundle(folder)
    asker = Asker(bundle)
    executor = Executor(bundle, asker, _interpreter(), SEED)
    passed = 0
    for case in asker.cases("interpret"):
        if " check" in case.name:
            try:
                result = executor.run(case, twice=False)
            except ProblemError as error:
                return passed, f"{case.name}: {error}"[:SHOWN]
            if result.status is not Status.PASSED:
                return passed, f"{case.name}: {result.failures[0].message}"[:SHOWN]
            passed += 1
    return passed, ""


@functools.cache
def _interpreter():
    """One for all bundles of a process."""
    from kgen.runner.session import make_backend

    return make_backend("interpret")


def rows(done: Iterable[Row], only: str, jobs: int) -> Iterator[Row]:
    """A row for each pair whose name contains `only`; what `done` knows of the same file is not asked again."""
    known = {one.name: one for one in done}
    wanted = [pair for pair in pairs() if only in name_of(pair)]
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(row, wanted, [known.get(name_of(pair)) for pair in wanted])


# ---------------------------------------------------------------- the document

HEAD = """# Pairs of features

Generated by `python tests/proving/pairs.py`; not written by hand. Each feature of attention is a change of one small
spec (`tests/proving/pairs/`), which few requests take through `split_k`, or `even` where that is the change, and more
through `generic`. A pair is both changes at once.

`T`: rendered, every statement about every kernel and the host code proved, and right in the interpreter in both regimes.
`R`: refused, with a reason below. `?`: rendered, right in the interpreter, and not wholly proved. `X`: wrong.
A dot: the two exclude each other. On the diagonal stands the feature alone.

"""


def document(found: Sequence[Row]) -> str:
    """The counts, the matrix, and a line for each pair that is not `T`."""
    counts = Counter(one.mark for one in found)
    told = {"T": "proved and tested", "R": "refused", "?": "not wholly proved", "X": "wrong"}
    summary = ", ".join(f"{counts[mark]} {what}" for mark, what in told.items())
    parts = [HEAD, f"{len(found)} pairs and single features: {summary}.\n\n", _matrix(found)]
    return "".join(parts) + _refusals(found) + _open(found)


def _matrix(found: Sequence[Row]) -> str:
    marks = {one.name: one.mark for one in found}
    numbers = range(1, len(features()) + 1)
    lines = ["| | feature | " + " | ".join(map(str, numbers)) + " |"]
    lines.append("|--:|---|" + ":-:|" * len(features()))
    for number, first in zip(numbers, features()):
        cells = [_cell(marks, first, second) for second in features()]
        lines.append(f"| {number} | {first.name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(marks: Mapping[str, str], first: Feature, second: Feature) -> str:
    if first is second:
        return marks[first.name]
    both = (name_of((first, second)), name_of((second, first)))
    return next((marks[name] for name in both if name in marks), ".")


def _refusals(found: Sequence[Row]) -> str:
    lines = ["\n## Refused\n\n| pair | finding | why |\n|---|---|---|\n"]
    for one in found:
        if one.mark == "R":
            reason = impossible().get(one.name, "**no reason is committed**")
            lines.append(f"| {one.name} | {_flat(one.refused)} | {reason} |\n")
    return "".join(lines)


def _open(found: Sequence[Row]) -> str:
    lines = ["\n## Not wholly proved, or wrong\n\n"]
    left = [one for one in found if one.mark in "?X"]
    if not left:
        return lines[0] + "None.\n"
    return "".join(lines + [f"- {one.name}: {_flat(one.wrong or one.open)}\n" for one in left])


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    """Writes the document; the exit code is 1 if a pair is wrong, open, or refused without a committed reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a pair's name")
    parser.add_argument("--log", type=Path, help="a file that keeps what was found so far")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    options = parser.parse_args()
    lines = options.log.read_text().splitlines() if options.log and options.log.exists() else []
    done = [Row(**json.loads(line)) for line in lines]
    found: list[Row] = []
    for one in rows(done, options.only, options.jobs):
        found.append(one)
        if one not in done:
            print(f"{one.mark} {one.name} {one.refused or one.wrong or one.open}", flush=True)
            if options.log:
                with options.log.open("a") as stream:
                    stream.write(json.dumps(asdict(one)) + "\n")
    if not options.only:
        DOCUMENT.write_text(document(found))
    bad = [one for one in found if one.mark in "?X"]
    bad += [one for one in found if one.mark == "R" and one.name not in impossible()]
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
