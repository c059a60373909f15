"""Documents on top of documents: `extends`, and overrides as `--set` gives them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.spec import load
from kgen.spec.overrides import override_name

BASES = Path(__file__).with_name("cases") / "base"
BASE = BASES / "attention.yaml"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def said(path: Path, *overrides: str) -> list[str]:
    """Everything that is wrong, without sources and hints."""
    with pytest.raises(KgenError) as caught:
        load(path, overrides)
    return [f"{problem.place}: {problem.message}" for problem in caught.value.diagnostics]


@pytest.fixture
def child(tmp_path):
    """A writer of specs that extend the base."""

    def make(text: str) -> Path:
        return write(tmp_path, "child.yaml", f"extends: {os.path.relpath(BASE, tmp_path)}\n" + text)

    return make


def test_mappings_are_merged_and_lists_replaced(child):
    spec = load(child("masking: {sinks: true}\naxes: {B: {doc: more}}\ntargets: [sm_100]\n"))
    assert spec.document.masking.sinks and spec.document.masking.causal
    assert spec.document.axes["B"].doc == "more" and spec.document.axes["B"].range == (1, 256)
    assert spec.document.targets == ("sm_100",)


def test_a_value_keeps_the_file_it_was_written_in(child):
    path = child("masking: {sinks: true}\n")
    spec = load(path)
    assert spec.place("masking", "sinks").file == str(path)
    assert Path(spec.place("masking", "causal").file).resolve() == BASE.resolve()
    causal = spec.diagnostic("KG999", "no", "masking", "causal")
    assert causal.source == "masking: {causal: true, window: WINDOW}"


def test_another_domain_replaces_the_one_that_was_there(child):
    spec = load(child("axes:\n  Q: {const: 1}\n"))
    assert spec.axes["Q"].const == 1 and spec.axes["Q"].values is None


def test_files_extend_one_another_in_a_row(tmp_path, child):
    child("name: first\njudge: first\n")
    write(tmp_path, "deep/second.yaml", "extends: ../child.yaml\nname: second\n")
    spec = load(tmp_path / "deep/second.yaml")
    assert (spec.document.name, spec.document.judge) == ("second", "first")


def test_the_hash_is_that_of_the_resolved_document(child, tmp_path):
    same = write(tmp_path, "same.yaml", BASE.read_text())
    assert load(child("")).sha256 == load(same).sha256
    assert load(child("name: other\n")).sha256 != load(same).sha256


def test_a_directory_cannot_be_extended(tmp_path):
    (tmp_path / "folder.yaml").mkdir()
    path = write(tmp_path, "spec.yaml", "extends: folder.yaml\n")
    assert said(path) == [
        f"{path}:1:10: `{tmp_path}/folder.yaml`, which this spec extends: "
        "the file cannot be read: it is a directory"
    ]


def test_a_file_that_is_reached_by_a_link_is_still_the_same(tmp_path):
    path = write(tmp_path, "spec.yaml", "extends: link.yaml\n")
    (tmp_path / "link.yaml").symlink_to(path)
    assert said(path) == [f"{path}:1:10: this file extends itself"]


@pytest.mark.parametrize(
    ("change", "read"),
    [
        ("regimes.decode.tile.BLOCK_N=64", lambda d: d.regimes[0].tile["BLOCK_N"] == 64),
        ("regimes.0.tile.BLOCK_N=64", lambda d: d.regimes[0].tile["BLOCK_N"] == 64),
        ("regimes.decode.tile.BLOCK_N='64'", lambda d: d.regimes[0].tile["BLOCK_N"] == "64"),
        ("regimes.decode.splits.waves=2", lambda d: d.regimes[0].splits == {"waves": 2}),
        ("regimes.decode.when=Q == 1 and B < 9", lambda d: d.regimes[0].when == "Q == 1 and B < 9"),
        ("regimes.1.fallback=torch", lambda d: d.regimes[1].fallback == "torch"),
        ("limits.registers=128", lambda d: d.limits.registers == 128),
        ("masking.window=none", lambda d: d.masking.window is None),
        ("axes.B={const: 4}", lambda d: d.axes["B"].const == 4),
        ("axes.Q.const=1", lambda d: d.axes["Q"].values is None),
        ("sweep.decode.tile.BLOCK_N=[16]", lambda d: d.sweep["decode"]["tile.BLOCK_N"] == (16,)),
        ("workloads.check.0.B=7", lambda d: d.workloads.check[0]["B"] == 7),
        ("targets=[sm_90, sm_100]", lambda d: d.targets == ("sm_90", "sm_100")),
        ("doc=a = b", lambda d: d.doc == "a = b"),
    ],
)
def test_an_override_replaces_or_adds_one_value(change, read):
    assert not read(load(BASE).document)
    overrides = [change, "workloads.check=[]"] if change.startswith("axes.B") else [change]
    assert read(load(BASE, overrides).document)


def test_a_fallback_takes_the_variant_and_its_parameters_away():
    spec = load(BASE, ["regimes.decode.fallback=generic", "sweep={}"])
    assert spec.document.regimes[0].variant is None and spec.document.regimes[0].tile == {}


def test_a_later_override_wins():
    assert load(BASE, ["name=first", "name=second"]).document.name == "second"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("name", "1:1: this is not of the form `key.path=value`"),
        ("=1", "1:1: this is not of the form `key.path=value`"),
        ("a..b=1", "1:1: this is not of the form `key.path=value`"),
        ("a.b\x1b=1", "1:1: this is not of the form `key.path=value`"),
        (".".join("a" * 50) + "=1", "1:1: this is not of the form `key.path=value`"),
        ("name=", "1:6: there is no value behind `=`"),
        ("name=[a", "1:6: the list opened with `[` is not closed, or a comma is missing"),
        ("name=!x a", "1:6: the tag `!x`: a spec is data and has no tags"),
        ("regimes.decod.when=true", "1:9: `regimes` has no item `decod`"),
        ("regimes.9.when=true", "1:9: `regimes` has no item `9`"),
        ("name.first=a", "1:6: `name` is a value and has no `first`"),
        ("nme=a", "1:1: unknown key `nme`"),
        ("a.b.c=1", "1:1: unknown key `a`"),
        ("masking.windw=none", "1:9: unknown key `windw` in `masking`"),
        (
            "regimes.decode.tile.BLOCK_N=3.0",
            "1:29: a parameter is an integer, `true`, `false` or a word, not the real 3.0",
        ),
        ("regimes.decode.when=Q = 1", "1:23: `=` assigns; it compares nothing"),
        ("axes.B.range=[2, 1]", "1:14: the range of `B` is empty: 2 is above 1"),
        ("extends=other.yaml", "1:1: unknown key `extends`"),
    ],
)
def test_a_bad_override_is_placed_in_the_override(change, message):
    assert f"{override_name(1)}:{message}" in said(BASE, change)


def test_the_hint_of_an_unknown_item_names_the_nearest():
    with pytest.raises(KgenError) as caught:
        load(BASE, ["name=ok", "regimes.decod.when=true"])
    assert str(caught.value) == (
        "<--set 2>:1:9: KG118: `regimes` has no item `decod`\n"
        "  1 | regimes.decod.when=true\n"
        "    |         ^^^^^\n"
        "  help: did you mean `decode`? items: `decode`, `rest`"
    )
