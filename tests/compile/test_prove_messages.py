"""What is said of open statements, to the letter: the statement, the line, the template's line, the place in the spec."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SPEC = "specs/norm/rms_4096.yaml"
FILE = "generated/norm/rms_4096/submission.py"
LOAD = "tl.load(p_x + i_t * stride_x_t + o_h)"
ROWS = "  - {name: rows, when: T <= 65536, variant: rms, launch: {num_warps: 8}}"


@pytest.fixture
def told(kgen, root, tmp_path, monkeypatch):
    """What `kgen prove` says on stderr of the file after an edit, and the path of the file."""
    monkeypatch.chdir(root)

    def tell(old: str, new: str) -> tuple[list[str], str]:
        text = (root / FILE).read_text()
        assert text.count(old) == 1
        path = tmp_path / "submission.py"
        path.write_text(text.replace(old, new))
        found = kgen("prove", path, "--spec", SPEC)
        assert found.code == 1
        return found.err.splitlines(), str(path)

    return tell


def finding(lines: list[str], code: str, says: str) -> tuple[str, list[str]]:
    """The one finding of that code with that text, and the lines below it."""
    (number,) = [n for n, line in enumerate(lines) if f": {code}: " in line and says in line]
    return lines[number], lines[number + 1 : number + 4]


def line_of(path: str, text: str) -> int:
    lines = Path(path).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


def template_line(root, name: str, text: str) -> int:
    return line_of(str(root / "templates" / name), text)


ROWS_PLACE = f"{SPEC}:13:5"
CARET = [f"  13 | {ROWS}", "     |     ^"]


def test_a_refuted_kernel_names_file_template_spec_and_values(told, root):
    lines, path = told(LOAD, LOAD.replace("o_h", "o_h + 1"))
    first, below = finding(lines, "KG801", "load x[t, h]")
    own, template = line_of(path, "o_h + 1"), template_line(root, "norm/rms/kernel.py.j2", "b_x = ")
    assert first.startswith(
        f"{ROWS_PLACE}: KG801: rms_kernel: load x[t, h] stays inside "
        f"({path}:{own}, norm/rms/kernel.py.j2:{template}) is false: line {own}: program (0, 0, 0) of rms_kernel reads x"
    )
    assert "T = 1" in first and below[:2] == CARET


def test_an_unknown_of_a_kernel_names_file_template_and_spec(told, root):
    lines, path = told(LOAD, LOAD.replace("i_t * stride_x_t", "(i_t | (i_t & 1)) * stride_x_t"))
    first, below = finding(lines, "KG802", "load x[t, h]")
    own, template = line_of(path, "i_t | (i_t & 1)"), template_line(
        root, "norm/rms/kernel.py.j2", "b_x = "
    )
    assert first.startswith(
        f"{ROWS_PLACE}: KG802: rms_kernel: load x[t, h] stays inside "
        f"({path}:{own}, norm/rms/kernel.py.j2:{template}) could not be proved: t = "
    )
    assert below[:2] == CARET
    assert below[2] == "  help: nothing is known to be wrong; see `kgen explain KG802`"


def test_refuted_host_code_names_the_call_that_lacks_the_check_and_the_spec(told):
    lines, path = told('    check_shape("weight", weight, (H,))\n', "")
    first, below = finding(lines, "KG803", "launch_rows: weight has shape [H]")
    own = line_of(path, "        launch_rows(")
    assert re.fullmatch(
        re.escape(f"{ROWS_PLACE}: KG803: launch_rows: weight has shape [H] ({path}:{own}")
        + r"(, \S+:\d+)?"
        + re.escape(") is false: false at weight.shape[0] = 0"),
        first,
    )
    assert below[:2] == CARET


def test_host_code_that_is_not_followed_names_its_line_and_the_spec(told):
    lines, path = told(
        "def launch_rows(x, weight, out, T):\n",
        "def launch_rows(x, weight, out, T):\n    exec('T = 3')\n",
    )
    first, below = finding(lines, "KG804", "launch_rows: no function is called of which nothing")
    own = line_of(path, "exec(")
    assert first.startswith(
        f"{ROWS_PLACE}: KG804: launch_rows: no function is called of which nothing is known ({path}:{own}"
    )
    assert "could not be proved: line " in first and below[:2] == CARET


# ---------------------------------------------------------------- what is refused

POINTERS = "write plain pointers with strides and masks instead"
DESCRIPTOR = (
    "tl.reshape(tl.make_tensor_descriptor(p_x + i_t * stride_x_t, [1, H], [H, 1], [1, BLOCK_H])"
    ".load([0, 0]), (BLOCK_H,))"
)
BLOCK = "tl.load(tl.make_block_ptr(p_x + i_t * stride_x_t, (H,), (1,), (0,), (BLOCK_H,), (0,)))"
ASSEMBLY = (
    'tl.inline_asm_elementwise("ld.global.b32 $0, [$1];", "=r,l", [p_x + i_t * stride_x_t + o_h], '
    "tl.int32, is_pure=%s, pack=1)"
)


@pytest.mark.parametrize(
    ("new", "operation", "reason"),
    [
        (
            DESCRIPTOR,
            "tt.make_tensor_descriptor",
            f"tensor descriptors hold shapes that are not followed; {POINTERS}",
        ),
        (
            DESCRIPTOR,
            "tt.descriptor_load",
            f"tensor descriptors hold shapes that are not followed; {POINTERS}",
        ),
        (
            ASSEMBLY % "False",
            "tt.elementwise_inline_asm",
            f"inline assembly that accesses memory is not followed; {POINTERS}",
        ),
        (
            ASSEMBLY % "True",
            "tt.elementwise_inline_asm",
            f"inline assembly that accesses memory is not followed; {POINTERS}",
        ),
    ],
)
def test_what_is_not_followed_is_named_with_its_line_the_reason_and_what_to_write(
    told, root, new, operation, reason
):
    lines, path = told(LOAD, new)
    first, below = finding(lines, "KG802", f"{operation} is followed")
    own, template = line_of(path, new), template_line(root, "norm/rms/kernel.py.j2", "b_x = ")
    assert first.startswith(
        f"{ROWS_PLACE}: KG802: rms_kernel: {operation} is followed "
        f"({path}:{own}, norm/rms/kernel.py.j2:{template}) could not be proved: {reason}: %"
    )
    assert f"{operation} " in first.rpartition(reason)[2] and below[:2] == CARET


def test_block_pointers_are_followed_as_the_plain_pointers_that_triton_makes_of_them(
    kgen, root, tmp_path, monkeypatch, told
):
    monkeypatch.chdir(root)
    path = tmp_path / "block.py"
    path.write_text((root / FILE).read_text().replace(LOAD, BLOCK))
    assert kgen("prove", path, "--spec", SPEC).code == 0
    lines, _ = told(LOAD, BLOCK.replace("(0,), (BLOCK_H,)", "(1,), (BLOCK_H,)"))
    first, _ = finding(lines, "KG802", "load x[t, h]")  # no replay of block pointers refutes it
    assert "h = " in first


def test_an_operation_that_kgen_does_not_know_is_named(told):
    lines, _ = told(LOAD, f"tl.map_elementwise(tl.sigmoid, {LOAD}.to(tl.float32))")
    first, _ = finding(lines, "KG802", "is followed")
    assert "tt.map_elementwise is followed" in first
    assert (
        "the operation tt.map_elementwise is not known, so what it computes is not; "
        "write it with tl.load, tl.store and arithmetic of integers: %" in first
    )
