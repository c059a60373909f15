"""`kgen bench` and `kgen judge`: what they say where no GPU is, the static estimate, and a whole judgement on the host."""

from __future__ import annotations

import errno
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from kgen.cli.measuring import seconds
from kgen.evidence import receipts
from kgen.evidence.gates import Requirements
from kgen.evidence.receipts import parse_receipt
from kgen.measure import coordinator, judge
from kgen.measure.__main__ import main
from kgen.measure.device import HOST
from kgen.measure.gathered import Gathered, _manifest, _revision
from kgen.measure.request import Request

FILES = Path(__file__).parents[1] / "measure"
sys.path.insert(0, str(FILES))

from here import Here  # noqa: E402

BUNDLE = "generated/norm/rms_4096"


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def test_without_a_gpu_bench_says_so_in_one_line(kgen, root, no_gpu):
    told = kgen("bench", root / BUNDLE)
    assert told.code == 2
    assert told.out == ""
    assert told.err == (
        "kgen bench: this machine has no GPU that torch sees; "
        f"`kgen bench {root / BUNDLE} --estimate` computes a static estimate\n"
    )


def test_what_bench_offers_is_of_the_same_spec_and_can_be_pasted(kgen, root, tmp_path, no_gpu):
    path = tmp_path / "a spec.yaml"
    path.write_text((root / "specs/norm/rms_4096.yaml").read_text())
    told = kgen("bench", path, "--set", "axes.H={const: 2048}")
    assert f"`kgen bench '{path}' --set 'axes.H={{const: 2048}}' --estimate` computes" in told.err


def test_the_estimate_is_labelled_and_follows_from_bytes(kgen, root):
    told = kgen("bench", root / BUNDLE, "--estimate")
    assert told.code == 0
    assert told.out.startswith("static estimate, not a measurement: compulsory bytes at the read")
    found = json.loads(kgen("bench", root / BUNDLE, "--estimate", "--json").out)["estimate"]
    largest = found["shapes"][-1]
    assert largest["bytes"] == 2 * 4096 * 4096 * 2 + 2 * 4096
    assert largest["seconds"] == pytest.approx(largest["bytes"] / 4.61e12)
    assert largest["launches"] == 1


def test_without_workloads_there_is_nothing_to_estimate(kgen, root):
    spec = root / "specs/norm/rms_4096.yaml"
    told = kgen("bench", spec, "--set", "workloads.bench=[]", "--estimate")
    assert told.code == 2
    assert "the spec has no workload under `workloads.bench`, so nothing is estimated" in told.err


def test_a_file_without_a_problem_is_refused(kgen):
    plain = FILES / "files" / "plain.py"
    told = kgen("judge", plain, "--against", plain)
    assert told.code == 2
    assert (
        "nothing says what it computes; name a bundle or a problem file with --problem" in told.err
    )


def test_a_budget_has_a_unit(kgen):
    assert [seconds(text) for text in ("60s", "5m", "0.5h", "7")] == [60.0, 300.0, 1800.0, 7.0]
    plain = FILES / "files" / "plain.py"
    for wrong in ("soon", "inf"):
        assert kgen("judge", plain, "--against", plain, "--budget", wrong).code == 2


def test_a_judgement_leaves_a_receipt_that_reads_back(tmp_path):
    plain, wrong = (str(FILES / name) for name in ("files/plain.py", "cheats/wrong.py"))
    options = {
        "problem": str(FILES / "problem.py"),
        "device": HOST,
        "rounds": 5,
    }
    outcome = judge.judged(
        Request(wrong, plain, seed=1, **options), tmp_path, lambda text: None, start=Here
    )
    assert outcome.code == 1
    found = parse_receipt(outcome.receipt.read_text())
    assert outcome.receipt.stem == found.name
    assert {(one.candidate, one.flag) for one in found.record.flags} == {("wrong", "wrong_output")}
    assert found.decision.decision == "rejected"
    assert any("wrong_output" in line for line in outcome.lines)


def test_files_are_named_from_where_the_run_was_started(tmp_path, monkeypatch):
    """So that the receipt finds them on another machine, and no folder of this one is in it."""
    monkeypatch.chdir(FILES.parent)
    raises = tmp_path / "raises.py"
    raises.write_text(f"def run(x, w, ids):\n    raise ValueError({str(FILES / 'problem.py')!r})\n")
    plain = str(FILES / "files" / "plain.py")
    options = {"problem": str(FILES / "problem.py"), "device": HOST, "shapes": "ROWS 4"}
    record = coordinator.measure(
        Request(plain, peers=[str(raises)], rounds=5, **options), start=Here
    )
    named = [one.file for one in record.candidates]
    assert named == ["measure/files/plain.py"] * 2 + [str(raises)]
    assert record.failures[0].message == "ValueError: measure/problem.py"


def test_a_revision_is_told_only_of_a_file_that_it_has(tmp_path):
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    file = tmp_path / "one.py"
    file.write_text("def run(x):\n    return x\n")
    assert _revision(file) is None
    for command in (["init", "-q"], ["add", "one.py"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True).stdout
    assert _revision(file) == head.strip()
    file.write_text("def run(x):\n    return -x\n")
    assert _revision(file) is None


def test_without_scipy_the_record_is_kept_and_nothing_is_concluded(tmp_path, monkeypatch):
    plain = str(FILES / "files" / "plain.py")
    options = {
        "problem": str(FILES / "problem.py"),
        "device": HOST,
        "shapes": "ROWS 4",
        "rounds": 5,
    }
    record = coordinator.measure(Request(plain, seed=1, **options), start=Here)
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    outcome = judge.concluded(record, tmp_path, Requirements())
    assert outcome.code == 2
    assert "scipy is missing here" in outcome.problem.replace("scipy.stats", "scipy")
    assert json.loads(outcome.receipt.read_text())["kind"] == "measurement"
    assert any("us" in line for line in outcome.lines)


def test_a_disk_that_is_full_at_the_end_does_not_cost_the_run(tmp_path, monkeypatch):
    plain = str(FILES / "files" / "plain.py")
    options = {"problem": str(FILES / "problem.py"), "device": HOST, "shapes": "ROWS 4"}
    record = coordinator.measure(Request(plain, seed=1, rounds=5, **options), start=Here)
    full, elsewhere = tmp_path / "full", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    written = receipts.write

    def writing(folder, found):
        if folder in refusing:
            raise OSError(errno.ENOSPC, "No space left on device")
        return written(folder, found)

    monkeypatch.setattr(receipts, "write", writing)
    refusing = [full]
    outcome = judge.concluded(record, full, Requirements())
    assert outcome.code == 2 and any("geometric mean" in line for line in outcome.lines)
    assert outcome.problem == (
        f"what was measured cannot be written to {full} (No space left on device); it is in {outcome.receipt}"
    )
    assert outcome.receipt.is_relative_to(elsewhere)
    assert parse_receipt(outcome.receipt.read_text()).record == record
    refusing = [full, *map(Path, elsewhere.iterdir())]
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(refusing[-1]))
    outcome = judge.concluded(record, full, Requirements())
    assert (outcome.code, outcome.receipt) == (2, None)
    assert outcome.problem.endswith("nor anywhere else: what stands here is all there is")


def test_a_file_that_was_not_rendered_is_made_from_no_spec(root):
    """Whatever bundle its problem is asked of."""
    asked = Request(PLAIN_FILE, problem=str(root / BUNDLE))
    assert _manifest(Path(PLAIN_FILE)) == {}
    manifest = _manifest(root / BUNDLE / "submission.py")
    assert manifest["spec"]["name"] == "rms_4096"
    found = Gathered(asked, coordinator.find_task(asked.candidate, asked.problem))
    found.environment = {**dict.fromkeys(WHERE, ""), "sms": 1, "l2_bytes": 1}
    told = found.record("nothing was measured").source
    assert (told.spec, told.templates) == (None, None)


WHERE = ("device", "driver", "cuda", "torch", "triton", "ptxas", "python")
PLAIN_FILE = str(FILES / "files" / "plain.py")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--min-gain", "nan"], "the gate min_gain is nan; it takes a share from 0 to 1"),
        (["--min-gain=-0.5"], "the gate min_gain is -0.5; it takes a share from 0 to 1"),
        (["--max-regression", "2"], "the gate max_regression is 2.0; it takes a share from 0 to 1"),
        (["--replays", "0"], "--replays is 0; it takes 1 to 1000"),
        (["--rounds", "1"], "--rounds is 1; it takes 5 to 100000"),
        (["--floor", "nan"], "--floor is nan; it takes 0 to 0.5"),
        (["--budget", "inf"], "--budget is inf; it takes 0.001 to 604800"),
        (["--incumbent", "gone.py"], "gone.py cannot be read (No such file or directory)"),
        (["--peer", "latin.py"], "latin.py is no text in UTF-8"),
        (["--out", "latin.py"], "no receipt can be written to latin.py (File exists)"),
        (["--problem", "gone.py"], "gone.py is no bundle, manifest or Python file"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_what_cannot_be_asked_is_refused_in_one_line(tmp_path, monkeypatch, capsys, options, told):
    (tmp_path / "latin.py").write_bytes(b"# \xe9\ndef run(x): return x\n")
    monkeypatch.chdir(tmp_path)
    command = ["judge", PLAIN_FILE, "--against", PLAIN_FILE, "--problem", str(FILES / "problem.py")]
    monkeypatch.setattr(sys, "argv", ["kgen.measure", *command, "--device", HOST, *options])
    assert main() == 2
    shown = capsys.readouterr()
    assert told in shown.err and shown.err.count("\n") == 1 and not shown.out


@pytest.mark.full
def test_the_text_in_a_receipt_is_that_before_the_file_was_loaded(tmp_path):
    """A file can write itself anew; and a hash is of bytes, whatever ends a line."""
    text = (
        b"__import__('pathlib').Path(__file__).write_text('def run(x, w, ids): return x * w')\r\n"
    )
    file = tmp_path / "writes.py"
    file.write_bytes(text + b"def run(x, w, ids):\r\n    return x * w + ids[:, None]\r\n")
    before = file.read_bytes()
    options = {"problem": str(FILES / "problem.py"), "device": HOST, "shapes": "ROWS 4"}
    record = coordinator.measure(Request(PLAIN_FILE, peers=[str(file)], **options), start=Here)
    assert file.read_bytes() != before
    told = next(one for one in record.candidates if one.role == "peer")
    assert record.sources[told.bytes_sha256].encode() == before
    assert told.bytes_sha256 == hashlib.sha256(before).hexdigest()
