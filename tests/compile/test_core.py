"""Which text a kernel consists of, and lines that survive moved comments."""

from __future__ import annotations

import pytest

from kgen.compile.core import Core

FILE = '''"""A generated file."""

import math
import os

import torch
import triton
import triton.language as tl

LIMIT = int(os.environ.get("LIMIT", "8"))
SCALE = tl.constexpr(2.0)
UNUSED = 3


@triton.jit
def helper(x):
    """Scales."""
    return x * SCALE


@triton.jit
def kernel(p_x):
    # a comment
    tl.store(p_x, helper(tl.load(p_x)))


@triton.jit
def other(p_x):
    tl.store(p_x, 1)


def run(x):
    kernel[(LIMIT,)](x)
'''


def text(file: str, function: str = "kernel") -> str:
    return Core(file, function).text


def test_a_core_is_the_function_and_what_it_uses_in_the_files_order():
    lines = text(FILE).splitlines()
    assert lines[:3] == [
        "import triton",
        "import triton.language as tl",
        "SCALE = tl.constexpr(2.0)",
    ]
    assert [line for line in lines if line.startswith("def ")] == [
        "def helper(x):",
        "def kernel(p_x):",
    ]
    assert "UNUSED" not in text(FILE)


@pytest.mark.parametrize(
    "old, new",
    [
        ("    # a comment\n", "    # another\n\n    # and more\n"),
        ('    """Scales."""\n', ""),
        ('"""A generated file."""', '"""Another header."""'),
        ("UNUSED = 3", "UNUSED = 4"),
        ("tl.store(p_x, 1)", "tl.store(p_x, 2)"),
        (
            "tl.store(p_x, helper(tl.load(p_x)))",
            "tl.store(\n        p_x,\n        helper(tl.load(p_x)),\n    )",
        ),
    ],
)
def test_comments_layout_and_other_definitions_leave_the_core_alone(old, new):
    assert old in FILE
    assert text(FILE.replace(old, new)) == text(FILE)


@pytest.mark.parametrize(
    "old, new",
    [
        ("SCALE = tl.constexpr(2.0)", "SCALE = tl.constexpr(3.0)"),
        ("return x * SCALE", "return x + SCALE"),
        ("def kernel(p_x):", "def kernel(p_x: tl.int64):"),
        ("@triton.jit\ndef kernel", '@triton.jit(do_not_specialize=["p_x"])\ndef kernel'),
        ("import triton.language as tl", "import triton.language.extra as tl"),
        ("SCALE = tl.constexpr(2.0)", "if LIMIT:\n    SCALE = tl.constexpr(2.0)"),
    ],
)
def test_whatever_the_kernel_uses_changes_the_core(old, new):
    assert old in FILE
    assert text(FILE.replace(old, new)) != text(FILE)


def test_a_kernel_that_reads_the_environment_or_another_file_is_not_self_contained():
    assert Core(FILE, "kernel").self_contained
    assert not Core(
        FILE.replace("tl.constexpr(2.0)", "tl.constexpr(LIMIT)"), "kernel"
    ).self_contained
    imported = FILE.replace("SCALE = tl.constexpr(2.0)", "from .sizes import SCALE")
    assert not Core(imported, "kernel").self_contained


@pytest.mark.parametrize(
    "binding",
    [
        "try:\n    from fast import SCALE\nexcept ImportError:\n    SCALE = 1",
        "for SCALE in (1, 2):\n    pass",
        "SCALE: int = 1",
        "(SCALE, OTHER) = 1, 2",
        "with open('x') as SCALE:\n    pass",
    ],
)
def test_names_bound_by_any_top_level_statement_belong_to_the_core(binding):
    assert text(FILE.replace("SCALE = tl.constexpr(2.0)", binding)).count("SCALE") >= 2


def test_a_missing_function_and_a_broken_file_are_told_apart():
    with pytest.raises(LookupError, match="the file defines no attend"):
        Core(FILE, "attend")
    with pytest.raises(SyntaxError):
        Core("def kernel(:", "kernel")


def test_a_line_is_found_again_after_comments_moved_it():
    line = FILE.splitlines().index("    return x * SCALE") + 1
    spot = Core(FILE, "kernel").spot(line)
    moved = FILE.replace('    """Scales."""\n', "").replace(
        "UNUSED", "# one\n# two\n# three\nUNUSED"
    )
    assert moved.splitlines()[Core(moved, "kernel").line(spot) - 1] == "    return x * SCALE"


def test_a_line_outside_the_core_has_no_spot():
    assert Core(FILE, "kernel").spot(FILE.splitlines().index("UNUSED = 3") + 1) is None
