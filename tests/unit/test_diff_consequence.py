"""`kgen.diff.consequence`: what is compiled, and what is concluded of it; the compiler is played by the tests."""

from __future__ import annotations

import pytest

import kgen.diff.consequence
from kgen.compile import Resources
from kgen.diagnostics import Diagnostic, KgenError, Place
from kgen.diff.consequence import Compiling, consequence
from kgen.diff.model import Side

HEAD = "import triton\nimport triton.language as tl\n"
KERNEL = """

@triton.jit
def {name}(p_x, N: tl.constexpr):
    {body}
"""
LOAD, STORE = "tl.store(p_x, tl.load(p_x) + N)", "tl.store(p_x, N)"


def side(
    *kernels: tuple[str, str], constants=(8,), targets=("sm_90",), warps=4, manifest=True
) -> Side:
    """A file of kernels, each a name and a body, with one signature for each constant."""
    text = HEAD + "".join(KERNEL.format(name=name, body=body) for name, body in kernels)
    described = {
        "targets": list(targets),
        "entry": "run",
        "kernels": {name: {"role": "row", "regimes": ["rows"]} for name, _ in kernels},
        "signatures": [
            {
                "function": name,
                "signature": {"p_x": "*fp32", "N": "constexpr"},
                "constants": {"N": value},
                "divisible_by_16": ["p_x"],
                "num_warps": warps,
                "num_stages": 1,
            }
            for name, _ in kernels
            for value in constants
        ],
    }
    return Side("x", "file", text, described if manifest else None, None, "" if manifest else "why")


def made(code: str, registers: int = 32, **changes) -> Resources:
    numbers = {"stack_bytes": 0, "spill_bytes": 0, "shared_bytes": 0, "tmem_columns": 0} | changes
    return Resources("compiled", registers=registers, code_sha256=code, **numbers)


@pytest.fixture
def compiler(monkeypatch):
    """Sets what the jobs come to in their order, and gives those that there were."""
    asked = []

    def answer(*turns: Resources | KgenError):
        def compile_all(jobs, **_):
            asked.extend(jobs)
            if isinstance(turns[0], KgenError):
                raise turns[0]
            assert len(jobs) == len(turns)
            return list(turns)

        monkeypatch.setattr(kgen.diff.consequence, "compile_all", compile_all)
        return asked

    return answer


@pytest.fixture
def how(tmp_path, monkeypatch) -> Compiling:
    monkeypatch.setenv("KGEN_CACHE", str(tmp_path / "cache"))
    return Compiling(tmp_path)


def test_the_same_core_is_the_same_machine_code_and_nothing_is_compiled(compiler, how):
    asked = compiler()
    found = consequence(side(("k", LOAD)), side(("k", LOAD)), False, how)
    assert (found.machine, found.kernels, asked) == ("same", (), [])


def test_kernels_whose_texts_are_the_same_are_not_compiled(compiler, how):
    asked = compiler()
    a, b = (side((name, LOAD)) for name in ("k", "renamed"))
    assert consequence(a, b, True, how).machine == "same"
    assert asked == []


def test_only_what_differs_is_compiled_and_equal_instructions_are_the_same(compiler, how):
    asked = compiler(made("1"), made("1"))
    a, b = side(("k", LOAD), ("other", STORE)), side(("k", STORE), ("other", STORE))
    found = consequence(a, b, True, how)
    assert (found.machine, found.kernels) == ("same", ())
    assert found.reason == "compiled the 1 of 2 signatures whose text differs"
    assert [job.function for job in asked] == ["k", "k"]
    assert len({job.source for job in asked}) == 2


def test_numbers_that_differ_are_told_with_the_instructions(compiler, how):
    before = made("1", 32)
    after = Resources("compiled", 40, 0, 8, 0, 0, instructions={"mma_sync": 4}, code_sha256="2")
    compiler(before, after)
    found = consequence(side(("k", LOAD)), side(("k", STORE)), True, how)
    (one,) = found.kernels
    assert found.machine == "differs" and one.same_code is False
    assert one.numbers == {"registers": (32, 40), "spill_bytes": (0, 8)}
    assert one.instructions == {"mma_sync": (0, 4)}


def test_the_same_instructions_with_other_warps_are_another_program(compiler, how):
    compiler(made("1"), made("1"))
    found = consequence(side(("k", LOAD)), side(("k", LOAD), warps=8), True, how)
    assert found.machine == "differs"
    assert found.kernels[0].numbers == {"num_warps": (4, 8)}


def test_a_truth_value_is_another_constant_than_1(compiler, how):
    asked = compiler(made("1"), made("2"))
    a, b = (side(("k", LOAD), constants=(value,)) for value in (1, True))
    assert consequence(a, b, True, how).machine == "differs"
    assert len(asked) == 2


def test_signatures_are_paired_by_their_constants(compiler, how):
    asked = compiler(made("1"), made("2"), made("3"), made("3"))
    found = consequence(
        side(("k", LOAD), constants=(3, 5)), side(("k", STORE), constants=(5, 3)), True, how
    )
    assert [job.constants["N"] for job in asked] == [5, 5, 3, 3]
    assert [one.signature for one in found.kernels] == ["N=5"]


def test_a_kernel_that_only_one_side_has_differs(compiler, how):
    compiler(made("2", 20))
    found = consequence(side(("k", LOAD)), side(("k", LOAD), ("new", STORE)), True, how)
    (one,) = found.kernels
    assert (found.machine, one.old, one.new) == ("differs", "", "new")
    assert one.numbers["registers"] == (None, 20)


@pytest.mark.parametrize(
    ("a", "b", "machine"),
    [
        (made("1"), Resources("timeout"), "unknown"),
        (Resources("crashed"), made("1"), "unknown"),
        (Resources("refused"), Resources("refused"), "unknown"),
        (made("1"), Resources("refused"), "differs"),
    ],
)
def test_what_was_not_compiled_is_never_called_the_same(compiler, how, a, b, machine):
    compiler(a, b)
    found = consequence(side(("k", LOAD)), side(("k", STORE)), True, how)
    assert found.machine == machine
    assert found.kernels[0].status == (a.status, b.status)


def test_without_compiling_it_is_unknown(compiler, how, tmp_path):
    asked = compiler()
    found = consequence(
        side(("k", LOAD)), side(("k", STORE)), True, Compiling(tmp_path, wanted=False)
    )
    assert (found.machine, found.reason, asked) == ("unknown", "not compiled", [])


def test_without_triton_it_is_unknown_and_says_why(compiler, how):
    compiler(KgenError([Diagnostic("KG601", "Triton isn't installed", Place("(environment)"))]))
    found = consequence(side(("k", LOAD)), side(("k", STORE)), True, how)
    assert (found.machine, found.reason) == ("unknown", "not compiled: Triton isn't installed")


def test_without_a_manifest_nothing_says_what_to_compile(compiler, how):
    asked = compiler()
    found = consequence(side(("k", LOAD)), side(("k", STORE), manifest=False), True, how)
    assert found.machine == "unknown" and "nothing says with which signatures" in found.reason
    assert asked == []


def test_targets_that_are_asked_for_come_in_place_of_the_sides(compiler, tmp_path, how):
    asked = compiler(made("1"), made("1"), made("1"), made("2"))
    both = Compiling(tmp_path, targets=("sm_80", "sm_100"))
    found = consequence(side(("k", LOAD)), side(("k", STORE)), True, both)
    assert [job.target for job in asked] == ["sm_80", "sm_80", "sm_100", "sm_100"]
    assert [one.target for one in found.kernels] == ["sm_100"]
