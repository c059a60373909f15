"""Receipts: no edit of one verifies, and writing one is all or nothing."""

from __future__ import annotations

import copy
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies

sys.path.insert(0, str(Path(__file__).parents[1] / "evidence"))

from records import TEXTS, record  # noqa: E402

from kgen.diagnostics import Diagnostic, Severity  # noqa: E402
from kgen.evidence import intervals  # noqa: E402
from kgen.evidence.gates import Requirements  # noqa: E402
from kgen.evidence.ledger import entries  # noqa: E402
from kgen.evidence.plain import canonical, digest  # noqa: E402
from kgen.evidence.receipts import Receipt, parse_receipt, receipt, write  # noqa: E402
from kgen.evidence.record import Record  # noqa: E402
from kgen.evidence.sources import is_stale  # noqa: E402
from kgen.evidence.verify import verify  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def fewer_resamples() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "RESAMPLES", 199)
        yield


def run(seed: int = 1) -> Record:
    draw = random.Random(seed)
    seconds = {"candidate": 1e-5, "baseline": 2e-5, "again": 2e-5, "incumbent": 1.5e-5}
    return record(
        {
            role: {"a": [one * (1 + draw.gauss(0, 0.003)) for _ in range(6)]}
            for role, one in seconds.items()
        }
    )


@pytest.fixture(scope="module")
def made(fewer_resamples) -> Receipt:
    return receipt(run())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the files that the receipt is about."""
    (tmp_path / "files").mkdir()
    for role, text in TEXTS.items():
        (tmp_path / "files" / f"{role}.py").write_text(text)
    return tmp_path


def found(home: Path) -> list[Diagnostic]:
    return list(verify(entries([home / "receipts"]), home))


def codes(home: Path) -> list[str]:
    return [one.code for one in found(home)]


def test_a_receipt_is_named_by_its_bytes_and_verifies(made, home):
    path = write(home / "receipts", made)
    assert path.name == f"{digest(path.read_text())}.json"
    assert parse_receipt(path.read_text()) == made
    assert made.decision.decision == "promoted"
    assert codes(home) == []


def test_writing_the_same_receipt_twice_leaves_the_one_file(made, home):
    first = write(home / "receipts", made)
    before = first.stat()
    assert write(home / "receipts", made) == first
    assert first.stat().st_ino == before.st_ino
    assert [path.name for path in (home / "receipts").iterdir()] == [first.name]


def put(home: Path, text: str) -> Path:
    """Writes a text as a receipt under the name that it would have."""
    path = home / "receipts" / f"{digest(text)}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def places(data: Any, path: tuple = ()) -> Iterator[tuple]:
    """The path of every value in plain data but the whole."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


def edited(data: Any, path: tuple, value: Any) -> Any:
    """A copy with another value at a path; `...` removes what is there."""
    changed = copy.deepcopy(data)
    place = changed
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return changed


def at(data: Any, path: tuple) -> Any:
    for step in path:
        data = data[step]
    return data


VALUES = strategies.one_of(
    strategies.just(...),
    strategies.none(),
    strategies.booleans(),
    strategies.integers(-3, 10**6),
    strategies.floats(allow_nan=False, allow_infinity=False),
    strategies.text(max_size=4),
    strategies.just([]),
    strategies.just({}),
)


@given(data=strategies.data())
@settings(max_examples=150)
def test_no_edit_of_a_single_value_verifies(made, tmp_path_factory, data):
    whole = json.loads(made.text())
    path = data.draw(strategies.sampled_from(list(places(whole))))
    value = data.draw(VALUES)
    text = canonical(edited(whole, path, value))
    if text == made.text():
        return
    folder = tmp_path_factory.mktemp("edited") / "receipts"
    folder.mkdir()
    (folder / f"{made.name}.json").write_text(text)
    told = list(verify(entries([folder]), folder))
    assert "KG951" in {one.code for one in told if one.severity is not Severity.INFO}


CONCLUDED = ("analysis", "gates", "decision")


@given(data=strategies.data())
@settings(max_examples=150)
def test_no_edit_of_a_conclusion_verifies_under_a_new_name_either(made, tmp_path_factory, data):
    whole = json.loads(made.text())
    inside = [path for path in places(whole) if path[0] in CONCLUDED]
    path = data.draw(strategies.sampled_from(inside))
    value = data.draw(VALUES)
    changed = edited(whole, path, value)
    before = at(whole, path)
    close = isinstance(before, float) and isinstance(value, float) and abs(before - value) < 1e-5
    if changed == whole or close:
        return
    home = tmp_path_factory.mktemp("forged")
    put(home, canonical(changed))
    assert set(codes(home)) & {"KG950", "KG952"}


ODD = strategies.one_of(VALUES, strategies.sampled_from(["\ud800", 10**400, 1e308, 5e-324, -1.0]))


@given(data=strategies.data())
@settings(max_examples=150)
def test_whatever_stands_in_a_receipt_it_is_read_or_refused(made, tmp_path_factory, data):
    whole = json.loads(made.text())
    path = data.draw(strategies.sampled_from(list(places(whole))))
    home = tmp_path_factory.mktemp("odd")
    put(home, canonical(edited(whole, path, data.draw(ODD))))
    told = codes(home)
    # a turn, a check or a flag that is wrong in itself is told; one that could be true may be
    assert set(told) <= {"KG950", "KG952", "KG953", "KG955", "KG956"}


def test_an_edited_sample_contradicts_the_conclusions_and_the_key_is_named(made, home):
    whole = json.loads(made.text())
    for index, turn in enumerate(whole["record"]["turns"]):
        if turn["candidate"] == "candidate":
            whole = edited(whole, ("record", "turns", index, "seconds"), [5e-6, 5e-6])
    put(home, canonical(whole))
    first = found(home)[0]
    assert (first.code, first.severity) == ("KG952", Severity.FINDING)
    assert "analysis.rows[0].seconds holds" in first.message
    assert "from its record follows 5e-06" in first.message


def test_an_edited_source_text_within_a_receipt_is_named(made, home):
    whole = json.loads(made.text())
    sha = digest(TEXTS["candidate"])
    put(home, canonical(edited(whole, ("record", "sources", sha), "def run(x): return x\n")))
    (first,) = found(home)
    assert first.code == "KG950"
    assert f"record.sources['{sha}']: there is a text with another hash" in first.message


def test_a_core_hash_that_is_not_the_texts_is_named(made, home):
    candidates = tuple(
        replace(one, core_sha256="0" * 64) if one.role == "candidate" else one
        for one in made.record.candidates
    )
    write(home / "receipts", receipt(replace(made.record, candidates=candidates)))
    assert "KG956" in codes(home)


@pytest.mark.parametrize("kept", [0, 1, 100, -2, -1])
def test_a_truncated_receipt_is_named_whatever_is_left(made, home, kept):
    path = write(home / "receipts", made)
    path.write_text(made.text()[:kept])
    told = {one.code: one for one in found(home)}
    assert {"KG950", "KG951"} <= told.keys()
    assert told["KG951"].place.file == str(path)


def test_bytes_that_are_no_text_are_no_receipt(made, home):
    path = write(home / "receipts", made)
    path.write_bytes(b"\xff\xfe" + path.read_bytes())
    assert codes(home)[0] == "KG951"


def test_a_renamed_receipt_is_told_its_name(made, home):
    path = write(home / "receipts", made)
    path.rename(path.with_name("best.json"))
    (only,) = found(home)
    assert only.code == "KG951"
    assert f"call it {made.name}.json" in only.hint


def git(folder: Path, *command: str) -> None:
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, *command], cwd=folder, check=True, capture_output=True)


def test_where_git_has_a_receipt_the_first_changed_byte_is_named(made, home):
    path = write(home / "receipts", made)
    git(home, "init", "-q")
    git(home, "add", "-A")
    git(home, "commit", "-q", "-m", "receipts")
    content = bytearray(path.read_bytes())
    content[1234] ^= 1
    path.write_bytes(content)
    told = next(one for one in found(home) if one.code == "KG951")
    assert "byte 1234 (line 1) is the first that is not as committed" in told.message


def test_a_receipt_in_another_form_of_json_is_none(made, home):
    put(home, json.dumps(json.loads(made.text()), indent=1))
    (only,) = found(home)
    assert (only.code, "canonical form" in only.message) == ("KG950", True)


def test_a_changed_comment_is_for_information_and_names_the_byte(made, home):
    write(home / "receipts", made)
    file = home / "files/candidate.py"
    file.write_text(file.read_text().replace("x + 1", "x + 1  # one"))
    (only,) = found(home)
    assert (only.code, only.severity) == ("KG954", Severity.INFO)
    assert "first at byte 28 (line 2), and computes the same" in only.message


def test_a_changed_core_makes_the_receipt_stale(made, home):
    write(home / "receipts", made)
    file = home / "files/candidate.py"
    file.write_text(file.read_text().replace("x + 1", "x + 2"))
    (only,) = found(home)
    assert (only.code, only.severity) == ("KG953", Severity.FINDING)
    assert "files/candidate.py has changed, first at byte 27 (line 2)" in only.message


def test_a_stale_receipt_is_for_information_once_the_file_is_measured_again(made, home):
    write(home / "receipts", made)
    file = home / "files/candidate.py"
    text = file.read_text().replace("x + 1", "x + 2")
    file.write_text(text)
    from kgen.render.hashes import core_sha256

    candidates = tuple(
        (
            replace(one, bytes_sha256=digest(text), core_sha256=core_sha256(text))
            if one.role == "candidate"
            else one
        )
        for one in made.record.candidates
    )
    sources = {**made.record.sources, digest(text): text}
    write(home / "receipts", receipt(replace(made.record, candidates=candidates, sources=sources)))
    assert [(one.code, one.severity) for one in found(home)] == [("KG953", Severity.INFO)]


def test_a_changed_file_that_was_only_compared_with_is_for_information(made, home):
    write(home / "receipts", made)
    (home / "files/incumbent.py").write_text("def run(x):\n    return 3\n")
    (only,) = found(home)
    assert (only.code, only.severity) == ("KG960", Severity.INFO)
    assert "files/incumbent.py, the incumbent here, has changed since, first at" in only.message
    assert not is_stale(made, home)


def test_a_receipt_without_a_judged_file_is_about_its_baseline(home):
    times = {name: {"a": [1e-5] * 5} for name in ("baseline", "again", "peer")}
    measured = receipt(record(times))
    write(home / "receipts", measured)
    (home / "files/peer.py").write_text("def run(x):\n    return 3\n")
    assert [(one.code, one.severity) for one in found(home)] == [("KG960", Severity.INFO)]
    (home / "files/baseline.py").write_text("def run(x):\n    return 3\n")
    told = {(one.code, one.severity) for one in found(home)}
    assert told == {("KG953", Severity.FINDING), ("KG960", Severity.INFO)}
    assert is_stale(measured, home)


def test_a_file_that_is_gone_is_for_information(made, home):
    write(home / "receipts", made)
    (home / "files/candidate.py").unlink()
    assert [(one.code, one.severity) for one in found(home)] == [("KG955", Severity.INFO)]


def test_other_requirements_are_part_of_the_receipt(made, home):
    strict = receipt(made.record, Requirements(min_gain=0.6))
    assert strict.decision.decision == "rejected"
    write(home / "receipts", strict)
    assert codes(home) == []


WRITER = """
import sys
from pathlib import Path
from kgen.evidence.receipts import parse_receipt, write
found = parse_receipt(Path(sys.argv[1]).read_text())
print("ready", flush=True)
sys.stdin.readline()
while True:
    path = write(Path(sys.argv[2]), found)
    if len(sys.argv) < 4:
        break
    path.unlink(missing_ok=True)
"""


def writer(root: Path, text: Path, folder: Path, *forever: str) -> subprocess.Popen:
    """A process that is ready to write a receipt, once or until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, text, folder, *forever],
        env={"PYTHONPATH": str(root), "PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_that_write_at_once_leave_one_whole_file(root, made, tmp_path):
    text = tmp_path / "text"
    text.write_text(made.text())
    both = [writer(root, text, tmp_path / "receipts") for _ in range(2)]
    for one in both:
        one.stdin.write("\n")
        one.stdin.flush()
    for one in both:
        one.communicate(timeout=60)
        assert one.returncode == 0
    (path,) = (tmp_path / "receipts").iterdir()
    assert path.read_text() == made.text()


STEPPING = """
import os, signal, sys
from pathlib import Path
from kgen.evidence.receipts import parse_receipt, write

found = parse_receipt(Path(sys.argv[1]).read_text())

def killed_after(lines):
    def trace(frame, event, argument):
        nonlocal lines
        if not any(part in frame.f_code.co_filename for part in ("evidence/receipts", "pathlib")):
            return None
        lines -= event == "line"
        if lines < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace
    return trace

for step in range(1000):
    child = os.fork()
    if not child:
        sys.settrace(killed_after(step))
        write(Path(sys.argv[2], f"{step:03}"), found)
        os._exit(0)
    if os.WIFEXITED(os.waitpid(child, 0)[1]):
        break
else:
    sys.exit("a thousand lines do not write a receipt")
"""


def test_killed_before_any_line_a_writer_leaves_a_whole_file_or_none(root, made, tmp_path):
    text = tmp_path / "text"
    text.write_text(made.text())
    command = [sys.executable, "-c", STEPPING, text, tmp_path / "steps"]
    subprocess.run(command, env={"PYTHONPATH": str(root)}, check=True, timeout=120)
    states = []
    for folder in sorted((tmp_path / "steps").iterdir()):
        left = [(path.stem, path.read_text()) for path in folder.glob("*.json")]
        assert left in ([], [(made.name, made.text())]), folder
        states.append(bool(left))
        # what a killed writer left hinders nobody
        assert write(folder, made).read_text() == made.text()
    # none before the link, and from there on the whole
    assert states == sorted(states)
    assert states.count(False) > 5 and states.count(True) > 5


def test_killed_at_any_instant_a_writer_leaves_a_whole_file_or_none(root, made, tmp_path):
    """The writer writes and removes its receipt over and over, so that the kill hits every step of it."""
    text, draw, left = tmp_path / "text", random.Random(8), set()
    text.write_text(made.text())
    for attempt in range(6):
        folder = tmp_path / f"receipts{attempt}"
        process = writer(root, text, folder, "forever")
        process.stdin.write("\n")
        process.stdin.flush()
        time.sleep(draw.uniform(0.001, 0.03))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        for entry in entries([folder] if folder.is_dir() else []):
            left.add(entry.path.name)
            assert entry.text == made.text()
        # what is left over hinders nobody
        assert write(folder, made).read_text() == made.text()
    assert left <= {f"{made.name}.json"}


def test_what_is_no_file_and_what_never_ends_is_told_at_once(home):
    folder = home / "odd"
    folder.mkdir()
    os.mkfifo(folder / "pipe.json")
    (folder / "endless.json").symlink_to("/dev/zero")
    (folder / "loop.json").symlink_to("loop.json")
    (folder / "folder.json").mkdir()
    told = {one.place.file: (one.code, one.message) for one in verify(entries([folder]), home)}
    reasons = {
        Path(file).name: message for file, (code, message) in told.items() if code == "KG950"
    }
    assert {name: text.partition("(")[2].partition(")")[0] for name, text in reasons.items()} == {
        "pipe.json": "it is a device or a pipe",
        "endless.json": "it is a device or a pipe",
        "loop.json": "Too many levels of symbolic links",
        "folder.json": "Is a directory",
    }
    assert {code for code, _ in told.values()} == {"KG950"}
