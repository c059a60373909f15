"""One worker: answers, events, and every way to fail."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kgen.worker import (
    Worker,
    WorkerDied,
    WorkerError,
    WorkerTimeout,
    module_worker,
)

CHILD = str(Path(__file__).with_name("worker_child.py"))
HOME = str(Path(__file__).parents[2])


@pytest.fixture
def worker():
    with Worker([sys.executable, CHILD], {**os.environ, "PYTHONPATH": HOME}) as worker:
        yield worker


def ends(pid: int, within: float = 5) -> bool:
    """Whether the process is gone (or a zombie that nobody reaps yet) in time."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.02)
    return False


def test_a_result_comes_back_as_it_was_given(worker):
    payload = {"text": "line\nbreak ∀", "numbers": [1, 2.5, None, True]}
    assert worker.call("echo", payload, 20) == {"echo": payload}


def test_progress_arrives_in_order_before_the_result(worker):
    seen = []
    assert worker.call("count", {"to": 50}, 20, seen.append) == {"counted": 50}
    assert [event["at"] for event in seen] == list(range(50))


def test_what_libraries_and_subprocesses_print_or_read_leaves_the_protocol_alone(worker):
    assert worker.call("noise", {}, 20) == {"input_left": ""}
    assert worker.call("echo", {"after": 1}, 20) == {"echo": {"after": 1}}


def test_an_exception_names_its_kind_and_the_worker_lives_on(worker):
    with pytest.raises(WorkerError, match="^ValueError: bad luck") as caught:
        worker.call("fail", {"what": "luck"}, 20)
    assert caught.value.kind == "ValueError"
    assert 'raise ValueError("bad " + payload["what"])' in caught.value.traceback
    assert worker.call("echo", {}, 20) == {"echo": {}}


def test_an_unknown_verb_lists_the_known_ones(worker):
    with pytest.raises(WorkerError, match="has no verb 'dance'; it knows abort, chatter, count"):
        worker.call("dance", {}, 20)


def test_a_result_that_is_no_json_is_an_error_of_that_call(worker):
    with pytest.raises(WorkerError, match="TypeError: Object of type object is not JSON"):
        worker.call("unfit", {}, 20)
    assert worker.call("echo", {}, 20) == {"echo": {}}


def test_an_abort_is_reported_with_its_signal_and_last_words(worker):
    with pytest.raises(WorkerDied, match="was killed by SIGABRT before it answered") as caught:
        worker.call("abort", {}, 20)
    assert caught.value.status == -6
    assert "last words" in caught.value.stderr
    assert not worker.alive


def test_an_exit_is_reported_with_its_status(worker):
    with pytest.raises(WorkerDied, match="ended with exit status 41"):
        worker.call("leave", {"status": 41}, 20)


def test_a_dead_worker_refuses_further_calls(worker):
    with pytest.raises(WorkerDied):
        worker.call("leave", {"status": 3}, 20)
    with pytest.raises(WorkerDied, match="exit status 3"):
        worker.call("echo", {}, 20)


def test_a_death_is_seen_though_a_forked_copy_keeps_the_stream_open(worker):
    started = time.monotonic()
    with pytest.raises(WorkerDied, match="SIGABRT"):
        worker.call("fork_and_die", {}, 60)
    assert time.monotonic() - started < 20


def test_a_timeout_kills_the_worker_and_what_it_started(worker):
    seen = []
    with pytest.raises(WorkerTimeout, match="gave no result within 2 s and was killed"):
        worker.call("hang", {}, 2, seen.append)
    assert ends(seen[0]["grandchild"])
    assert not worker.alive


@pytest.mark.parametrize("then", ["hang", "die", "return"])
def test_what_left_the_group_of_the_worker_ends_with_it(worker, then):
    seen = []
    with contextlib.ExitStack() as stack:
        if then != "return":
            stack.enter_context(pytest.raises(WorkerTimeout if then == "hang" else WorkerDied))
        worker.call("desert", {"then": then}, 2 if then == "hang" else 20, seen.append)
    if then == "return":
        os.kill(seen[0]["deserter"], 0)
        worker.close()
    assert ends(seen[0]["deserter"])


def test_a_worker_whose_parent_is_killed_takes_deserters_along():
    code = (
        "import sys; from kgen.worker import Worker\n"
        "worker = Worker([sys.executable, sys.argv[1]])\n"
        "show = lambda e: print(e['deserter'], flush=True)\n"
        "worker.call('desert', {'then': 'hang'}, 600, show)"
    )
    command = [sys.executable, "-c", code, CHILD]
    environment = {**os.environ, "PYTHONPATH": HOME}
    parent = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    deserter = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert ends(deserter)


def test_progress_does_not_put_off_the_timeout(worker):
    with pytest.raises(WorkerTimeout):
        worker.call("chatter", {}, 1)


def test_a_line_that_is_no_answer_ends_the_worker_and_is_quoted():
    with Worker(["sh", "-c", "read line; echo 'Welcome to host 7'; sleep 60"]) as worker:
        with pytest.raises(
            WorkerDied, match="broke the protocol with the line 'Welcome to host 7'"
        ):
            worker.call("echo", {}, 20)
        assert not worker.alive


def test_closing_twice_and_leaving_the_block_kill_the_child():
    with module_worker("kgen_no_such_module_at_all") as worker:
        worker.close()
        worker.close()
    assert not worker.alive


def test_a_module_that_cannot_start_says_why():
    with module_worker("kgen.no_such_module") as worker:
        with pytest.raises(WorkerDied, match="No module named kgen.no_such_module"):
            worker.call("echo", {}, 20)


def test_a_worker_of_a_module_takes_environment_variables_and_drops_them(monkeypatch):
    monkeypatch.setenv("KGEN_TEST_DROPPED", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(CHILD).parent))
    with module_worker(
        "worker_child", env={"KGEN_TEST_DROPPED": None, "KGEN_TEST_SET": "2"}
    ) as worker:
        environment = Path(f"/proc/{worker.pid}/environ")
        worker.call("echo", {}, 20)
        names = environment.read_bytes().decode().split("\0")
    assert "KGEN_TEST_SET=2" in names
    assert not any(name.startswith("KGEN_TEST_DROPPED") for name in names)


def test_a_worker_whose_parent_is_killed_ends_with_all_it_started():
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from kgen.worker import Worker\n"
            "worker = Worker([sys.executable, sys.argv[1]])\n"
            "show = lambda e: print(worker.pid, e['grandchild'], flush=True)\n"
            "worker.call('hang', {}, 600, show)",
            CHILD,
        ],
        env={**os.environ, "PYTHONPATH": HOME},
        stdout=subprocess.PIPE,
        text=True,
    )
    child, grandchild = map(int, parent.stdout.readline().split())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert ends(child) and ends(grandchild)


def test_the_protocol_imports_nothing_outside_the_standard_library():
    script = (
        "import sys; before = set(sys.modules); import kgen.worker\n"
        "new = {m.partition('.')[0] for m in set(sys.modules) - before}\n"
        "print(sorted(new - sys.stdlib_module_names))"
    )
    environment = {**os.environ, "PYTHONPATH": HOME}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['kgen']"
