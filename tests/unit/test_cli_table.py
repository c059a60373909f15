"""Tables of the command line."""

from __future__ import annotations

from kgen.cli.table import table


def test_text_stands_left_numbers_right_and_what_is_unknown_is_a_dash():
    rows = [("decode", 1024, 0.5), ("combine_parts", 7, None)]
    assert list(table(("kernel", "bytes", "seconds"), rows)) == [
        "kernel         bytes  seconds",
        "decode         1,024     0.50",
        "combine_parts      7        -",
    ]


def test_a_column_of_unknown_values_is_text():
    assert list(table(("kernel", "spill"), [("a", None)])) == ["kernel  spill", "a       -"]


def test_no_rows_give_the_header_alone():
    assert list(table(("kernel", "spill"), [])) == ["kernel  spill"]
