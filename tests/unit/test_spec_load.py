"""Valid specs: what a loaded spec says, and where its values stand."""

from __future__ import annotations

import subprocess
import sys

import pydantic
import pytest

from kgen.diagnostics import Severity
from kgen.expr import Span, to_python
from kgen.spec import Axis, Import, NormSpec, PerRequest, Sweep, load, loads

EXAMPLE = "specs/attention/gqa8_fp8_page1.yaml"

NORM = """\
kgen: 1
name: mine
family: norm
axes:
  T: {range: [1, 65536], doc: rows}
  H: {values: [2048, 4096]}
interface: {args: [x, weight], returns: [out]}
norm: {op: gemma, eps: 1e-5, formula: x * rsqrt(mean(x * x) + EPS) * (1 + weight)}
dtypes: {x: bf16, weight: bf16, out: bf16}
regimes:
  - {name: tall, when: "min(T, 2 * H) > 4096", variant: rows, tile: {BLOCK_M: -4, FAST: true}}
  - {name: wide, when: H == 4096, variant: rows, tile: {BLOCK_M: "128"}}
  - {name: rest, when: otherwise, fallback: {import: "pkg.norms:gemma"}}
devices: [h200]
targets: [sm_90]
"""


@pytest.fixture(scope="module")
def example(root):
    return load(root / EXAMPLE)


def test_the_example_of_the_design_is_valid(example):
    document = example.document
    assert (document.family, document.name) == ("attention", "gqa8_fp8_page1")
    assert document.masking.window == "WINDOW" and document.masking.softcap is None
    assert document.interface.lse == "none"
    assert document.regimes[0].splits == {"waves": 1, "min_chunk": 256, "max": 128}
    assert document.workloads.check[0]["S"] == Sweep((0, 1, 127, 128, 129))
    assert document.workloads.check[1]["S"] == PerRequest((8, 700, 4096))
    assert document.sweep["decode"]["tile.BLOCK_N"] == (32, 64, 128)


def test_gates_have_defaults_and_take_shares():
    assert loads(NORM, "a.yaml").document.gates.model_dump() == {
        "min_gain": 0.03,
        "max_regression": 0.05,
    }
    strict = loads(NORM, "a.yaml", ["gates.min_gain=0.1"]).document.gates
    assert (strict.min_gain, strict.max_regression) == (0.1, 0.05)


def test_axes_have_one_domain_each(example):
    assert example.axes["D"] == Axis("D", const=128, doc="head dimension")
    assert example.axes["WINDOW"].values == (None, 4096)
    live = example.axes["S"]
    assert (to_python(live.low), to_python(live.high), live.runtime) == ("0", "CAP", True)
    assert [example.axes[name].kind for name in ("B", "Q", "D", "WINDOW")] == [
        "int",
        "int",
        "int",
        "int?",
    ]


def test_expressions_are_parsed(example):
    assert to_python(example.expr("regimes", 1, "when")) == (
        "Q > 1 and B == 1 and WINDOW is not None"
    )
    assert to_python(example.expr("regimes", 2, "when")) == "True"
    assert to_python(example.expr("scales", "softmax")) == "1 / sqrt(D)"
    assert to_python(example.expr("axes", "B", "range", 1)) == "256"
    with pytest.raises(KeyError):
        example.expr("regimes", 0, "variant")


def test_places_are_those_of_the_file(example, root):
    lines = (root / EXAMPLE).read_text().splitlines()

    def marked(place) -> str:
        return lines[place.line - 1][place.column - 1 :][: place.length]

    assert marked(example.place("regimes", 0, "tile", "BLOCK_N")) == "128"
    assert marked(example.place("regimes", 0, "tile", "BLOCK_N", on_key=True)) == "BLOCK_N"
    assert marked(example.place("regimes", "verify_one", "splits", "max")) == "64"
    assert marked(example.place("axes", "S", "range", 1)) == "CAP"
    assert marked(example.place("masking", "window")) == "WINDOW"
    assert marked(example.place("regimes", 1, "when", span=Span(6, 16))) == "and B == 1"
    assert marked(example.place("axes", "S", "doc")) == f'"{example.axes["S"].doc}"'


def test_a_missing_value_is_placed_at_the_key_around_it(example):
    assert example.place("regimes", 0, "launch", "maxnreg") == example.place(
        "regimes", 0, "launch", on_key=True
    )


def test_a_diagnostic_shows_the_line(example):
    diagnostic = example.diagnostic(
        "KG999",
        "too wide",
        "scales",
        "softmax",
        span=Span(2, 9),
        hint="less",
        severity=Severity.FINDING,
    )
    assert str(diagnostic).splitlines()[1:] == [
        "  20 | scales: {softmax: 1/sqrt(D), k: per_tensor, v: per_tensor}",
        "     |                     ^^^^^^^",
        "  help: less",
    ]
    assert diagnostic.severity is Severity.FINDING


def test_a_norm_with_its_own_formula():
    spec = loads(NORM, "norm.yaml")
    assert isinstance(spec.document, NormSpec)
    assert spec.document.norm.eps == 1e-5
    assert to_python(spec.expr("norm", "formula")) == (
        "x * rsqrt(mean(x * x) + EPS) * (1 + weight)"
    )
    assert spec.document.regimes[2].fallback == Import("pkg.norms:gemma")


def test_parameters_keep_the_type_that_yaml_gave_them():
    first, second, _ = loads(NORM, "norm.yaml").document.regimes
    assert first.tile == {"BLOCK_M": -4, "FAST": True} and first.tile["FAST"] is True
    assert second.tile == {"BLOCK_M": "128"}


def test_the_hash_is_that_of_the_values_and_not_of_their_layout():
    spec = loads(NORM, "norm.yaml")
    spread = NORM.replace("{values: [2048, 4096]}", "\n    # a comment\n    values: [2048, 4096]")
    assert loads(spread, "elsewhere.yaml").sha256 == spec.sha256
    assert len(spec.sha256) == 64
    assert loads(NORM.replace("1e-5", "1e-6"), "norm.yaml").sha256 != spec.sha256
    assert loads(NORM, "norm.yaml", ["norm.eps=1.0e-6"]).sha256 != spec.sha256


def test_a_spec_cannot_be_changed(example):
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        example.document.name = "other"
    with pytest.raises(AttributeError):
        example.sha256 = ""
    with pytest.raises(TypeError):
        example.axes["B"] = example.axes["Q"]


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("kgen.spec", ("torch", "triton", "sympy", "black", "jinja2", "numpy")),
        ("kgen.expr", ("torch", "triton", "sympy", "black", "pydantic", "yaml")),
        ("kgen.diagnostics", ("torch", "triton", "sympy", "black", "pydantic", "yaml")),
    ],
)
def test_importing_loads_nothing_heavy(module, absent):
    code = f"import sys, {module}; print([name for name in {absent!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
