"""JSON files under two writers, crashes and damage."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from kgen.compile import storage
from kgen.compile.storage import read_json, write_json


def test_what_was_written_is_read(tmp_path):
    value = {"b": [1, 2.5, None, True], "a": "∀"}
    write_json(tmp_path / "deep" / "file.json", value)
    assert read_json(tmp_path / "deep" / "file.json") == value


def test_no_file_reads_as_none(tmp_path):
    assert read_json(tmp_path / "file.json") is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: body[: len(body) // 2],
        lambda body: b"",
        lambda body: b"\xff\x00" + body,
        lambda body: body.replace(b"96", b"32"),
        lambda body: b"[1, 2]",
        lambda body: b'{"body": 96}',
    ],
)
def test_damage_reads_as_none(tmp_path, damage):
    path = tmp_path / "file.json"
    write_json(path, {"registers": 96})
    path.write_bytes(damage(path.read_bytes()))
    assert read_json(path) is None


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    write_json(path, 1)

    def fail(source, destination):
        raise OSError("disk full")

    monkeypatch.setattr(storage.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_json(path, 2)
    assert read_json(path) == 1
    assert list(tmp_path.iterdir()) == [path]


def write_often(path: Path, value: str) -> None:
    for _ in range(200):
        write_json(path, value)


def test_a_reader_beside_two_writers_sees_only_whole_values(tmp_path):
    path = tmp_path / "file.json"
    values = ["a" * 20000, "b" * 30000]
    write_json(path, values[0])
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=write_often, args=(path, value)) for value in values]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        seen.add(read_json(path))
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen and seen <= set(values)
    assert list(tmp_path.iterdir()) == [path]
