"""Expressions of the prover as a person reads them."""

from __future__ import annotations

import pytest

from kgen.prove.wording import worded


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "the coordinate where(split.turn.84.1023 >= 1, block_table[split.b*block_table.stride(0) + "
            "lane0_128 + 128*split.turn.84.1023], 0) is no entry",
            "the coordinate where(split.turn >= 1, block_table[…], 0) is no entry",
        ),
        ("1024*row.turn.11.3 + lane0_1024 <= 4095", "1024*row.turn + lane <= 4095"),
        (
            "a.turn.1.3 + a.turn.2.9 + a.turn.1.3 + lane0_8 + lane1_64",
            "a.turn + a.turn2 + a.turn + lane + lane2",
        ),
        ("page = <split: arith.ori in line 145 1456> >= 0", "page = <arith.ori in line 145> >= 0"),
        ("max(0, min(CAP, seq_lens[b]))", "max(0, min(CAP, seq_lens[b]))"),
        (
            "neither of x >= 0, given " + "y >= 0 and " * 9 + "z >= 1 in 60 steps and 60 tries",
            "neither of x >= 0, given what leads there, in 60 steps and 60 tries",
        ),
        (
            "x >= 0, given " + "y >= 0 and " * 9 + "z >= 1 is false at N = 1, y = 2",
            "x >= 0, given what leads there, is false at N = 1, y = 2",
        ),
        (
            "program (0, 0, 0) writes x (elements 1 x 1, strides 8, 1; and so on and on and on)",
            "program (0, 0, 0) writes x (elements 1 x 1, strides 8, 1; and so on and on and on)",
        ),
        ("a bracket( that is never closed, however long it goes on", None),
    ],
)
def test_names_that_only_the_prover_needs_and_what_nobody_reads_are_left_out(text, said):
    assert worded(text) == (text if said is None else said)
