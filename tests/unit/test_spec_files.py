"""Files that cannot be read, and text that is no YAML document."""

from __future__ import annotations

import os

import pytest

from kgen.diagnostics import KgenError
from kgen.spec import load, loads
from kgen.spec.nodes import plain
from kgen.spec.reader import read


def refused(path) -> str:
    with pytest.raises(KgenError) as caught:
        load(path)
    return str(caught.value)


def test_a_missing_file(tmp_path):
    path = tmp_path / "no.yaml"
    assert refused(path) == f"{path}: KG101: the file cannot be read: there is no such file"


def test_a_directory(tmp_path):
    assert refused(tmp_path) == f"{tmp_path}: KG101: the file cannot be read: it is a directory"


def test_a_device():
    expected = "/dev/null: KG101: the file cannot be read: it is a device or a pipe"
    assert refused("/dev/null") == expected


def test_a_loop_of_links(tmp_path):
    path = tmp_path / "loop.yaml"
    path.symlink_to(path)
    assert refused(path).startswith(f"{path}: KG101: the file cannot be read: ")
    (tmp_path / "spec.yaml").write_text("extends: loop.yaml\n")
    assert "which this spec extends: the file cannot be read" in refused(tmp_path / "spec.yaml")


def test_a_name_that_no_file_can_have():
    assert "KG101: the file cannot be read: no file can have this name" in refused("a\0b.yaml")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "secret.yaml"
    path.write_text("kgen: 1\n")
    path.chmod(0)
    assert refused(path) == f"{path}: KG101: the file cannot be read: it may not be read by you"


def test_a_binary_file(tmp_path):
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"kgen: 1\n\x7fELF\xd0\xff")
    assert refused(path) == (
        f"{path}: KG103: the file is not UTF-8 text: byte 0xd0 in line 2\n"
        "  help: a spec is YAML text; save it as UTF-8"
    )


def test_a_file_in_utf_16(tmp_path):
    path = tmp_path / "wide.yaml"
    path.write_text("kgen: 1\n", encoding="utf-16")
    assert "KG103: the file is not UTF-8 text: byte 0xff in line 1" in refused(path)


def test_a_file_of_more_than_a_mebibyte(tmp_path):
    path = tmp_path / "large.yaml"
    path.write_text("# " + "x" * 2**20)
    assert refused(path) == (
        f"{path}: KG102: the file has 1048578 bytes; a spec may have 1048576\n"
        "  help: a spec is one kernel configuration; split it, and share parts with `extends`"
    )


def test_text_with_half_a_character():
    with pytest.raises(KgenError) as caught:
        loads("kgen: 1\nname: \ud800", "s.yaml")
    assert str(caught.value) == (
        "s.yaml:2:1: KG103: the text is not Unicode: a lone surrogate U+D800"
    )


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path, root):
    text = (root / "specs/attention/gqa8_fp8_page1.yaml").read_text()
    path = tmp_path / "bom.yaml"
    path.write_text(text, encoding="utf-8-sig")
    assert load(path).document.name == "gqa8_fp8_page1"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-12", -12),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("1e3", 1000.0),
        ("-.5", -0.5),
        ("1.", 1.0),
        (".inf", float("inf")),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("2026-01-01", "2026-01-01"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("=", "="),
        ("none", "none"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, value):
    found = plain(read(f"key: {text}", "s.yaml"))["key"]
    assert found == value and type(found) is type(value)


def test_an_alias_stands_for_its_value():
    assert plain(read("a: &x [1, {b: c}]\nd: *x\n", "s.yaml")) == {
        "a": (1, {"b": "c"}),
        "d": (1, {"b": "c"}),
    }
