"""A worker for the tests of the protocol: each verb does one thing that a real one might do."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from kgen.worker import serve


def echo(payload, emit):
    return {"echo": payload}


def count(payload, emit):
    for i in range(payload["to"]):
        emit({"at": i})
    return {"counted": payload["to"]}


def chatter(payload, emit):
    while True:
        emit({"still": "here"})
        time.sleep(0.01)


def noise(payload, emit):
    print("a library prints")
    os.write(1, b"so does C code\n")
    subprocess.run([sys.executable, "-c", "print('and a subprocess')"], check=True)
    return {
        "input_left": subprocess.run(["cat"], stdout=subprocess.PIPE, check=True).stdout.decode()
    }


def fail(payload, emit):
    raise ValueError("bad " + payload["what"])


def unfit(payload, emit):
    return {"answer": object()}


def abort(payload, emit):
    print("last words", file=sys.stderr, flush=True)
    os.abort()


def leave(payload, emit):
    os._exit(payload["status"])


def hang(payload, emit):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    emit({"grandchild": child.pid})
    time.sleep(600)


def desert(payload, emit):
    """Leaves one behind that has a session of its own and no parent, and then hangs or ends as asked."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writing, str(os.getpid()).encode())
            time.sleep(600)
        os._exit(0)
    os.wait()
    emit({"deserter": int(os.read(reading, 20))})
    if payload["then"] == "hang":
        time.sleep(600)
    if payload["then"] == "die":
        os.abort()
    return {}


def fork_and_die(payload, emit):
    """Dies while a forked copy still holds the answer stream open."""
    if os.fork() == 0:
        time.sleep(600)
    os.abort()


def pid(payload, emit):
    return {"pid": os.getpid()}


def leave_or_echo(payload, emit):
    if payload["status"] is not None:
        os._exit(payload["status"])
    return {"echo": 0}


def hang_or_pid(payload, emit):
    if payload.get("hang"):
        time.sleep(600)
    return {"pid": os.getpid()}


HANDLERS = [
    *(echo, count, chatter, noise, fail, unfit, abort, leave, hang, fork_and_die, pid),
    *(leave_or_echo, hang_or_pid, desert),
]

if __name__ == "__main__":
    serve({handler.__name__: handler for handler in HANDLERS})
