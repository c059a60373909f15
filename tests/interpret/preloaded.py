"""A Python that has imported torch already: a start of the runner takes milliseconds and not seconds.

`python tests/interpret/preloaded.py SOCKET` imports torch once and waits. The file that `client` writes takes the place of
a Python: it passes its command, environment and streams on, and ends as the process ends that was forked for it.
"""

from __future__ import annotations

import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server.connect({address!r})
asked = dict(arguments=sys.argv[1:], environment=dict(os.environ), folder=os.getcwd())
socket.send_fds(server, [json.dumps(asked).encode()], [0, 1, 2])
status = int(server.recv(16) or 1)
if status < 0:
    if -status != signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@pytest.fixture(scope="session")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The path of what takes the place of a Python."""
    folder = tmp_path_factory.mktemp("preloaded")
    address, client = folder / "socket", folder / "python"
    client.write_text(CLIENT.format(python=sys.executable, address=str(address)))
    client.chmod(0o700)
    command = [sys.executable, "-P", __file__, str(address)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"ready\n"
        yield str(client)
        server.stdin.close()


def listen(address: str) -> None:
    """Forks for each client until stdin closes."""
    import torch  # noqa: F401

    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(address)
        server.listen()
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that serve a client
        while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
            client, _ = server.accept()
            if os.fork() == 0:
                server.close()
                _serve(client)
                os._exit(0)
            client.close()


def _serve(client: socket.socket) -> None:
    """Runs a client's command and tells it how that ended; one that is gone takes its command with it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    asked, streams, _, _ = socket.recv_fds(client, 1 << 20, 3)
    process = os.fork()
    if process == 0:
        client.close()
        _become(json.loads(asked), streams)
    for stream in streams:
        os.close(stream)
    ended = os.pidfd_open(process)
    if ended not in select.select([client, ended], [], [])[0]:
        os.killpg(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    client.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(asked: dict, streams: list[int]) -> None:
    """Runs `-P -m module arguments`, as a Python of its own would."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    safe, run, module, *arguments = asked["arguments"]
    assert (safe, run) == ("-P", "-m"), asked["arguments"]
    sys.path[:0] = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.argv = [module, *arguments]
    status = 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as ended:
        status = ended.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    listen(sys.argv[1])
