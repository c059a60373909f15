"""What an emitted file launches, allocates and returns is what its plan says."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.plan.build import build
from kgen.plan.obligation import Obligation
from kgen.plan.templates import Templates
from kgen.prove.host import prove_host
from kgen.render.assemble import raw_text
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

ROOT = Path(__file__).resolve().parents[2]
NORM = "specs/norm/rms_4096.yaml"
ATTENTION = "specs/attention/gqa7_bf16_page64.yaml"
PROVED, REFUTED, UNKNOWN = Status.PROVED, Status.REFUTED, Status.UNKNOWN

KERNELS = "the plan's kernels are launched, in their order"
GRIDS = "every grid is the plan's"
ARGUMENTS = "every kernel takes the declared parameters, and gets what they stand for"
OPTIONS = "every launch has the plan's options"
TENSORS = "scratch and outputs are fresh, with the plan's shape and dtype"
SPECIALISED = "only what is declared divisible by 16 is specialised by value"
LAUNCHED = (
    "every call that returns has launched exactly one launcher's kernels, or had nothing to do"
)


@functools.cache
def emitted(spec: str, *overrides: str):
    """(text, plan, launchers) of a spec, the text as the templates wrote it."""
    templates = Templates()
    plan = build(load(ROOT / spec, overrides), templates)
    return raw_text(plan, templates), plan, launchers(plan, workshop(templates))


def judged(spec: str, *pairs: tuple[str, str]) -> dict[tuple[str, str], Obligation]:
    """What is said about the launches of an edited text, by launcher and statement."""
    text, plan, made = emitted(spec)
    for old, new in pairs:
        assert old in text, f"the text has no {old!r}"
        text = text.replace(old, new)
    found = prove_host(text, plan, made).obligations
    return {(one.regime, one.says): one for one in found if one.subject == "launches"}


def wrong(spec: str, *pairs: tuple[str, str]) -> dict[tuple[str, str], Obligation]:
    """What is not proved."""
    return {key: one for key, one in judged(spec, *pairs).items() if one.status is not PROVED}


def test_evidence_names_what_was_compared():
    found = judged(NORM)
    assert found["launch_rows", GRIDS].evidence == "rms_kernel (T)"
    assert found["launch_rows", ARGUMENTS].evidence == "8 arguments of 1 kernels"
    assert found["launch_rows", OPTIONS].evidence == "8 warps, 1 stages"
    assert "out at line" in found["launch_rows", TENSORS].evidence
    assert judged(ATTENTION)["launch_decode", KERNELS].evidence.endswith(
        "split_kernel, combine_kernel"
    )


# ---------------------------------------------------------------- grids


@pytest.mark.parametrize(
    ("grid", "evidence"),
    [
        (
            "(T + 1,)",
            "dimension 0 is x.shape[0] + 1; the plan has x.shape[0]: false at x.shape[0] = 1",
        ),
        ("(min(T, 7),)", "false at x.shape[0] = 8"),
        ("(T, 1)", "has 2 dimensions; the plan has 1"),
        ("(H,)", "false at x.shape[0] = 1"),
    ],
)
def test_another_grid_is_refuted_where_it_differs(grid, evidence):
    found = wrong(NORM, ("rms_kernel[(T,)]", f"rms_kernel[{grid}]"))
    assert list(found) == [("launch_rows", GRIDS)]
    assert found["launch_rows", GRIDS].status is REFUTED
    assert evidence in found["launch_rows", GRIDS].evidence


@pytest.mark.parametrize(
    "grid", ["(T * 2 // 2,)", "(max(T, 1),)", "(x.shape[0],)", "(weight.shape[0] * T // H,)"]
)
def test_a_grid_that_is_the_same_for_every_call_is_proved(grid):
    assert wrong(NORM, ("rms_kernel[(T,)]", f"rms_kernel[{grid}]")) == {}


def test_a_helper_that_rounds_down_is_refuted_in_all_that_it_sizes():
    found = wrong(ATTENTION, ("return -(-a // b)", "return a // b"))
    assert {key for key in found if key[0] == "launch_decode"} == {
        ("launch_decode", GRIDS),
        ("launch_decode", ARGUMENTS),
        ("launch_decode", TENSORS),
    }
    assert {one.status for one in found.values()} == {REFUTED}
    assert "block_table.shape[1] = " in found["launch_decode", GRIDS].evidence


# ---------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("old", "new", "evidence"),
    [
        (
            "x, weight, out, x.stride",
            "weight, x, out, x.stride",
            "p_x of rms_kernel stands for x, and gets weight",
        ),
        (
            "x.stride(0), out.stride(0)",
            "out.stride(0), x.stride(0)",
            "stride_x_t of rms_kernel is out.stride(0)",
        ),
        ("x.stride(0), out", "x.stride(1), out", "stride_x_t of rms_kernel is x.stride(1)"),
        ("EPS=EPS", "EPS=1e-05", "EPS of rms_kernel is 1e-05; the plan has 1e-06"),
        ("EPS = 1e-06", "EPS = 1e-05", "EPS of rms_kernel is 1e-05; the plan has 1e-06"),
        ("BLOCK_H=4096", "BLOCK_H=2048", "BLOCK_H of rms_kernel is 2048; the plan has 4096"),
        (", BLOCK_H=4096", "", "these are not the arguments of rms_kernel"),
        (
            "x, weight, out, x.stride",
            "weight, out, x.stride",
            "these are not the arguments of rms_kernel",
        ),
        (
            "def rms_kernel(p_x, p_weight",
            "def rms_kernel(p_weight, p_x",
            "rms_kernel takes (p_weight, p_x",
        ),
    ],
)
def test_an_argument_out_of_place_is_refuted(old, new, evidence):
    found = wrong(NORM, (old, new))["launch_rows", ARGUMENTS]
    assert found.status is REFUTED
    assert evidence in found.evidence


def test_swapped_sizes_are_refuted_with_values_that_tell_them_apart():
    found = wrong(ATTENTION, ("CAP, SPLITS, G=G", "SPLITS, CAP, G=G"))
    assert {key[1] for key in found} == {ARGUMENTS}
    assert "CAP of split_kernel is max(1, min(32" in found["launch_decode", ARGUMENTS].evidence


@pytest.mark.parametrize(
    "passed",
    ["WINDOW", "WINDOW if WINDOW is None else CAP", "CAP if WINDOW is not None else WINDOW", "CAP"],
)
def test_an_optional_axis_is_passed_as_the_plan_has_it(passed):
    found = wrong(ATTENTION, ("CAP if WINDOW is None else WINDOW", passed))
    assert list(found) == [("launch_rest", ARGUMENTS)]
    assert found["launch_rest", ARGUMENTS].status is REFUTED


@pytest.mark.parametrize(
    "passed", ["WINDOW if WINDOW is not None else CAP", "(CAP if WINDOW is None else WINDOW)"]
)
def test_an_optional_axis_may_be_written_the_other_way_round(passed):
    assert wrong(ATTENTION, ("CAP if WINDOW is None else WINDOW", passed)) == {}


@pytest.mark.parametrize(
    ("old", "new", "evidence"),
    [
        ("num_warps=8", "num_warps=4", "num_warps is 4; the plan has 8"),
        ("num_warps=8, ", "", "is launched with num_stages"),
        (
            "num_warps=8",
            "num_warps=8, num_ctas=2",
            "is launched with num_ctas, num_stages, num_warps",
        ),
    ],
)
def test_other_options_are_refuted(old, new, evidence):
    found = wrong(NORM, (old, new))
    assert list(found) == [("launch_rows", OPTIONS)]
    assert evidence in found["launch_rows", OPTIONS].evidence


def test_an_argument_that_triton_would_specialise_by_value_is_refuted():
    found = wrong(NORM, ("'stride_x_t', 'H'", "'H'"))
    assert list(found) == [("launch_rest", SPECIALISED)]
    assert (
        "stride_x_t of row_kernel is specialised by its value"
        in found["launch_rest", SPECIALISED].evidence
    )
    pinned = wrong(
        NORM,
        (
            "@triton.jit\ndef rms_kernel",
            "@triton.jit(do_not_specialize=['stride_x_t'])\ndef rms_kernel",
        ),
    )
    assert (
        "stride_x_t of rms_kernel is not specialised" in pinned["launch_rows", SPECIALISED].evidence
    )
    hidden = wrong(
        NORM,
        ("@triton.jit\ndef rms_kernel", "@triton.jit(do_not_specialize=PINNED)\ndef rms_kernel"),
    )
    assert hidden["launch_rows", SPECIALISED].status is UNKNOWN


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("stride_x_t: tl.int64", "stride_x_t: tl.int32"),
        ("stride_x_t: tl.int64", "stride_x_t"),
        ("EPS: tl.constexpr", "EPS"),
    ],
)
def test_an_argument_of_another_type_is_refuted(old, new):
    found = wrong(NORM, (old, new))
    assert found["launch_rows", SPECIALISED].status is REFUTED


# ---------------------------------------------------------------- kernels, tensors, results


def test_a_kernel_left_out_or_launched_twice_is_refuted():
    text = emitted(ATTENTION)[0]
    start = text.index("    combine_kernel[")
    combine = text[start : text.index("\n    )\n", start) + len("\n    )\n")]
    for replaced in ("", combine + combine):
        found = wrong(ATTENTION, (combine, replaced))
        assert found["launch_decode", KERNELS].status is REFUTED
        assert found["launch_decode", GRIDS].status is UNKNOWN
        assert found["", LAUNCHED].status is REFUTED


@pytest.mark.parametrize(
    ("old", "new", "evidence"),
    [
        (
            "partial_max = torch.empty((B, HK, SPLITS, 7)",
            "partial_max = torch.empty((B, HK, SPLITS, 6)",
            "partial_max: dimension 3 is 6; the plan has 7",
        ),
        (
            "partial_max = torch.empty((B, HK, SPLITS, 7)",
            "partial_max = torch.empty((B, HK, 1, 7)",
            "partial_max: dimension 2 is 1; the plan has max(",
        ),
        (
            "partial_max = torch.empty((B, HK, SPLITS, 7)",
            "partial_max = torch.empty((B, HK, SPLITS)",
            "partial_max has 3 dimensions; the plan has 4",
        ),
        (
            "(B, HK, SPLITS, 7), dtype=torch.float32",
            "(B, HK, SPLITS, 7), dtype=torch.float16",
            "partial_max: the dtype is torch.float16; the plan has torch.float32",
        ),
    ],
)
def test_scratch_of_another_shape_or_dtype_is_refuted(old, new, evidence):
    found = wrong(ATTENTION, (old, new))["launch_decode", TENSORS]
    assert found.status is REFUTED
    assert evidence in found.evidence


def test_scratch_that_is_allocated_anew_between_launches_is_refuted():
    again = (
        "    partial_sum = torch.empty((B, HK, SPLITS, 7), dtype=torch.float32, device=q.device)\n"
    )
    found = wrong(ATTENTION, ("    combine_kernel[", f"{again}    combine_kernel["))
    assert (
        found["launch_decode", TENSORS].evidence == "partial_sum is allocated between the launches"
    )


def test_an_output_of_another_shape_is_refuted():
    found = wrong(NORM, ("out = torch.empty((T, H)", "out = torch.empty((H, T)"))
    assert (
        "out: dimension 0 is 4096; the plan has x.shape[0]"
        in found["launch_rows", TENSORS].evidence
    )


@pytest.mark.parametrize(
    ("new", "evidence"),
    [
        ("    return x\n", "returns x"),
        ("    return out, x\n", "returns out, x"),
        ("    return\n", "returns None"),
        (
            "    out = torch.empty((T, H), dtype=x.dtype, device=x.device)\n    return out\n",
            "returns a out that no kernel was given",
        ),
    ],
)
def test_another_result_is_refuted(new, evidence):
    last = "        launch_rest(x, weight, out, T)\n"
    found = wrong(NORM, (f"{last}    return out\n", last + new))[
        "", "the entry returns out, made in this call"
    ]
    assert found.status is REFUTED
    assert evidence in found.evidence


def test_outputs_in_another_order_are_refuted():
    found = wrong(ATTENTION, ("    return out, lse\n", "    return lse, out\n"))
    assert found["", "the entry returns out, lse, made in this call"].status is REFUTED


@pytest.mark.parametrize(
    ("old", "new", "evidence"),
    [
        (
            "    else:\n        launch_rest(x, weight, out, T)\n",
            "",
            "is reached with nothing launched",
        ),
        (
            "    else:\n        launch_rest",
            "    if T > 1:\n        launch_rest",
            "is reached after rms_kernel, row_kernel",
        ),
        ("if out.numel() == 0", "if out.numel() <= 4096", "is reached with nothing launched"),
        ("if out.numel() == 0", "if T == 0", ""),
    ],
)
def test_every_way_through_the_entry_launches_exactly_one_launcher(old, new, evidence):
    found = wrong(NORM, (old, new))
    if not evidence:
        assert ("", LAUNCHED) not in found
        return
    assert found["", LAUNCHED].status is REFUTED
    assert evidence in found["", LAUNCHED].evidence


def test_a_launcher_that_is_never_called_is_refuted():
    found = wrong(NORM, ("    if declared and aligned and T <= 65536:", "    if False:"))
    assert found["launch_rows", KERNELS].evidence == "the entry never calls it"


def test_an_imported_fallback_leaves_the_other_regimes_proved():
    spec, imported = ATTENTION, 'regimes.rest.fallback={import: "serving.attention:decode"}'
    text, plan, made = emitted(spec, imported)
    found = prove_host(text, plan, made).obligations
    open_ = {(one.regime, one.subject) for one in found if one.status is not PROVED}
    assert ("", "graph safety") in open_ and ("", "launches") in open_
    assert {one.status for one in found if not one.regime} == {UNKNOWN}
    launches = [one for one in found if one.regime and one.subject == "launches"]
    assert launches and {one.status for one in launches} == {PROVED}


def test_a_regime_behind_one_that_takes_few_requests_is_reached():
    """Its calls differ from those before in one number among forty conditions."""
    found = judged("benchmarks/sweeps/gqa8_fp8_page1_tuned.yaml")
    reached = found["launch_decode", "some call of the entry gets here"]
    assert reached.status is PROVED
    assert "B = 9" in reached.evidence
    assert not wrong("benchmarks/sweeps/gqa8_fp8_page1_tuned.yaml")
