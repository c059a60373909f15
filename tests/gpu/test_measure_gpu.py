"""On a GPU: planted cheats are flagged, honest files are not, and the numbers are those of a GPU."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from kgen.measure.coordinator import measure
from kgen.measure.device import GPU
from kgen.measure.member import Limits, Lost, Member
from kgen.measure.request import Request

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests" / "measure"
CHEATS = sorted((FILES / "cheats").glob("*.py"))
ON_GPU = sorted((FILES / "gpu").glob("*.py"))
HONEST = {
    "plain": "problem",
    "workspace": "problem",
    "prepared": "problem",
    "fused": "problem_fused",
}
BUNDLES = sorted(path.parent for path in ROOT.glob("generated/*/*/submission.py"))
ENDS_ITS_PROCESS = ("crash", "timeout")
LIMITS = Limits(seconds=180.0, host_bytes=2**36, memory_share=0.5)


def flag_of(file: Path) -> str:
    """What a file says that it should be flagged with; an honest one names none."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "FLAG":
            return node.value.value
    return ""


def named(file: Path) -> str:
    return file.stem


@pytest.fixture(scope="module")
def workers():
    """A process for each problem, shared by tests and started again when one was lost."""
    members: dict[str, Member] = {}
    spent: set[str] = set()

    def ask(problem: Path, verb: str, payload: dict) -> dict:
        key = str(problem)
        if key not in members or members[key].lost:
            members[key] = Member("candidate", "file", key, LIMITS)
            task = [key, "" if problem.is_dir() else key]
            opened = {"device": GPU, "memory_share": LIMITS.memory_share, "task": task}
            members[key].ask("open", opened)
        answer = members[key].ask(verb, payload)
        if answer.get("spent"):
            spent.add(key)
        if verb == "end" and key in spent:
            spent.remove(key)
            members[key].renew()
        return answer

    yield ask
    for member in members.values():
        member.close()


def judged(
    ask, problem: Path, file: Path, index: int = 0, compared: bool = False
) -> tuple[dict, list, list]:
    """Flags, checks and times of one shape."""
    ask(problem, "load", {"file": str(file), "compared": compared})
    shape = ask(problem, "shapes", {})["shapes"][index]
    sets = min(shape["sets"], 4)
    payload = {"shape": shape["name"], "seed": 11, "sets": sets, "rounds": 0, "eager": False}
    begun = ask(problem, "begin", payload)
    times = ask(problem, "turn", {"replays": 5})["seconds"] if begun["rounds"] else []
    ended = ask(problem, "end", {"seed": 11})
    return {**begun["flags"], **ended["flags"]}, begun["checks"] + ended["checks"], times


@pytest.mark.parametrize(
    "file",
    [one for one in CHEATS + ON_GPU if flag_of(one) and flag_of(one) not in ENDS_ITS_PROCESS],
    ids=named,
)
def test_a_planted_cheat_is_flagged(workers, file):
    flags, _, _ = judged(workers, FILES / "problem.py", file)
    print(file.stem, flags)
    assert flag_of(file) in flags, flags


@pytest.mark.parametrize(
    ("file", "problem"),
    [(FILES / "files" / f"{name}.py", problem) for name, problem in HONEST.items()]
    + [(file, "problem") for file in ON_GPU if not flag_of(file)],
    ids=lambda one: one.stem if isinstance(one, Path) else one,
)
def test_an_honest_file_raises_no_flag(workers, file, problem):
    compared = file.stem == "prepared"
    flags, checks, times = judged(workers, FILES / f"{problem}.py", file, compared=compared)
    assert flags == {}
    assert {check["status"] for check in checks} - {"not run"} == {"passed"}
    assert all(1e-7 < one < 1e-3 for one in times), times


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda one: one.name)
def test_a_committed_file_raises_no_flag_at_its_workloads(workers, bundle):
    for index in range(len(workers(bundle, "shapes", {})["shapes"])):
        flags, checks, times = judged(workers, bundle, bundle, index)
        assert flags == {}
        assert {check["status"] for check in checks} == {"passed"}
        assert times


@pytest.mark.parametrize("file", sorted((FILES / "patches").glob("*.py")), ids=named)
def test_a_file_that_exchanges_what_measures_it_is_flagged(file):
    """In a process of its own, which is of no use afterwards."""
    member = Member("candidate", "file", str(file), LIMITS)
    problem = str(FILES / "problem.py")
    try:
        opened = {"device": GPU, "memory_share": LIMITS.memory_share, "task": [problem, problem]}
        member.ask("open", opened)
        flags, _, _ = judged(lambda _, *asked: member.ask(*asked), FILES / "problem.py", file)
        assert "patches_measuring" in flags, flags
    finally:
        member.close()


def test_the_limits_are_those_of_a_gpu(workers):
    limits = workers(FILES / "problem.py", "limits", {})
    print(limits)
    assert 2e-7 < limits["empty_launch_s"] < 2e-5
    assert limits["read_bytes_per_s"] > 2e11
    assert limits["matmul_flops_per_s"] > 1e13


def test_files_that_crash_or_hang_cost_themselves_only():
    crash, hang = (str(FILES / "cheats" / f"{name}.py") for name in ("crash", "hang"))
    plain, problem = str(FILES / "files" / "plain.py"), str(FILES / "problem.py")
    options = {"problem": problem, "shapes": "ROWS 4", "rounds": 12, "timeout": 25.0}
    record = measure(Request(plain, plain, peers=[crash, hang], **options))
    assert {one.candidate: one.flag for one in record.flags} == {
        "crash": "crash",
        "hang": "timeout",
    }
    assert {turn.candidate for turn in record.turns} == {"plain", "plain 2", "the baseline again"}


def test_an_illegal_access_is_a_failure_of_its_file(workers, tmp_path):
    text = (FILES / "gpu" / "triton_honest.py").read_text()
    file = tmp_path / "far.py"
    file.write_text(text.replace("p_out + row * n + o,", "p_out + row * n + o + (1 << 42),"))
    with pytest.raises(Lost, match="illegal memory access") as raised:
        judged(workers, FILES / "problem.py", file)
    assert raised.value.flag == "crash"
    flags, _, _ = judged(workers, FILES / "problem.py", FILES / "files" / "plain.py")
    assert flags == {}
