"""Each flag is raised by a planted cheat and by no honest file; in this process, on the host."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

from kgen.measure import graph
from kgen.measure.candidate import Unfit
from kgen.measure.device import HOST
from kgen.measure.graph import Calls
from kgen.measure.host import Host
from kgen.measure.session import Session
from kgen.runner.outputs import WrongReturn

FILES = Path(__file__).parents[1] / "measure"
CHEATS = sorted((FILES / "cheats").glob("*.py"))
ENDS_ITS_PROCESS = ("crash", "timeout")
HONEST = {
    "plain": "problem",
    "workspace": "problem",
    "prepared": "problem",
    "planned": "problem",
    "fused": "problem_fused",
}
KEPT = "prepare() gives 'plan', a Plan that cannot be given other values in place"
NOT_RUN = {
    "prepared": {
        "inputs written just before the call: prepare() computes 'shifts' from the inputs"
    },
    "planned": {
        f"other data at the same addresses: {KEPT}",
        f"inputs written just before the call: {KEPT}",
        f"other data under the graph: {KEPT}",
    },
}


def flag_of(file: Path) -> str:
    """What a cheat says that it should be flagged with."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "FLAG":
            return node.value.value
    raise AssertionError(f"{file} names no flag")


def session(file: Path, problem: str, compared: bool = False) -> Session:
    found = Session()
    found.open(
        {
            "device": HOST,
            "memory_share": 0.1,
            "task": [str(file), str(FILES / f"{problem}.py")],
        },
        print,
    )
    found.load({"file": str(file), "compared": compared}, print)
    return found


def judged(
    file: Path, problem: str, eager: bool = False, compared: bool = False
) -> tuple[dict, list, dict]:
    """Flags, checks and what `begin` answered, of the first shape."""
    one = session(file, problem, compared)
    shape = one.shapes({}, print)["shapes"][0]
    begun = one.begin(
        {"shape": shape["name"], "seed": 5, "sets": 3, "rounds": 0, "eager": eager}, print
    )
    if begun["rounds"]:
        assert len(one.turn({"replays": 2}, print)["seconds"]) == 2
    ended = one.end({"seed": 5}, print)
    return {**begun["flags"], **ended["flags"]}, begun["checks"] + ended["checks"], begun


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_file_raises_no_flag(name):
    file = FILES / "files" / f"{name}.py"
    flags, checks, begun = judged(file, HONEST[name], compared=name in NOT_RUN)
    assert flags == {}
    assert len(checks) >= 6
    assert {check["status"] for check in checks} - {"not run"} == {"passed"}
    assert told_not_run(checks) == NOT_RUN.get(name, set())
    assert begun["rounds"] >= 1


def told_not_run(checks: list) -> set[str]:
    """Why checks were not run."""
    skipped = [check for check in checks if check["status"] == "not run"]
    assert all(one["worst"] is None for one in skipped)
    failures = [failure for check in skipped for failure in check["failures"]]
    assert {failure["code"] for failure in failures} <= {"KG917"}
    return {failure["message"] for failure in failures}


def test_what_a_capture_itself_launches_is_held_against_no_call(monkeypatch):
    plain = Host.capture

    def capture(self, calls):
        torch.zeros(2).fill_(1.0)
        return plain(self, calls)

    monkeypatch.setattr(Host, "capture", capture)
    flags, _, _ = judged(FILES / "files" / "plain.py", "problem")
    assert flags == {}


def test_only_what_others_are_compared_with_may_leave_out_an_output():
    file = FILES / "files" / "leaves_out.py"
    flags, checks, _ = judged(file, "problem_fused", compared=True)
    assert flags == {} and {check["status"] for check in checks} == {"passed"}
    with pytest.raises(WrongReturn, match="output 'sums' is a NoneType, not a tensor"):
        judged(file, "problem_fused")


def test_an_output_is_a_plain_tensor():
    with pytest.raises(WrongReturn, match="output 'out' is a Later, not a tensor"):
        judged(FILES / "files" / "lazy_output.py", "problem")


def test_the_answer_of_any_call_in_the_graph_can_be_asked(monkeypatch):
    """Of a file that launches as much for each set, but computes less for all sets other than the last."""
    monkeypatch.setattr(graph.secrets, "randbelow", lambda calls: 1)
    flags, _, _ = judged(FILES / "files" / "one_row.py", "problem")
    assert set(flags) == {"wrong_on_replay"}


def test_answers_kept_by_value_are_told_by_their_time():
    flags, checks, _ = judged(FILES / "files" / "remembers.py", "problem")
    assert {one["status"] for one in checks} == {"passed"}
    assert set(flags) == {"depends_on_previous_call"}


def test_a_judged_file_declares_no_tolerance_of_its_own(tmp_path):
    file = tmp_path / "rough.py"
    text = "def run(x, w, ids):\n    return x * w * 1.001 + ids[:, None]\n"
    file.write_text(f"TOLERANCE = 0.01\n{text}")
    assert judged(file, "problem", compared=True)[0] == {}
    assert set(judged(file, "problem")[0]) == {"wrong_output"}
    file.write_text(f"TOLERANCE = float('inf')\n{text}")
    with pytest.raises(Unfit, match="TOLERANCE inf; it takes a number"):
        session(file, "problem", compared=True)


@pytest.mark.parametrize("name", ["prepared", "planned"])
def test_a_judged_file_prepares_nothing(name):
    with pytest.raises(Unfit, match="prepare.., whose work is not timed"):
        session(FILES / "files" / f"{name}.py", "problem")


@pytest.mark.parametrize(
    "file",
    [
        pytest.param(one, id=one.stem, marks=pytest.mark.full if one.stem == "compiles" else ())
        for one in CHEATS
        if flag_of(one) not in ENDS_ITS_PROCESS
    ],
)
def test_a_planted_cheat_is_flagged(file):
    flags, _, _ = judged(file, "problem")
    assert flag_of(file) in flags, flags


def test_slow_steps_on_new_data_count_only_when_they_come_again(monkeypatch):
    """Another program on the machine may make one step slow."""
    for told, flag in (([1.5, 1.0], ""), ([1.5, 1.6], "depends_on_previous_call"), ([1.0], "")):
        ratios = iter(told)
        monkeypatch.setattr(Calls, "_longer_on_new", lambda calls, seed: next(ratios))
        assert object.__new__(Calls).novelty(seed=1)[0] == flag
        assert list(ratios) == []
