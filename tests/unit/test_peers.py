"""Adapters of peers: those that run on a CPU give the right outputs, the others say what they lack."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import types

import pytest
import torch

from benchmarks.peers import compiled, sglang_triton
from benchmarks.peers.offered import NotOffered
from benchmarks.peers.paging import dense, page_lists, repacked, slot_lists, visible
from kgen.families.attention import problem as attention
from kgen.families.norm import problem as norm
from kgen.measure.operators import watched
from kgen.runner.case import Case
from kgen.runner.compare import compare

CPU = torch.device("cpu")
FOLDERS = ("attention", "norm")
WITHOUT_GPU = {"torch_sdpa", "torch_flex", "torch_eager", "torch_compile"}


def files(root):
    return [
        file for name in FOLDERS for file in sorted((root / "benchmarks/peers" / name).glob("*.py"))
    ]


def adapter(family, name):
    return importlib.import_module(f"benchmarks.peers.{family}.{name}")


def by_name(function, values):
    """Calls `function` with those of `values` that its parameters name, as the harness does."""
    return function(
        **{name: values[name] for name in inspect.signature(function).parameters if name in values}
    )


def manifest(root, bundle):
    return json.loads((root / "generated" / bundle / "manifest.json").read_text())["problem"]


def attention_case(problem, q, lengths, window=None, spare=0):
    page = problem["page"]
    capacity = -(-(max(lengths) + spare) // page) * page
    axes = {
        "B": len(lengths),
        "Q": q,
        "CAP": capacity,
        "PAGES": len(lengths) * capacity // page + 1,
    }
    if "WINDOW" in problem["axes"]:
        axes["WINDOW"] = window
    return Case("small", axes, {"S": list(lengths)}, "plain", "")


def answered(module, family, problem, case, seed=1):
    """Outputs of an adapter and what is right, by name."""
    generator = torch.Generator().manual_seed(seed)
    arguments = family.inputs(problem, case, generator, CPU)
    right = family.expected(problem, case, arguments)
    outputs = module.run(**by_name(module.prepare, {**arguments, "problem": problem}))
    named = outputs if isinstance(outputs, tuple) else (outputs,)
    return dict(zip(problem["returns"], named, strict=True)), right


def relative_error(output, right):
    assert output.shape == right.values.shape
    error = (output.double() - right.values).norm()
    return float(error / right.values.norm().clamp_min(1e-12))


def test_every_adapter_is_a_candidate_file_that_states_its_terms(root):
    found = files(root)
    assert {file.stem for file in found} > WITHOUT_GPU
    for file in found:
        module = adapter(file.parent.name, file.stem)
        assert isinstance(module.TERMS, str) and module.TERMS
        assert 0 < module.TOLERANCE < 0.1
        prepared = set(inspect.signature(module.prepare).parameters)
        problem = attention if file.parent.name == "attention" else norm
        assert prepared <= {
            *(
                "problem",
                "q",
                "k_cache",
                "v_cache",
                "block_table",
                "seq_lens",
                "k_scale",
                "v_scale",
                "window",
            ),
            *("x", "weight"),
        }, problem


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what is missing without a GPU")
def test_an_adapter_that_needs_a_gpu_says_so_in_a_sentence(root):
    for file in files(root):
        why = adapter(file.parent.name, file.stem).available()
        assert bool(why) == (file.stem not in WITHOUT_GPU)
        assert not why or "needs a GPU" in why


ATTENTION = [
    ("attention/gqa8_fp8_page1", 1, [40, 40], None),
    ("attention/gqa8_fp8_page1", 1, [5, 0, 33], None),
    ("attention/gqa8_fp8_page1", 1, [4100, 17], 4096),
    ("attention/gqa8_fp8_page1", 8, [20, 20], None),
    ("attention/gqa8_fp8_page1", 8, [3, 40, 0], None),
    ("attention/gqa7_bf16_page64", 1, [70, 70], None),
    ("attention/gqa7_bf16_page64", 3, [130, 2], 100),
    ("attention/gqa8_bf16_page16", 1, [16, 16], None),
]


@pytest.mark.parametrize(("bundle", "q", "lengths", "window"), ATTENTION)
def test_torch_sdpa_gives_the_right_output(root, bundle, q, lengths, window):
    problem = manifest(root, bundle)
    module = adapter("attention", "torch_sdpa")
    case = attention_case(problem, q, lengths, window, spare=9)
    outputs, right = answered(module, attention, problem, case)
    assert outputs["out"].dtype == right["out"].dtype
    assert relative_error(outputs["out"], right["out"]) < module.TOLERANCE
    assert outputs.get("lse") is None


def test_a_mask_that_torch_knows_by_name_stands_being_watched(root):
    """Torch cannot make one while operators are recorded, so it is there before the call."""
    problem = manifest(root, "attention/gqa8_fp8_page1")
    module = adapter("attention", "torch_sdpa")
    case = attention_case(problem, 8, [20, 20])
    inputs = attention.inputs(problem, case, torch.Generator().manual_seed(1), CPU)
    arguments = by_name(module.prepare, {**inputs, "problem": problem})
    assert arguments["causal"]
    module._causal.cache_clear()
    by_name(module.prepare, {**inputs, "problem": problem})
    with watched():
        module.run(**arguments)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("bundle", "q", "lengths", "window"), ATTENTION)
def test_flex_attention_gives_the_right_output(root, monkeypatch, bundle, q, lengths, window):
    # on a CPU torch compiles it without LSE and slowly, so this is the function that is compiled
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    compiled._now.clear()
    check_flex(root, bundle, q, lengths, window)
    compiled._now.clear()


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_compiled_flex_attention_gives_the_right_output(root):
    check_flex(root, "attention/gqa8_fp8_page1", 8, [20, 20], None)


def check_flex(root, bundle, q, lengths, window):
    problem = manifest(root, bundle)
    module = adapter("attention", "torch_flex")
    case = attention_case(problem, q, lengths, window, spare=9)
    outputs, right = answered(module, attention, problem, case)
    assert relative_error(outputs["out"], right["out"]) < module.TOLERANCE
    if problem["lse"] == "base_e":
        live = right["lse"].values.isfinite()
        error = (outputs["lse"].double() - right["lse"].values)[live].abs().max()
        assert error < 1e-2
    elif "lse" in outputs:
        assert outputs["lse"] is None


NORM = [
    ("norm/rms_4096", 1, 4096),
    ("norm/rms_4096", 5, 4096),
    ("norm/rms_odd", 3, 2880),
    ("norm/rms_odd", 2, 3),
]


@pytest.mark.parametrize(("bundle", "rows", "columns"), NORM)
def test_eager_rms_norm_gives_the_right_output(root, bundle, rows, columns):
    check_norm(root, "torch_eager", bundle, rows, columns)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("bundle", "rows", "columns"), NORM)
def test_compiled_rms_norm_gives_the_right_output(root, bundle, rows, columns):
    check_norm(root, "torch_compile", bundle, rows, columns)


def check_norm(root, name, bundle, rows, columns):
    problem = manifest(root, bundle)
    case = Case("small", {"T": rows, "H": columns}, {}, "plain", "rows")
    outputs, right = answered(adapter("norm", name), norm, problem, case)
    assert outputs["out"].dtype == right["out"].dtype
    assert relative_error(outputs["out"], right["out"]) < adapter("norm", name).TOLERANCE


@pytest.mark.parametrize("name", ["torch_eager", "torch_compile", "liger", "flashinfer_rms"])
def test_a_norm_peer_refuses_another_formula(root, name):
    problem = {**manifest(root, "norm/rms_4096"), "formula": "x / sum(x)"}
    with pytest.raises(NotOffered, match="computes RMSNorm only, not x / sum"):
        adapter("norm", name).prepare(problem, torch.ones(2, 4096), torch.ones(4096))


def paged(root, bundle, q, lengths, window):
    problem = manifest(root, bundle)
    case = attention_case(problem, q, lengths, window, spare=3)
    arguments = attention.inputs(problem, case, torch.Generator().manual_seed(3), CPU)
    names = ("q", "k_cache", "block_table", "seq_lens")
    seen = visible(*(arguments[name] for name in names), arguments.get("window"))
    return problem, case, arguments, seen


@pytest.mark.parametrize(
    ("bundle", "q", "lengths", "window"),
    [
        ("attention/gqa8_fp8_page1", 8, [3, 0, 130], None),
        ("attention/gqa8_fp8_page1", 1, [4200, 64], 4096),
        ("attention/gqa7_bf16_page64", 3, [300, 64], 100),
    ],
)
def test_a_repacked_cache_is_the_same_cache(root, bundle, q, lengths, window):
    problem, case, arguments, seen = paged(root, bundle, q, lengths, window)
    caches = repacked(
        arguments["k_cache"], arguments["v_cache"], arguments["block_table"], seen, 32
    )
    other = {**arguments, **dict(zip(("k_cache", "v_cache", "block_table"), caches))}
    pages = {"PAGES": caches[0].shape[0], "CAP": caches[2].shape[1] * 32}
    changed = Case(case.name, {**case.axes, **pages}, case.runtime, case.layout, case.regime)
    before = attention.expected(problem, case, arguments)["out"].values
    after = attention.expected({**problem, "page": 32}, changed, other)["out"].values
    assert torch.equal(before, after)
    assert torch.isfinite(caches[0].float()).all()
    assert caches[2].flatten().sort().values.tolist() == list(range(caches[2].numel()))


@pytest.mark.parametrize("most", [8, 64])
def test_sglang_is_prepared_under_the_cap_of_its_adapter(root, monkeypatch, most):
    """Its rule for splits is a kernel; here it is a function that keeps what it is launched with."""
    launched = []
    rule = types.SimpleNamespace(
        get_num_kv_splits_triton={(1,): lambda *a, **k: launched.append(a)}
    )
    monkeypatch.setattr(sglang_triton, "_modules", lambda: (None, rule))
    monkeypatch.setattr(sglang_triton, "_cores", lambda device: 132)
    problem, case, arguments, seen = paged(root, "attention/gqa8_fp8_page1", 1, [40, 7], None)
    module = adapter("attention", f"sglang_triton_{most}")
    prepared = by_name(module.prepare, {**arguments, "problem": problem})
    assert prepared["partial"].shape == (2, 8, most, 128)
    assert set(inspect.signature(module.run).parameters) == set(prepared)
    assert [one for one in launched[0] if isinstance(one, int)] == [2, 1, 8, 1, most, 132]
    assert launched[0][1].tolist() == seen.counts


def test_sglang_does_not_offer_several_query_tokens(root):
    problem, _, arguments, _ = paged(root, "attention/gqa8_fp8_page1", 8, [20, 20], None)
    with pytest.raises(NotOffered, match="takes one query token, not 8"):
        by_name(adapter("attention", "sglang_triton_8").prepare, {**arguments, "problem": problem})


@pytest.mark.parametrize("window", [None, 100])
def test_lists_of_pages_and_slots_name_the_visible_tokens_in_order(root, window):
    lengths = [300, 0, 64, 1]
    _, _, arguments, seen = paged(root, "attention/gqa7_bf16_page64", 1, lengths, window)
    cache, table = arguments["k_cache"], arguments["block_table"]
    wanted = dense(cache, table, seen, max(seen.counts))

    starts, slots = slot_lists(table, seen, cache.shape[1])
    assert starts.tolist() == [0, *torch.tensor(seen.counts).cumsum(0).tolist()]
    for request, count in enumerate(seen.counts):
        mine = slots[starts[request] : starts[request + 1]]
        assert torch.equal(cache.flatten(0, 1)[mine], wanted[request, :count])
        assert torch.isfinite(wanted[request]).all() and not wanted[request, count:].any()

    starts, pages, last = page_lists(table, seen, cache.shape[1])
    assert starts.tolist() == [0, 5, 5, 6, 7] and last.tolist() == [300 - 256, 0, 64, 1]
    assert pages.tolist() == [*table[0, :5].tolist(), table[2, 0].item(), table[3, 0].item()]
    assert math.prod(pages.shape) == 7


def test_cublas_answers_its_own_problem_wherever_torch_runs():
    """Without CUDA torch's own product stands in; the adapter then says that it is not cuBLAS."""
    problem, peer = (
        importlib.import_module(f"benchmarks.peers.gemv.{name}") for name in ("problem", "cublas")
    )
    nobody = lambda output, element: None  # noqa: E731
    case = Case("small", {"M": 3, "N": 48, "K": 700}, {}, "plain", "")
    arguments = problem.inputs({}, case, torch.Generator().manual_seed(1), CPU)
    right = problem.expected({}, case, arguments)["y"]
    y = peer.run(**arguments)
    assert compare("y", y, right, nobody).failure is None
    assert compare("y", y * 1.02, right, nobody).failure is not None
    assert (peer.available() == "") == bool(torch.version.cuda)
    assert problem.work({}, case).bytes == 2 * (3 * 700 + 48 * 700 + 3 * 48)
