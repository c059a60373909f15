"""Every decision that a plan makes, and every spec that leaves none to make."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.plan.build import build
from kgen.plan.model import Plan
from kgen.spec import load

ATTENTION = "specs/attention/gqa8_fp8_page1.yaml"
NORM = "specs/norm/rms_4096.yaml"


@pytest.fixture
def plan(root: Path):
    def planned(spec: str = ATTENTION, *overrides: str) -> Plan:
        return build(load(root / spec, overrides))

    return planned


@pytest.fixture
def problems(plan):
    def found(spec: str, *overrides: str) -> str:
        with pytest.raises(KgenError) as caught:
            plan(spec, *overrides)
        return "\n".join(map(str, caught.value.diagnostics))

    return found


def test_a_regime_has_one_case_for_each_value_of_its_case_axes(plan):
    decode, verify, rest = plan().regimes
    axes = [
        [dict(case.axes) for group in regime.groups for case in group.cases]
        for regime in (decode, verify)
    ]
    assert axes == [
        [{"Q": 1, "WINDOW": None}, {"Q": 1, "WINDOW": 4096}],
        [{"Q": 8, "WINDOW": 4096}],
    ]
    assert [len(group.cases) for group in rest.groups] == [1]


def test_cases_that_differ_in_constants_only_share_a_group(plan):
    (rows,) = plan("specs/norm/rms_odd.yaml").regimes
    assert [[case.axes["H"] for case in group.cases] for group in rows.groups] == [[3, 513, 2880]]


def test_what_follows_from_constants_is_a_number_and_the_rest_is_derived_at_launch(plan):
    window = plan().regimes[0].groups[1]
    assert window.cases[0].constants["BLOCK_M"] == 16
    assert [name for name, _, _ in window.derived] == ["SPAN", "SPLITS"]


def test_dimensions_with_one_element_have_no_stride(plan):
    split = plan().regimes[0].groups[0].kernels[0]
    names = [argument.name for argument in split.arguments if argument.kind == "stride"]
    assert names == [
        "stride_q_b",
        "stride_q_h",
        "stride_k_page",
        "stride_v_page",
        "stride_block_table_b",
    ]


def test_every_stride_is_64_bits_wide_and_every_size_32(plan):
    for regime in plan().regimes:
        for group in regime.groups:
            for kernel in group.kernels:
                types = {(argument.kind, argument.type) for argument in kernel.arguments}
                assert types <= {("stride", "i64"), ("size", "i32"), ("constant", "constexpr")} | {
                    ("pointer", one.type) for one in kernel.arguments if one.kind == "pointer"
                }


def test_strides_of_outputs_are_multiples_of_16_where_inner_extents_say_so(plan):
    combine = plan().regimes[0].groups[0].kernels[1]
    divisible = {
        argument.name: argument.divisible
        for argument in combine.arguments
        if argument.kind == "stride"
    }
    assert divisible == {"stride_out_b": True, "stride_out_h": True}
    combine = plan("specs/attention/gqa8_bf16_page16.yaml").regimes[0].groups[0].kernels[1]
    assert {a.name for a in combine.arguments if a.kind == "stride" and not a.divisible} == set()


def test_scratch_is_addressed_in_64_bits_only_where_it_can_be_large(plan):
    small = plan().regimes[0].groups[0].kernels[0]
    large = plan(ATTENTION, "axes.B={range: [1, 65536]}").regimes[0].groups[0].kernels[0]
    assert (small.wide, large.wide) == (frozenset(), frozenset({"partial_out"}))


def test_a_fallback_is_planned_for_the_limits_of_its_family(plan):
    ranges = plan().regimes[-1].domain.ranges
    assert {name: (span.low.value, span.high.value) for name, span in ranges.items()} == {
        "B": (1, 2**31 - 1),
        "Q": (1, 4096),
        "PAGES": (1, 2**31 - 1),
        "CAP": (1, 2**30),
        "WINDOW": (1, 2**30),
    }


def test_a_fallback_that_serves_nothing_outside_keeps_to_the_declared_axes(plan):
    domain = plan(ATTENTION, "interface.outside=raise").regimes[-1].domain
    assert domain.values["Q"] == (1, 8)
    assert domain.ranges["B"].high.value == 256


@pytest.mark.parametrize(
    ("overrides", "message", "advice"),
    [
        (
            ["regimes.decode.tile.BLOCK_N='128'"],
            "KG411: tile.BLOCK_N is an integer, not the text '128'",
            "16 to 512",
        ),
        (
            ["regimes.decode.tile.BLOCK_N=true"],
            "KG411: tile.BLOCK_N is an integer, not the truth value true",
            "16 to 512",
        ),
        (
            ["regimes.decode.tile.BLOCK_N=-4"],
            "KG411: tile.BLOCK_N is -4, less than 16",
            "16 to 512",
        ),
        (
            ["regimes.decode.tile.BLOCK_N=1000000000000"],
            "is 1000000000000, more than 512",
            "16 to 512",
        ),
        (
            ["regimes.decode.launch.num_warps=3"],
            "KG411: launch.num_warps cannot be 3",
            "one of 1, 2, 4, 8",
        ),
        (
            ["regimes.decode.tile={BLOCK_K: 64}"],
            "KG410: variant split_k has no parameter tile.BLOCK_K",
            "tile.BLOCK_N",
        ),
        (
            ["regimes.decode.variant=splitk"],
            "there is no variant splitk of attention",
            "did you mean split_k?",
        ),
        (["devices=[h20]"], "KG406: no device is named 'h20'", "h200"),
        (["targets=[sm_91]"], "KG407: no target is named 'sm_91'", "sm_90"),
        (
            ["masking.sinks=true"],
            "KG404: interface.args leaves out `sinks`",
            "`v_scale`, `sinks`, in",
        ),
        (["masking.softcap=1025.0"], "KG440: a softcap of 1025.0", "from 1/1024 to 1024, or none"),
        (["masking.softcap=0.0009"], "KG440: a softcap of 0.0009", "from 1/1024 to 1024, or none"),
        (["epilogue.eps=0.001"], "KG441: epilogue.eps belongs to a norm", "write norm: rms, or"),
        (
            ["epilogue={norm: rms, gate: silu}"],
            "KG404: interface.args leaves out `norm_weight`, `gate`",
            "in an order of your choice",
        ),
        (["masking.causal=false"], "does not cover masking.causal: false", "it covers true"),
        (["dtypes.q=fp32"], "does not cover dtypes.q: fp32", "it covers bf16, fp16"),
        (
            ["interface.args=[q, k_cache, v_cache, block_table]"],
            "KG404: interface.args leaves out `seq_lens`",
            "needs `q`",
        ),
        (
            ["interface.returns=[out, lse]"],
            "KG405: interface.returns names `lse`, which this spec does not have",
            "`out`",
        ),
        (
            ["dtypes.kv=fp16", "dtypes.operand=bf16"],
            "KG403: bf16 operands would round an fp16 cache",
            "operand: auto",
        ),
        (
            ["regimes.rest.fallback=torch"],
            "KG417: attention has no torch path to fall back to",
            "generic",
        ),
        (
            ["axes.Q={range: [1, 8]}"],
            "KG412: variant split_k takes Q as a constant, but Q is a range here",
            "give axis Q a list of values",
        ),
    ],
)
def test_what_cannot_be_planned_is_said_with_its_place_and_what_to_write(
    problems, overrides, message, advice
):
    text = problems(ATTENTION, *overrides)
    assert message in text
    assert advice in text


@pytest.mark.parametrize("condition", ["HK == 3", "Q == 5"])
def test_a_condition_that_is_false_for_all_axes_is_said_before_anything_is_rendered(
    problems, condition
):
    text = problems(ATTENTION, f"regimes.decode.when={condition}")
    assert "KG423: no axis value gets to regime decode" in text


def test_an_axis_that_no_argument_gives_is_refused(problems):
    text = problems(ATTENTION, "axes.EXTRA={range: [1, 5]}")
    assert "KG419: nothing in the arguments of attention gives the axis EXTRA" in text
    assert "make it const, or remove it" in text


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["axes.SMS={const: 20}"], "KG427: the axis SMS has the name of a constant of attention"),
        (["axes.q={const: 20}"], "KG427: the axis q is not in upper case"),
        (["axes.live={const: 1}"], "KG427: the axis live is not in upper case"),
        (
            ["axes.BLOCK_N={const: 64}"],
            "KG427: BLOCK_N is an axis or a constant of this spec, and attention/split_k declares it",
        ),
        (
            ["layout.page_size=16", "axes.CAP={const: 100}"],
            "KG428: CAP is 100, which is no multiple of the page size 16",
        ),
        (["axes.WINDOW={values: [none, 2147483643]}"], "does not fit the 32 bits"),
        (["axes.G={const: 1}"], "KG428: one query head in all"),
        (
            ["regimes.verify_one={name: verify_one, when: B == 1, fallback: generic}"],
            "KG426: the fallback verify_one has a condition",
        ),
    ],
)
def test_names_with_two_meanings_and_sizes_nothing_serves_are_refused(problems, overrides, message):
    assert message in problems(
        ATTENTION, "workloads.check=[]", "workloads.bench=[]", "sweep={}", *overrides
    )


def test_an_axis_with_one_listed_value_is_a_constant(plan):
    regimes = (
        "regimes=[{name: decode, when: Q == 1, variant: split_k},"
        " {name: rest, when: otherwise, fallback: generic}]"
    )
    one = plan(
        ATTENTION, "axes.Q={values: [1]}", regimes, "workloads.check=[]", "workloads.bench=[]"
    )
    assert one.constants["Q"][0] == 1
    rest = one.regimes[-1].groups[0].kernels[0]
    assert "stride_q_t" not in {argument.name for argument in rest.arguments}


def test_a_window_with_one_value_is_still_checked_where_it_is_an_argument(plan, root):
    one = plan(ATTENTION, "axes.WINDOW={values: [4096]}")
    assert "WINDOW" not in one.constants
    fixed = "interface.args=[q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale]"
    assert plan(ATTENTION, "axes.WINDOW={values: [4096]}", fixed).constants["WINDOW"][0] == 4096


def test_a_scale_that_is_left_out_is_the_usual_one(plan, root, tmp_path):
    lines = (root / ATTENTION).read_text().splitlines(keepends=True)
    spec = tmp_path / "spec.yaml"
    spec.write_text("".join(line for line in lines if not line.startswith("scales:")))
    args = "interface.args=[q, k_cache, v_cache, block_table, seq_lens, window]"
    value, _ = plan(str(spec), args).constants["SM_SCALE_LOG2"]
    assert value == pytest.approx(128**-0.5 * 1.4426950408889634)


def test_a_window_axis_under_another_name_is_refused(problems, root, tmp_path):
    text = (root / ATTENTION).read_text().replace("WINDOW", "SLIDING")
    spec = tmp_path / "spec.yaml"
    spec.write_text(text)
    assert "KG401: the window axis is called 'SLIDING', but kernels know it as WINDOW" in problems(
        str(spec)
    )


def test_a_window_that_nobody_can_choose_is_refused(problems):
    text = problems(
        ATTENTION, "interface.args=[q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale]"
    )
    assert (
        "KG402: WINDOW has several values, but the interface takes no argument to choose one"
        in text
    )


def test_all_problems_are_reported_at_once(problems):
    text = problems(ATTENTION, "devices=[h20]", "targets=[sm_91]", "interface.returns=[out, lse]")
    assert [code in text for code in ("KG405", "KG406", "KG407")] == [True] * 3


def test_an_override_is_where_its_problem_is(problems):
    assert "<--set 1>:1:16: KG409" in problems(ATTENTION, "masking.causal=false")


def test_a_problem_of_the_file_is_at_its_line(problems, root, tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text((root / ATTENTION).read_text().replace("causal: true", "causal: false"))
    line = next(
        n for n, text in enumerate(spec.read_text().splitlines(), 1) if "causal: false" in text
    )
    assert f"spec.yaml:{line}:" in problems(str(spec))
