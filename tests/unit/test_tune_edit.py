"""Edits of a YAML text: what changes, and that nothing else does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.tune.edit import Copy, Drop, EditError, Note, Put, data, edited

FLOW = """\
kgen: 1   # the format
regimes:
  - {name: decode, when: Q == 1, variant: split_k, tile: {BLOCK_N: 128},   # the hot one
     splits: {waves: 1, min_chunk: 256}, launch: {num_warps: 8}}
  # whatever is left
  - {name: rest, when: otherwise, fallback: generic}
devices: [h200]
"""
BLOCK = """\
regimes:
  - name: decode
    tile:
      BLOCK_N: 128  # keys a turn
    launch:
      num_warps: 8

      # stages of the pipeline
      num_stages: 3
  - name: rest
"""
WARPS = ("regimes", 0, "launch", "num_warps")


def test_a_value_changes_and_no_other_byte():
    assert edited(FLOW, [Put(WARPS, 4)]) == FLOW.replace("num_warps: 8", "num_warps: 4")
    assert edited(BLOCK, [Put(WARPS, 4)]) == BLOCK.replace("num_warps: 8", "num_warps: 4")


def test_a_key_is_added_in_the_layout_of_its_mapping():
    added = Put(("regimes", 0, "launch", "maxnreg"), 96)
    assert "launch: {num_warps: 8, maxnreg: 96}}" in edited(FLOW, [added])
    assert "      num_stages: 3\n      maxnreg: 96\n  - name: rest" in edited(BLOCK, [added])
    keys = Put(("regimes", 0, "tile", "BLOCK_D"), 64)
    assert "      BLOCK_N: 128  # keys a turn\n      BLOCK_D: 64\n" in edited(BLOCK, [keys])


def test_a_section_is_added_with_its_first_key():
    one = edited(
        FLOW, [Put(("regimes", 0, "extra", "a"), 1), Put(("regimes", 0, "extra", "b"), True)]
    )
    assert "launch: {num_warps: 8}, extra: {a: 1, b: true}}" in one
    assert "    extra: {a: 1}\n  - name: rest" in edited(
        BLOCK, [Put(("regimes", 0, "extra", "a"), 1)]
    )


def test_a_key_goes_with_its_value():
    assert "splits: {min_chunk: 256}" in edited(FLOW, [Drop(("regimes", 0, "splits", "waves"))])
    assert "splits: {waves: 1}" in edited(FLOW, [Drop(("regimes", 0, "splits", "min_chunk"))])
    dropped = edited(BLOCK, [Drop(("regimes", 0, "launch", "num_stages"))])
    assert dropped == BLOCK.replace("      num_stages: 3\n", "")


def test_a_comment_stands_above_the_regime_and_takes_the_place_of_the_last_one():
    once = edited(FLOW, [Note(("regimes", 0), "tuned ", "a1")])
    assert once == FLOW.replace("  - {name: decode", "  # tuned a1\n  - {name: decode")
    assert edited(once, [Note(("regimes", 0), "tuned ", "b2")]) == once.replace("a1", "b2")


def test_an_item_is_copied_without_the_comment_behind_it():
    twice = edited(FLOW, [Copy(("regimes", 0)), Put(("regimes", 0, "name"), "first")])
    item = FLOW[FLOW.index("  - {name: decode") : FLOW.index("  # whatever")]
    assert twice == FLOW.replace(item, item.replace("decode", "first") + item)
    assert data(edited(BLOCK, [Copy(("regimes", 0))]))["regimes"][0]["tile"] == {"BLOCK_N": 128}
    with pytest.raises(EditError, match="does not begin a line of its own"):
        edited("regimes: [{name: a}]", [Copy(("regimes", 0))])


def test_a_text_that_needs_quotes_gets_them():
    when = Put(("regimes", 0, "when"), "min(Q, B) == 1")
    assert "when: 'min(Q, B) == 1', variant" in edited(FLOW, [when])
    assert "when: Q == 1 and B <= 8, variant" in edited(
        FLOW, [Put(("regimes", 0, "when"), "Q == 1 and B <= 8")]
    )


def test_what_is_not_there_is_told():
    with pytest.raises(EditError, match="there is no regimes.7"):
        edited(FLOW, [Put(("regimes", 7, "name"), "x")])
    with pytest.raises(EditError, match="there is no regimes.0.tile.BLOCK_M"):
        edited(FLOW, [Drop(("regimes", 0, "tile", "BLOCK_M"))])
    with pytest.raises(EditError, match="kgen is no mapping and has no x"):
        edited(FLOW, [Put(("kgen", "x"), 1)])
    with pytest.raises(EditError, match="the text is no YAML: "):
        edited("a: [1", [])


def test_a_text_that_would_read_otherwise_is_refused():
    shared = "regimes:\n  - &one {launch: {num_warps: 8}}\n  - *one\n"
    with pytest.raises(EditError, match="does not read as the old one"):
        edited(shared, [Put(WARPS, 4)])


NAMES = st.sampled_from(["BLOCK_N", "num_warps", "waves", "aligned"])
VALUES = st.one_of(st.integers(0, 512), st.booleans())
SECTIONS = st.dictionaries(NAMES, VALUES, min_size=1)
COMMENTS = st.sampled_from(["", "  # why", "  # a: b, {c}"])


@st.composite
def texts(draw) -> str:
    """A spec's regimes in either layout, with comments anywhere."""
    lines = ["# head"]
    for section in draw(st.lists(SECTIONS, min_size=1, max_size=3)):
        pairs = [f"{key}: {str(value).lower()}" for key, value in section.items()]
        if draw(st.booleans()):
            lines.append(f"- {{tile: {{{', '.join(pairs)}}}, when: Q == 1}}{draw(COMMENTS)}")
        else:
            lines.append(f"- when: Q == 1{draw(COMMENTS)}")
            lines.append(f"  tile:{draw(COMMENTS)}")
            for pair in pairs:
                lines += [
                    f"    {pair}{draw(COMMENTS)}",
                    *draw(st.sampled_from([[], [""], ["    # x"]])),
                ]
        lines += draw(st.sampled_from([[], ["# between"]]))
    return "\n".join(lines) + draw(st.sampled_from(["", "\n"]))


@settings(max_examples=50)
@given(texts(), NAMES, VALUES, st.data())
def test_comments_and_all_other_lines_are_kept(text, name, value, drawn):
    index = drawn.draw(st.integers(0, len(data(text)) - 1))
    changed = edited(text, [Put((index, "tile", name), value), Note((index,), "tuned ", "id")])
    assert data(changed)[index]["tile"][name] == value
    left = changed.replace("# tuned id\n", "", 1).split("\n")
    before = text.split("\n")
    # at most one line differs or was added, and every comment is there
    assert len(set(left) - set(before)) <= 1 and len(left) - len(before) in (0, 1)
    assert re.findall("#.*", "\n".join(left)) == re.findall("#.*", text)
    others = [one for number, one in enumerate(data(changed)) if number != index]
    assert others == [one for number, one in enumerate(data(text)) if number != index]


@settings(max_examples=50)
@given(texts(), st.data())
def test_what_is_added_and_dropped_again_leaves_the_text_as_it_was(text, drawn):
    index = drawn.draw(st.integers(0, len(data(text)) - 1))
    path = (index, "tile", "new")
    assert edited(edited(text, [Put(path, 1)]), [Drop(path)]).rstrip("\n") == text.rstrip("\n")
