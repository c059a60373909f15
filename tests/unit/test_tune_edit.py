"""Edits of a YAML text: what changes, and that nothing else does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.tune.edit import Copy, Drop, Note, Put, edited
from kgen.tune.nodes import EditError, data

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
TUNED = r"tuned \w\w"
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
    once = edited(FLOW, [Note(("regimes", 0), "tuned a1", TUNED)])
    assert once == FLOW.replace("  - {name: decode", "  # tuned a1\n  - {name: decode")
    assert edited(once, [Note(("regimes", 0), "tuned b2", TUNED)]) == once.replace("a1", "b2")


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
    with pytest.raises(EditError, match="ruamel.yaml cannot read it: "):
        edited("a: [1", [])


def test_a_text_that_would_read_otherwise_is_refused():
    shared = "regimes:\n  - &one {launch: {num_warps: 8}}\n  - *one\n"
    with pytest.raises(EditError, match="does not read as the old one"):
        edited(shared, [Put(WARPS, 4)])


def test_lines_end_as_those_of_the_text():
    changes = [
        *(Copy(("regimes", 0)), Put(("regimes", 0, "name"), "first")),
        *(Put(("regimes", 0, "tile", "BLOCK_D"), 64), Drop(("regimes", 1, "launch", "num_warps"))),
        Note(("regimes", 1), "tuned a1", TUNED),
    ]
    for text in (FLOW, BLOCK):
        windows = edited(text.replace("\n", "\r\n"), changes)
        assert windows == edited(text, changes).replace("\n", "\r\n")


def test_a_value_that_stands_there_keeps_its_quotes():
    for value in ("'Q == 1'", '"Q == 1"', "Q  ==\n    1"):
        text = FLOW.replace("Q == 1", value)
        when = data(text)["regimes"][0]["when"]
        assert edited(text, [Put(("regimes", 0, "when"), when)]) == text


@pytest.mark.parametrize("style", [">-\n      Q\n      == 1\n", "|\n      Q == 1\n\n"])
def test_a_block_of_text_gives_way_to_a_value(style):
    text = BLOCK.replace("    tile:", f"    when: {style}    # keys\n    tile:")
    changed = edited(text, [Put(("regimes", 0, "when"), "B == 1")])
    assert changed == BLOCK.replace(
        "    tile:", f"    when: B == 1\n{'' if '>' in style else chr(10)}    # keys\n    tile:"
    )


def test_a_tab_before_a_comment_is_kept():
    text = BLOCK.replace("  # keys", "\t#\tkeys")
    assert edited(text, [Put(WARPS, 4)]) == text.replace("num_warps: 8", "num_warps: 4")


def test_an_anchor_that_is_copied_says_nothing(recwarn):
    text = FLOW.replace("launch: {", "launch: &own {")
    assert edited(text, [Copy(("regimes", 0))]).count("&own {num_warps: 8}") == 2
    assert not recwarn.list


def test_comments_of_others_stay_and_all_old_ones_go():
    above = "  # tuned a1\n  # why\n  # tuned by hand\n  # tuned b2\n"
    text = FLOW.replace("  - {name: decode", above + "  - {name: decode")
    changed = edited(text, [Note(("regimes", 0), "tuned c3", TUNED)])
    left = "  # why\n  # tuned by hand\n  # tuned c3\n"
    assert changed == FLOW.replace("  - {name: decode", left + "  - {name: decode")


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
    changed = edited(text, [Put((index, "tile", name), value), Note((index,), "tuned id", TUNED)])
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
