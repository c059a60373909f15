"""`kgen ledger`: what the receipts say together, for a person and for a program."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence"))

from answers import ANSWER, MAPPING, changed  # noqa: E402
from records import TEXTS, record  # noqa: E402

from kgen.evidence.receipts import Receipt, receipt, write  # noqa: E402
from kgen.evidence.record import Flag, Record  # noqa: E402


def run(candidate: float, started: str, **changes: object) -> Record:
    draw = random.Random(started)
    seconds = {"candidate": candidate, "baseline": 2e-5, "again": 2e-5}
    times = {
        role: {"a": [one * (1 + draw.gauss(0, 0.002)) for _ in range(5)]}
        for role, one in seconds.items()
    }
    return record(times, started=started, **changes)


@pytest.fixture
def home(tmp_path: Path, monkeypatch) -> Path:
    """A folder with three receipts, of a good file, of a flagged one and of a void run, and their files."""
    monkeypatch.chdir(tmp_path)
    Path("files").mkdir()
    for role, text in TEXTS.items():
        Path("files", f"{role}.py").write_text(text)
    flag = (Flag("candidate", "a", "stale_pointer", "the old result"),)
    for one in (
        run(1e-5, "2026-05-31T12:00:00Z"),
        run(5e-6, "2026-05-30T12:00:00Z", flags=flag),
        replace(run(4e-6, "2026-06-01T12:00:00Z"), checks=()),
    ):
        keep(receipt(one))
    return tmp_path


def keep(found: Receipt) -> Path:
    return write(Path("benchmarks/receipts/rms_small"), found)


def test_verify_of_whole_receipts_exits_0(kgen, home):
    told = kgen("ledger", "verify")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("receipts of measuring: 3, of tests: 0")


def test_verify_of_an_edited_one_exits_1_and_names_it(kgen, home):
    path = next(Path("benchmarks/receipts/rms_small").iterdir())
    path.write_text(path.read_text().replace('"seed":7', '"seed":8', 1))
    told = kgen("ledger", "verify", "--json")
    assert told.code == 1
    found = json.loads(told.out)
    assert found["ok"] is False and len(found["receipts"]) == 3
    assert {(one["code"], one["file"]) for one in found["diagnostics"]} >= {("KG951", str(path))}


def test_without_numpy_and_scipy_verify_says_that_it_did_not_compute(kgen, home, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    told = kgen("ledger", "verify")
    assert told.code == 1
    assert told.err.count("KG959: its conclusions were not computed again") == 3


def test_verify_takes_single_files_and_another_root(kgen, home):
    path = next(Path("benchmarks/receipts/rms_small").iterdir())
    Path("elsewhere").mkdir()
    told = kgen("ledger", "verify", path, "--root", "elsewhere")
    assert told.code == 0
    assert told.err.count("KG955") == 2
    assert told.out.startswith("receipts of measuring: 1,")
    assert "measured files on disk that compute what they did then: 0 of 2\n" in told.out
    told = kgen("ledger", "verify", path)
    assert "measured files on disk that compute what they did then: 2 of 2\n" in told.out


def test_the_committed_receipts_verify(kgen, root, monkeypatch):
    """A measured file that has changed since is stale until a GPU is there again, and nothing else is allowed."""
    monkeypatch.chdir(root)
    told = json.loads(kgen("ledger", "verify", "--json").out)
    findings = [one for one in told["diagnostics"] if one["severity"] == "finding"]
    measured = [one for one in findings if "/measured/" in one["file"] and one["code"] == "KG953"]
    assert findings == measured


def test_receipts_of_tests_are_checked_as_far_as_they_go(kgen, root, home):
    source = next(root.glob("benchmarks/receipts/tests/*rms_odd*.json"))
    data = json.loads(source.read_text())
    folder = Path("tests")
    folder.mkdir()
    folder.joinpath("a.json").write_text(
        json.dumps(changed(data, "cases", 0, "status", to="failed"))
    )
    folder.joinpath("b.json").write_text(json.dumps(changed(data, "core_sha256", to="0" * 64)))
    folder.joinpath("c.json").write_text(json.dumps(changed(data, "cases", to=...)))
    told = json.loads(kgen("ledger", "verify", "tests", "--root", root, "--json").out)
    codes = [(one["file"], one["code"]) for one in told["diagnostics"]]
    assert codes == [
        ("tests/a.json", "KG952"),
        ("tests/b.json", "KG953"),
        ("tests/c.json", "KG950"),
    ]


def test_best_takes_neither_a_flagged_nor_an_unchecked_nor_a_void_row(kgen, home):
    (only,) = json.loads(kgen("ledger", "best", "--json").out)["best"]
    assert (only["shape"], only["device"], only["candidate"]) == ("a", "NVIDIA H200", "candidate")
    assert only["seconds"] == pytest.approx(1e-5, rel=0.01)
    assert " 10.0" in kgen("ledger", "best").out


def test_best_takes_no_row_of_a_stale_receipt(kgen, home):
    Path("files/candidate.py").write_text("def run(x):\n    return x\n")
    assert json.loads(kgen("ledger", "best", "--json").out)["best"] == []
    assert kgen("ledger", "best").out == (
        "no row counts: of 3 receipts of measuring 3 are stale, and 0 are void, incomplete, "
        "or have only rows that are flagged, failed or unchecked\n"
    )


def test_best_takes_no_row_of_a_file_that_changed_since(kgen, home):
    slow = keep(receipt(run(1e-4, "2026-06-02T12:00:00Z")))
    (only,) = json.loads(kgen("ledger", "best", slow, "--json").out)["best"]
    assert only["candidate"] == "baseline"
    Path("files/baseline.py").write_text("def run(x):\n    return x\n")
    (only,) = json.loads(kgen("ledger", "best", slow, "--json").out)["best"]
    assert only["candidate"] == "candidate"


def test_best_is_the_fastest_of_several(kgen, home):
    keep(receipt(run(9e-6, "2026-06-02T12:00:00Z")))
    (only,) = json.loads(kgen("ledger", "best", "--json").out)["best"]
    assert only["seconds"] == pytest.approx(9e-6, rel=0.01)


def test_log_shows_every_attempt_in_the_order_of_time(kgen, home):
    attempts = json.loads(kgen("ledger", "log", "--json").out)["attempts"]
    assert [one["decision"] for one in attempts] == ["rejected", "promoted", "closed"]
    assert "stale_pointer at a: the old result" in attempts[0]["reason"]
    assert "the baseline is not sound" in attempts[2]["reason"]
    told = kgen("ledger", "log").out.splitlines()
    shown = [(one["started"], Path(one["path"]).stem[:12]) for one in attempts]
    assert [tuple(line.split()[:2]) for line in told[1:]] == shown
    assert max(len(one["reason"]) for one in attempts) > 72
    start = told[0].index("decision")
    assert all(len(line) - start <= 72 for line in told[1:])
    assert sum(line.endswith("…") for line in told[1:]) == 1


def test_log_marks_what_is_stale_and_names_what_it_cannot_read(kgen, home):
    Path("files/candidate.py").write_text("def run(x):\n    return x\n")
    Path("benchmarks/receipts/broken.json").write_text("{")
    told = kgen("ledger", "log")
    assert told.out.count(", stale: ") == 3
    assert "benchmarks/receipts/broken.json: KG950: it is no receipt" in told.err
    assert told.code == 1


def test_without_a_folder_of_receipts_the_use_is_wrong(kgen, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = kgen("ledger", "verify")
    assert told.code == 2
    assert "name a folder of receipts" in told.err


@pytest.fixture
def answer(home) -> list[str]:
    Path("answer.json").write_text(json.dumps(ANSWER))
    Path("map.yaml").write_text(json.dumps(MAPPING))
    return ["answer.json", "--map", "map.yaml", "--file", "files/candidate.py"]


def test_an_import_becomes_a_receipt_that_verifies(kgen, answer):
    told = kgen("ledger", "import", *answer, "--json")
    found = json.loads(told.out)
    assert Path(found["receipt"]).parent.as_posix() == "benchmarks/receipts/rms"
    assert kgen("ledger", "verify").code == 0
    best = json.loads(kgen("ledger", "best", "--json").out)["best"]
    assert {(one["problem"], one["shape"]) for one in best} >= {("rms", "B 1"), ("rms", "B 8")}


def test_an_import_prints_the_table_and_its_decision_is_the_exit_code(kgen, answer):
    told = kgen("ledger", "import", *answer, "--min-gain", "0.6")
    assert told.code == 1
    assert "rms, scored by timer 2 in job 4711; 3 more answers left" in told.out
    assert "rejected: gain: the aggregate against the baseline, 1.5000, is below 1.6000" in told.out
    assert told.out.splitlines()[-1].startswith("receipt: benchmarks/receipts/rms/")


def test_the_gates_of_an_import_are_those_of_the_spec_whose_bundle_the_file_is_in(kgen, answer):
    manifest = {
        "family": "norm",
        "entry": "run",
        "arguments": ["x"],
        "returns": [],
        "regimes": [],
        "problem_module": "kgen.runner.case",
        "problem": {},
        "bytes_sha256": "0",
        "gates": {"min_gain": 0.6},
    }
    Path("files/submission.py").write_text(Path("files/candidate.py").read_text())
    answer[-1] = "files/submission.py"
    assert kgen("ledger", "import", *answer).code == 0
    Path("files/manifest.json").write_text(json.dumps(manifest))
    told = kgen("ledger", "import", *answer)
    assert told.code == 1 and "1.5000, is below 1.6000" in told.out
    assert "promoted" in kgen("ledger", "import", *answer, "--min-gain", "0.5").out
    manifest["gates"] = {"min_gain": "much"}
    Path("files/manifest.json").write_text(json.dumps(manifest))
    told = kgen("ledger", "import", *answer)
    assert "KG958: the gate min_gain is 'much'; it takes a share from 0 to 1" in told.err


@pytest.mark.parametrize(
    ("path", "to", "code"),
    [
        (("type",), "test", 0),
        (("tests",), [], 1),
        (("tests", 0, "ok"), False, 1),
    ],
    ids=["right", "nothing told", "wrong"],
)
def test_a_mere_check_is_good_only_if_it_shows_that_the_file_is_right(kgen, answer, path, to, code):
    checked = changed(ANSWER, "type", to="test")
    Path("answer.json").write_text(json.dumps(changed(checked, *path, to=to)))
    assert kgen("ledger", "import", *answer).code == code


def test_a_scored_answer_of_which_nothing_follows_is_not_good(kgen, answer):
    Path("map.yaml").write_text(json.dumps(changed(MAPPING, "shapes", "baseline", to=...)))
    told = kgen("ledger", "import", *answer)
    assert told.code == 1
    assert "closed: the run is void: the judge tells no baseline" in told.out
    assert "intervals combine those that it tells, whatever their level" in told.out


def test_an_answer_moves_no_cursor(kgen, answer):
    case = changed(ANSWER, "rows", 0, "case", to="\x1b[2J\tB 1")
    Path("answer.json").write_text(json.dumps(changed(case, "warnings", to=["\x1b]0;hi\x07"])))
    told = kgen("ledger", "import", *answer)
    assert "\\x1b[2J\\tB 1" in told.out and "flag: \\x1b]0;hi\\x07" in told.out
    shown = told.out + told.err + kgen("ledger", "log").out + kgen("ledger", "best").out
    assert "\x1b" not in shown and "\x07" not in shown


def test_of_a_pointer_that_misses_in_every_row_the_first_are_told(kgen, answer):
    row = ANSWER["rows"][0]
    rows = [{**row, "case": f"B {number}", "ours": {}} for number in range(900)]
    Path("answer.json").write_text(json.dumps(changed(ANSWER, "rows", to=rows)))
    told = kgen("ledger", "import", *answer)
    assert told.err.count("KG958: ") == 13
    assert "answer.json: KG958: 2688 more places do not fit" in told.err


def test_an_import_that_does_not_fit_writes_nothing(kgen, answer):
    Path("answer.json").write_text(json.dumps({"error": "queue full"}))
    told = kgen("ledger", "import", *answer)
    assert told.code == 1
    assert "answer.json: KG958: job: there is '/job/id', and there is no 'job'" in told.err
    Path("map.yaml").write_text("unit: [")
    assert "map.yaml: KG957: it is no YAML" in kgen("ledger", "import", *answer).err
    Path("map.yaml").write_text("unit: us")
    assert "map.yaml: KG957: job: there is nothing" in kgen("ledger", "import", *answer).err
    assert not Path("benchmarks/receipts/rms").exists()
