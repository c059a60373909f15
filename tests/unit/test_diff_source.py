"""`kgen.diff.source`: what is one fact stays one, however many lines show it, and nothing else is taken for it."""

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgen.diff.model import Side, SourceDiff
from kgen.diff.pieces import bound, pieces
from kgen.diff.source import compare

HEAD = "import triton\nimport triton.language as tl\n\n\n"
KERNEL = HEAD + '''\
@triton.jit(do_not_specialize=["p_x", "stride"])
def scale_kernel(p_x, p_y, stride, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    """Scales."""
    i = tl.program_id(0)
    o = i * stride + tl.arange(0, BLOCK)
    # a factor
    b = tl.load(p_x + o) * FACTOR
    tl.store(p_y + o, b)


def launch_all(x, y):
    scale_kernel[(x.shape[0],)](x, y, x.stride(0), FACTOR=2, BLOCK=128, num_warps=4)
'''


def side(text: str, manifest=None) -> Side:
    return Side("x", "file", text, manifest)


def changed(text: str, *replacements: tuple[str, str], known=None) -> SourceDiff:
    """What differs after replacing texts, each of which must be there."""
    new = text
    for old, to in replacements:
        assert old in new
        new = new.replace(old, to)
    return compare(side(text), side(new), known or {})


def test_a_file_does_not_differ_from_itself():
    assert compare(side(KERNEL), side(KERNEL)) == SourceDiff(False, False)


def test_a_constant_is_one_fact_for_every_launch_that_passes_it():
    twice = KERNEL + KERNEL[KERNEL.index("def launch_all") :].replace("launch_all", "launch_other")
    found = changed(twice, ("BLOCK=128", "BLOCK=64"))
    (one,) = found.constants
    assert (one.name, one.old, one.new) == ("BLOCK", "128", "64")
    assert [spot.function for spot in one.spots] == ["launch_all", "launch_other"]
    assert found.core_differs and not (found.hunks or found.renames or found.functions)


def test_a_number_that_is_no_name_s_whole_value_stays_a_line():
    found = changed(KERNEL, ("tl.program_id(0)", "tl.program_id(1)"))
    (hunk,) = found.hunks
    assert hunk.removed == ("    i = tl.program_id(0)",)
    assert hunk.added == ("    i = tl.program_id(1)",)
    assert not found.constants


def test_a_number_is_a_key_s_value_where_the_spec_changed_it_so():
    found = changed(
        KERNEL, ("tl.arange(0, BLOCK)", "tl.arange(0, 8)"), known={("128", "64"): {"SIZE"}}
    )
    assert found.hunks
    text = KERNEL.replace("FACTOR=2", "FACTOR=min(128, 2)")
    found = changed(text, ("min(128", "min(64"), known={("128", "64"): {"SIZE"}})
    assert [(one.name, one.old, one.new) for one in found.constants] == [("SIZE", "128", "64")]
    assert not found.hunks


def test_a_constant_hides_no_other_number_that_changed_alike():
    text = KERNEL.replace("i * stride", "i * stride * 2")
    found = changed(text, ("FACTOR=2", "FACTOR=3"), ("stride * 2", "stride * 3"))
    (hunk,) = found.hunks
    assert hunk.added == ("    o = i * stride * 3 + tl.arange(0, BLOCK)",)
    (one,) = found.constants
    assert [spot.function for spot in one.spots] == ["launch_all"]


def test_two_constants_that_swap_are_two_facts():
    found = changed(
        KERNEL, ("FACTOR=2, BLOCK=128", "FACTOR=#, BLOCK=2"), ("FACTOR=#", "FACTOR=128")
    )
    told = {(one.name, one.old, one.new) for one in found.constants}
    assert told == {("FACTOR", "2", "128"), ("BLOCK", "128", "2")} and not found.hunks


def test_a_launch_option_goes_by_the_parameter_that_it_has_the_value_of():
    found = changed(KERNEL, ("num_warps=4", "num_warps=8"), known={("4", "8"): {"NUM_WARPS"}})
    assert [one.name for one in found.constants] == ["NUM_WARPS"]


def test_a_renamed_variable_is_one_fact():
    found = changed(KERNEL, ("b = tl.load", "b_scaled = tl.load"), ("o, b)", "o, b_scaled)"))
    assert [(one.old, one.new, len(one.spots)) for one in found.renames] == [("b", "b_scaled", 2)]
    assert not (found.hunks or found.constants)


def test_a_renamed_parameter_is_one_in_the_kernel_and_where_it_is_passed():
    found = changed(KERNEL, ("FACTOR", "SCALE"))
    (one,) = found.renames
    assert {spot.function for spot in one.spots} == {"scale_kernel", "launch_all"}
    assert not found.hunks


def test_a_renamed_parameter_is_one_also_in_the_list_of_what_is_not_specialised():
    found = changed(KERNEL, ("p_x", "p_in"))
    assert [(one.old, one.new) for one in found.renames] == [("p_x", "p_in")]
    assert not found.hunks


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("p_x + o", "p_y + o"),  # another pointer of the same kernel
        ("tl.load", "tl.store"),  # another function of Triton's
        ("tl.store(p_y + o, b)", "tl.store(p_y + o, i)"),  # another variable
        ("* FACTOR", "* BLOCK"),
    ],
)
def test_another_name_that_means_something_else_is_no_rename(old, new):
    found = changed(KERNEL, (old, new))
    assert found.hunks and not found.renames


def test_a_swap_of_two_names_is_no_rename():
    swapped = KERNEL.replace("p_x + o", "p_Z + o").replace("p_y + o", "p_x + o")
    found = compare(side(KERNEL), side(swapped.replace("p_Z + o", "p_y + o")))
    assert found.hunks and not found.renames


def test_a_variable_that_is_renamed_at_one_place_only_stays_a_line():
    found = changed(KERNEL, ("tl.store(p_y + o, b)", "tl.store(p_y + o, b2)"))
    assert found.hunks and not found.renames


def test_functions_are_found_again_in_another_order_and_under_another_name():
    cut = KERNEL.index("def launch_all")
    moved = HEAD + KERNEL[cut:].rstrip() + "\n\n\n" + KERNEL[len(HEAD) : cut].rstrip() + "\n"
    found = compare(side(KERNEL), side(moved))
    assert found.differs and not found.explained
    found = compare(side(KERNEL), side(moved.replace("scale_kernel", "times_kernel")))
    assert [(one.kind, one.old, one.new) for one in found.functions] == [
        ("renamed", "scale_kernel", "times_kernel")
    ]
    assert not (found.hunks or found.renames)


def test_a_function_that_only_one_side_has_is_named_with_its_length():
    found = compare(side(KERNEL), side(KERNEL + "\n\ndef warmup():\n    return 1\n"))
    assert [(one.kind, one.new, one.lines) for one in found.functions] == [("added", "warmup", 2)]
    found = compare(side(KERNEL + "\n\ndef warmup():\n    return 1\n"), side(KERNEL))
    assert [(one.kind, one.old) for one in found.functions] == [("removed", "warmup")]


def test_a_comment_is_shown_and_is_no_difference_of_the_core():
    found = changed(KERNEL, ("# a factor", "# times a factor"))
    (hunk,) = found.hunks
    assert hunk.comment and not found.core_differs
    assert hunk.removed == ("    # a factor",)


def test_a_docstring_is_no_difference_of_the_core():
    found = changed(KERNEL, ('"""Scales."""', '"""Scales a row."""'))
    assert len(found.hunks) == 1 and not found.core_differs


def test_a_statement_that_moves_into_a_block_differs():
    found = changed(
        KERNEL, ("    tl.store(p_y + o, b)", "    if i > 0:\n        tl.store(p_y + o, b)")
    )
    (hunk,) = found.hunks
    assert hunk.added == ("    if i > 0:", "        tl.store(p_y + o, b)")


def test_a_tuple_of_one_is_not_its_element():
    found = changed(KERNEL, ("(x.shape[0],)", "(x.shape[0])"))
    assert found.core_differs and found.hunks


def test_equal_hunks_of_one_template_line_are_one():
    two = KERNEL + "\n\n" + KERNEL[len(HEAD) :].replace("scale_k", "other_k").replace("_all", "_b")
    origins = [None] * len(two.splitlines())
    for number, line in enumerate(two.splitlines()):
        if "tl.load" in line:
            origins[number] = [0, 17]
    names = ("scale_kernel", "other_kernel")
    manifest = {
        "kernels": {name: {"role": name, "regimes": []} for name in names},
        "entry": "run",
        "regimes": [],
        "templates_index": ["norm/scale/kernel.py.j2"],
        "source_map": origins,
    }
    new = two.replace("* FACTOR", "/ FACTOR")
    (hunk,) = compare(side(two, manifest), side(new, manifest)).hunks
    assert hunk.template == "norm/scale/kernel.py.j2:17"
    assert [spot.function for spot in hunk.spots] == ["scale_kernel", "other_kernel"]
    first, second = compare(side(two), side(new)).hunks
    assert first.template is None


def test_the_hashes_of_the_header_are_no_difference():
    text = f"# spec {'0' * 64}\n{KERNEL}"
    found = compare(side(text), side(text.replace("0" * 64, "1" * 64)))
    assert not found.differs


def committed(root, name: str) -> str:
    return (root / "generated" / name / "submission.py").read_text()


LAYOUTS = [
    lambda text: re.sub(r",\n\s+", ", ", text),  # calls in one line, trailing commas kept
    lambda text: re.sub(r"\n\n+", "\n\n", text),
    lambda text: re.sub(r", (?=\w+=)", ",\n" + " " * 12, text),
]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lines_that_are_wrapped_in_another_way_do_not_differ_word_by_word(root, layout):
    code = "\n".join(
        line for line in committed(root, "norm/rms_odd").splitlines() if "#" not in line
    )
    wrapped = layout(code)
    assert ast.dump(ast.parse(wrapped)) == ast.dump(ast.parse(code)) and wrapped != code
    found = compare(side(code), side(wrapped))
    assert found.differs and not found.explained and not found.core_differs


@settings(max_examples=25)
@given(data=st.data())
def test_any_fresh_name_for_a_name_of_the_file_is_a_rename_and_nothing_else(data):
    names = sorted(bound(KERNEL) - {"num_warps", "launch_all", "scale_kernel"})
    old = data.draw(st.sampled_from(names))
    new = data.draw(st.from_regex(r"[a-z]_[a-z]{3,8}", fullmatch=True).filter(_fresh))
    renamed = re.sub(rf"(?<!\.)\b{old}\b", new, KERNEL)
    found = compare(side(KERNEL), side(renamed))
    assert not found.hunks and not found.constants
    assert {(one.old, one.new) for one in found.renames} == {(old, new)}


def _fresh(name: str) -> bool:
    return name not in KERNEL


@settings(max_examples=40)
@given(st.lists(st.integers(0, len(KERNEL.splitlines()) - 1), max_size=3, unique=True))
def test_a_core_that_differs_is_always_shown(lines):
    """Deleting whole lines either leaves no Python, or a difference that is shown."""
    kept = [line for at, line in enumerate(KERNEL.splitlines(), 0) if at not in lines]
    text = "\n".join(kept) + "\n"
    try:
        ast.parse(text)
    except SyntaxError:
        return
    found = compare(side(KERNEL), side(text))
    assert found.explained or not found.core_differs


WORDS = re.findall(r"[A-Za-z_]\w*|\d+|\S", KERNEL[len(HEAD) :])


@settings(max_examples=60)
@given(st.data())
def test_another_word_anywhere_is_shown_where_it_changes_the_core(data):
    at = data.draw(st.integers(0, len(WORDS) - 1))
    word = data.draw(st.sampled_from(sorted(set(WORDS))))
    spans = list(re.finditer(r"[A-Za-z_]\w*|\d+|\S", KERNEL))[-len(WORDS) :]
    text = KERNEL[: spans[at].start()] + word + KERNEL[spans[at].end() :]
    try:
        ast.parse(text)
    except SyntaxError:
        return
    found = compare(side(KERNEL), side(text))
    assert found.explained or not found.core_differs


def test_pieces_hold_every_word_of_the_file(root):
    text = committed(root, "attention/gqa8_fp8_page64")
    words = {word for piece in pieces(text) for _, word in piece.words}
    assert bound(text) <= words


def described(text: str, **roles: str) -> Side:
    """A file whose manifest gives these roles to its kernels."""
    kernels = {name: {"role": role, "regimes": ["rows"]} for name, role in roles.items()}
    origins = {"templates_index": [], "source_map": [None] * text.count("\n")}
    return side(text, {"kernels": kernels, "entry": "run", "regimes": [], **origins})


def kernel(name: str, *body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body)
    return f"@triton.jit\ndef {name}(p_x, p_y, N: tl.constexpr):\n{lines}\n\n"


PLAIN = ("o = tl.arange(0, N)", "b = tl.load(p_x + o)", "tl.store(p_y + o, b)")
MASKED = (
    "o = tl.arange(0, N)",
    "m = o < 5",
    "b = tl.load(p_x + o, mask=m)",
    "tl.store(p_y + o, b)",
)


def test_a_name_that_passed_on_to_another_kernel_of_the_role_does_not_decide():
    a = HEAD + kernel("split_kernel", *PLAIN) + kernel("split_window_kernel", *MASKED)
    b = HEAD + kernel("split_kernel", *MASKED)
    found = compare(
        described(a, split_kernel="split", split_window_kernel="split"),
        described(b, split_kernel="split"),
    )
    assert [(one.kind, one.old, one.new) for one in found.functions] == [
        ("renamed", "split_window_kernel", "split_kernel"),
        ("removed", "split_kernel", ""),
    ]
    assert not found.hunks


def test_kernels_of_two_roles_are_two_however_they_are_called():
    a = described(HEAD + kernel("one_kernel", *PLAIN), one_kernel="split")
    b = described(HEAD + kernel("one_kernel", "tl.store(p_y, N)"), one_kernel="combine")
    kinds = [(one.kind, one.what) for one in compare(a, b).functions]
    assert kinds == [("removed", "kernel of role split"), ("added", "kernel of role combine")]
