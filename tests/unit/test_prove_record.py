"""Kept verdicts: found again for the same core, with lines where they are now, and for nothing else."""

from __future__ import annotations

from kgen.prove.record import find, keep, record_key

TEXT = '"""Doc."""\nX = 1\n\n\ndef f(a):\n    """Doc of f."""\n    return a + X\n'
COMMENTED = (
    '"""Doc."""\n\n# more\nX = 1\n\n\ndef f(a):\n    """Doc of f."""\n    # why\n    return a + X\n'
)
VERDICTS = {
    "obligations": [
        {"line": 7, "says": "it holds", "evidence": "by the load in line 7"},
        {"line": 2, "says": "several statements do it, in lines 2, 7", "evidence": "line 99"},
    ],
    "masks": [{"line": 0, "says": "line 7 in 7 steps"}],
}


def test_a_key_tells_every_input_apart():
    keys = {
        record_key(TEXT, "a", "b"),
        record_key(TEXT, "ab", ""),
        record_key(TEXT, "a", "b", ""),
        record_key(TEXT.replace("a + X", "a - X"), "a", "b"),
    }
    assert len(keys) == 4


def test_comments_and_docstrings_do_not_matter(tmp_path):
    assert record_key(TEXT, "a") == record_key(COMMENTED, "a")


def test_what_was_kept_is_found(tmp_path):
    keep(tmp_path, "key", TEXT, VERDICTS)
    assert find(tmp_path, "key", TEXT) == VERDICTS
    assert find(tmp_path, "other", TEXT) is None


def test_lines_move_with_their_statements(tmp_path):
    keep(tmp_path, "key", TEXT, VERDICTS)
    found = find(tmp_path, "key", COMMENTED)
    first, second = found["obligations"]
    assert first == {"line": 10, "says": "it holds", "evidence": "by the load in line 10"}
    assert second["line"] == 4 and second["says"] == "several statements do it, in lines 4, 10"
    assert second["evidence"] == "line 99"
    assert found["masks"] == [{"line": 0, "says": "line 10 in 7 steps"}]


def test_a_spoiled_record_is_none(tmp_path):
    (tmp_path / "key.json").write_text("{")
    assert find(tmp_path, "key", TEXT) is None
