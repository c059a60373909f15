"""Mutants of emitted files, and the replay evaluator's judgement of each."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator

import pytest

from kgen.prove.mutate import OPERATORS, SAFETY, VALUE, Mutant, counts, mutants
from kgen.prove.replay.judge import judge
from kgen.prove.replay.scenes import attention_scene, norm_scene, scenes

SPEC = """
kgen: 1
name: small
family: attention
doc: Sizes that run whole in a moment.
axes:
  B:      {range: [1, 128], doc: requests}
  Q:      {values: [1, 3], doc: query tokens}
  HK:     {const: 2, doc: KV heads}
  G:      {const: 3, doc: query heads of each}
  D:      {const: 12, doc: head dimension}
  PAGES:  {range: [1, 262144], doc: pages}
  CAP:    {range: [1, 65536], doc: tokens a request can hold}
  S:      {range: [0, CAP], runtime: true, doc: live tokens}
  WINDOW: {values: [none, 20], doc: sliding window}
interface: {args: [q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window],
            returns: [out, lse], lse: base_e, outside: fallback}
layout: {cache: paged_nhd, page_size: 4, table: block_table}
dtypes: {q: bf16, kv: fp8_e4m3, out: bf16, operand: auto, accumulate: fp32}
masking: {causal: true, window: WINDOW, sinks: false, softcap: none}
scales: {softmax: 1/sqrt(D), k: per_tensor, v: per_tensor}
regimes:
  - {name: decode, when: Q == 1, variant: split_k, tile: {BLOCK_N: 16},
     splits: {waves: 1, min_chunk: 16, max: 4}, launch: {num_warps: 4, num_stages: 3}}
  - {name: verify, when: Q > 1, variant: split_k, tile: {BLOCK_N: 16},
     splits: {waves: 1, min_chunk: 16, max: 4}, launch: {num_warps: 4, num_stages: 3}}
  - {name: rest, when: otherwise, fallback: generic}
devices: [h200]
targets: [sm_90]
judge: plain
workloads:
  check: [{B: 2, Q: 3, S: {per_request: [2, 200]}}]
  bench: [{B: 8, Q: 1, S: 8192}]
"""

LAST_BLOCK = """
import triton
import triton.language as tl
import torch

COUNTS = torch.zeros((1,), dtype=torch.int32)


@triton.jit
def sum_kernel(p_x, p_part, p_count, p_out, N, P: tl.constexpr, BLOCK: tl.constexpr):
    i_p = tl.program_id(0)
    o_n = i_p * BLOCK + tl.arange(0, BLOCK)
    b_x = tl.load(p_x + o_n, mask=o_n < N, other=0.0)
    tl.store(p_part + i_p, tl.sum(b_x, 0))
    tl.debug_barrier()
    if tl.atomic_add(p_count, 1, sem="acq_rel", scope="gpu") == P - 1:
        o_p = tl.arange(0, P)
        tl.store(p_out, tl.sum(tl.load(p_part + o_p), 0))
        tl.atomic_xchg(p_count, 0)


def launch_sum(x, out, N, P):
    part = torch.empty((P,), dtype=torch.float32, device=x.device)
    sum_kernel[(P,)](x, part, COUNTS, out, N, P=P, BLOCK=8)


def run(x):
    out = torch.empty((1,), dtype=torch.float32, device=x.device)
    launch_sum(x, out, x.shape[0], 4)
    return out
"""


@pytest.fixture(scope="module")
def small() -> tuple[str, dict]:
    from kgen.plan.build import build
    from kgen.plan.templates import Templates
    from kgen.render.assemble import render
    from kgen.spec import loads

    templates = Templates()
    source = render(build(loads(SPEC, "small.yaml"), templates), templates)
    return source.text, source.manifest


@pytest.fixture(scope="module")
def odd(root) -> tuple[str, dict]:
    folder = root / "generated" / "norm" / "rms_odd"
    manifest = json.loads((folder / "manifest.json").read_text())
    return (folder / "submission.py").read_text(), manifest


@pytest.fixture(scope="module")
def decode(small):
    """Decode calls of a few lengths, one of them as long as the table is wide."""
    problem = small[1]["problem"]
    axes = {"B": 2, "Q": 1, "WINDOW": None}
    return [
        attention_scene(problem, {**axes, "CAP": 100}, [100, 33]),
        attention_scene(problem, {**axes, "CAP": 32}, [32, 17]),
        attention_scene(problem, {**axes, "CAP": 52}, [60, 0]),
    ]


# ---------------------------------------------------------------- mutants


def test_a_mutant_keeps_every_other_line_where_it_was(small):
    source, _ = small
    original = source.splitlines()
    for number, mutant in enumerate(mutants(source, ["split_kernel", "launch_decode"])):
        if number % 4 == 0:
            ast.parse(mutant.source)
        changed = mutant.source.splitlines()
        assert len(changed) == len(original), mutant
        differing = [n for n, pair in enumerate(zip(original, changed), 1) if pair[0] != pair[1]]
        assert differing and abs(differing[0] - mutant.line) <= 1, mutant


def test_no_mutant_is_the_original_or_another_mutant(small):
    source, _ = small
    texts = [mutant.source for mutant in mutants(source)]
    assert source not in texts
    assert len(set(texts)) == len(texts)


def test_operators_that_need_a_feature_are_counted_as_none_where_it_is_missing(small, odd):
    attention = counts(mutants(small[0]))
    assert {name for name, number in attention.items() if not number} == {
        "barrier removed",
        "release removed",
        "reset removed",
    }
    norm = counts(mutants(odd[0]))
    assert norm["mask dropped"] == 3 and norm["stride swapped"] == 0
    assert list(norm) == list(OPERATORS)


def test_every_operator_has_a_mutant_in_some_subject(small):
    totals = [counts(mutants(source)) for source in (small[0], LAST_BLOCK)]
    assert [name for name in OPERATORS if not any(total[name] for total in totals)] == []


def test_a_mutant_says_where_and_what_was_changed(odd):
    found = [m for m in mutants(odd[0]) if m.operator == "< to <="]
    (mutant,) = found
    line = odd[0].splitlines()[mutant.line - 1]
    assert str(mutant) == (
        f"rms_kernel:{mutant.line}: < to <=: `m_h = o_h < H` -> `m_h = o_h <= H`"
    )
    assert line.strip() == mutant.before


def test_only_the_named_functions_are_mutated(small):
    found = mutants(small[0], ["combine_kernel"])
    assert {mutant.function for mutant in found} == {"combine_kernel"}


# ---------------------------------------------------------------- judgement


def test_every_wrong_mutant_of_the_norm_kernel_is_found_and_no_harmless_one(odd):
    source, manifest = odd
    problem = manifest["problem"]
    calls = [norm_scene(problem, {"T": 3, "H": 3}, gap=gap) for gap in (16, 1)]
    calls.append(norm_scene(problem, {"T": 2**21, "H": 2880}, whole=False))
    outcomes = {}
    for mutant in mutants(source):
        outcomes.setdefault(mutant.operator, []).append(judge(mutant.source, calls).outcome)
    # the output has no gaps between its rows, but 2**21 of them: every wrong one shows
    assert outcomes == {
        "mask dropped": ["wrong"] * 3,
        "< to <=": ["wrong"],
        "cast removed": ["wrong"] * 2,
        "lanes halved": ["wrong"],
        "grid short": ["wrong"],
        "data other changed": ["clean"] * 2,
    }


def test_mutants_of_the_last_block_reduction(tensor):
    from kgen.prove.replay.host import HostTensor
    from kgen.prove.replay.judge import Scene

    scene = Scene("N=30", {"N": 30}, {"x": HostTensor("x", "fp32", (30,), (1,))})
    assert judge(LAST_BLOCK, [scene]).outcome == "clean"
    outcomes: dict[str, set[str]] = {}
    for mutant in mutants(LAST_BLOCK):
        # the last block sets the counter back when all others have ended: in any order
        reset = mutant.operator == "release removed" and "atomic_xchg" in mutant.before
        name = "weak reset" if reset else mutant.operator
        outcomes.setdefault(name, set()).add(judge(mutant.source, [scene]).outcome)
    for operator in ("barrier removed", "release removed", "reset removed", "scratch short"):
        assert outcomes[operator] == {"wrong"}, operator
    assert outcomes["guard dropped"] == {"wrong"}
    assert outcomes["weak reset"] == {"clean"}


def test_one_mutant_of_each_operator_on_the_decode_kernels(small, decode):
    source, _ = small
    assert judge(source, decode).outcome == "clean"
    chosen = {}
    for mutant in mutants(source, ["split_kernel", "launch_decode"]):
        chosen.setdefault(mutant.operator, mutant)
    outcomes = {name: judge(mutant.source, decode).outcome for name, mutant in chosen.items()}
    assert outcomes == {
        "mask dropped": "wrong",
        "mask weakened": "wrong",
        "< to <=": "wrong",
        # widths show only where strides are huge, which these calls have not
        "cast removed": "clean",
        "split short": "wrong",
        "stride swapped": "wrong",
        # the tile no longer fits the accumulator: Triton refuses it too
        "lanes halved": "refused",
        "clamp dropped": "wrong",
        # a part without keys stores what nobody reads
        "guard dropped": "wrong",
        # the entries that are not loaded are not used
        "table other out of range": "clean",
        "scratch short": "wrong",
        "grid short": "wrong",
        "data other changed": "clean",
        "scale dropped": "clean",
    }


def test_a_judgement_counts_only_scenes_that_launch_the_kernel_in_question(small, decode):
    source, _ = small
    assert judge(source, decode, "combine_kernel").ran == len(decode)
    nowhere = judge(source, decode, "attend_kernel")
    assert (nowhere.outcome, nowhere.why) == ("undecided", "no scene launches attend_kernel")


def test_a_file_that_cannot_be_run_is_refused_with_the_reason(small, decode):
    broken = small[0].replace("tl.exp2(", "tl.exp3(")
    judgement = judge(broken, decode)
    assert judgement.outcome == "refused"
    assert "tl.exp3 is not known here" in judgement.why


def _spread(some: Iterable[Mutant]) -> Iterator[Mutant]:
    """Four or some more of each operator, or as many as there are, from all over the file: `docs/mutants.md` has every one."""
    operators: dict[str, list[Mutant]] = {}
    for one in some:
        operators.setdefault(one.operator, []).append(one)
    for group in operators.values():
        yield from group[:: max(1, len(group) // 4)]


@pytest.mark.full
def test_mutants_of_the_attention_kernels_from_all_over_the_file(small):
    source, manifest = small
    calls = scenes(manifest)
    outcomes: dict[str, list[tuple[str, str]]] = {}
    functions = ("split_kernel", "combine_kernel", "split_window_verify_kernel", "attend_kernel")
    for mutant in _spread(mutants(source, (*functions, "launch_decode", "launch_verify_window"))):
        kernel = mutant.function if mutant.function.endswith("_kernel") else ""
        judgement = judge(mutant.source, calls, kernel)
        outcomes.setdefault(mutant.operator, []).append((judgement.outcome, str(mutant)))
    for operator in VALUE:
        assert {outcome for outcome, _ in outcomes[operator]} == {"clean"}, operator
    for operator in ("mask dropped", "scratch short", "grid short"):
        missed = [text for outcome, text in outcomes[operator] if outcome != "wrong"]
        assert missed == [], operator
    for operator in set(SAFETY) & set(outcomes) - {"table other out of range", "guard dropped"}:
        assert "wrong" in {outcome for outcome, _ in outcomes[operator]}, operator
    assert "undecided" not in {outcome for found in outcomes.values() for outcome, _ in found}
