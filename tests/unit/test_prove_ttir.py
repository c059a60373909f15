"""Reading TTIR: what Triton 3.6 and 3.7 print becomes operations; any other form is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.prove.ttir import Function, TtirError, Type, read

FOLDER = Path(__file__).with_name("ttir")
VERSIONS = ("3.6", "3.7")


def sample(version: str) -> Function:
    return read((FOLDER / f"honest_{version}.ttir").read_text(), "last_block.py")


def of(body: str, arguments: str = "%p: !tt.ptr<f32>, %n: i32") -> Function:
    """A kernel with these lines."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return read(
        f"module {{\n  tt.func public @kernel({arguments}) attributes {{noinline = false}} {{\n"
        f"{lines}\n    tt.return\n  }}\n}}\n",
        "file.py",
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_kernel_has_its_parameters_and_operations_in_order(version):
    function = sample(version)
    assert function.name == "honest"
    assert function.arguments == (
        ("p_x", Type((), "f32", True)),
        ("p_part", Type((), "f32", True)),
        ("p_count", Type((), "i32", True)),
        ("p_out", Type((), "f32", True)),
    )
    names = [one.name for one in function.operations()]
    assert names.count("tt.load") == 2 and names.count("tt.store") == 3
    assert names[-1] == "tt.return"


def test_both_versions_differ_in_the_barrier_alone():
    old, new = ([one.name for one in sample(version).operations()] for version in VERSIONS)
    assert {a: b for a, b in zip(old, new, strict=True) if a != b} == {"gpu.barrier": "ttg.barrier"}


@pytest.mark.parametrize("version", VERSIONS)
def test_regions_lines_keywords_and_types_are_kept(version):
    found = {one.name: one for one in sample(version).operations()}
    atomic = found["tt.atomic_rmw"]
    assert atomic.keywords == ("add", "acq_rel", "gpu")
    assert atomic.line == 26 and len(atomic.operands) == 3
    assert atomic.result_types == (Type((), "i32"),)
    loop = found["scf.for"]
    assert len(loop.regions) == 1 and loop.result_types == (Type((128,), "f32"),)
    (block,) = loop.regions[0]
    assert block.operations[-1].name == "scf.yield"
    assert found["scf.if"].results == ()


def test_results_are_counted_and_attributes_read():
    function = of("""
        %a:2 = "tt.pair"(%n, %n) <{axis = 1 : i32}> : (i32, i32) -> (i32, tensor<4x8xi1>)
        %c = arith.constant dense<7> : tensor<4xi64>
        """)
    pair, constant, _ = function.operations()
    assert pair.results == ("a#0", "a#1")
    assert pair.result_types == (Type((), "i32"), Type((4, 8), "i1"))
    assert constant.result_types == (Type((4,), "i64"),)
    assert constant.result_types[0].bits == 64


def test_a_branch_has_its_targets_with_what_it_binds_there():
    function = of("""
        %c = arith.cmpi slt, %n, %n : i32
        cf.cond_br %c, ^bb1, ^bb2(%n : i32)
        ^bb1:  // pred: ^bb0
        tt.return
        ^bb2(%m: i32):  // pred: ^bb0
        """)
    assert [block.label for block in function.body][1:] == ["bb1", "bb2"]
    branch = function.body[0].operations[-1]
    assert branch.successors == (("bb1", ()), ("bb2", ("n",)))
    assert function.body[2].arguments == (("m", Type((), "i32")),)


def test_pointers_and_their_elements():
    assert Type((16,), "bf16", True).pointee() == Type((16,), "bf16")
    assert Type((), "i1").bits == 1
    assert Type((), "f32").bits is None
    assert Type((), "i32", True).bits is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "module {\n}\n",
        "module {\n  tt.func public @a() {\n    tt.return\n",
        "module {\n  tt.func public @a() {\n    what is this\n  }\n}\n",
        "module {\n  tt.func public @a() {\n    tt.return\n  }\n"
        "  tt.func private @b() {\n    tt.return\n  }\n}\n",
        "module {\n  tt.func public @a(%p: !tt.ptr<f32) {\n    tt.return\n  }\n}\n",
    ],
)
def test_text_of_another_form_is_refused(text):
    with pytest.raises(TtirError):
        read(text, "file.py")
