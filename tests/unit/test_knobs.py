"""Parameters that the environment sets: what a spec may say, what is emitted, and what is proved of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.diagnostics import KgenError
from kgen.plan.build import build
from kgen.plan.check import check
from kgen.plan.templates import Templates
from kgen.prove.host import prove_host
from kgen.prove.replay.host import capture
from kgen.prove.replay.scenes import attention_scene
from kgen.render.assemble import raw_text, render
from kgen.render.environment import workshop
from kgen.render.helpers import sources
from kgen.render.kernels import launchers
from kgen.render.model import Source
from kgen.runner.load import load_file
from kgen.spec import load
from kgen.sweep.cost import CostModel
from kgen.sweep.shapes import Shape
from kgen.sweep.space import axes, candidates, current

SPEC = "specs/attention/gqa4_bf16_knobs.yaml"
SPLITS = "regimes.decode.splits"
NUMBERS = (f"{SPLITS}={{waves: 2, min_chunk: 256, max: 64}}", "knobs={}")
MOST = "KGEN_GQA4_BF16_KNOBS_MOST_PARTS"


@pytest.fixture(scope="module")
def rendered(root: Path) -> Callable[..., Source]:
    return functools.cache(lambda *overrides: render(build(load(root / SPEC, overrides))))


def _refused(root: Path, *overrides: str) -> str:
    with pytest.raises(KgenError) as caught:
        build(load(root / SPEC, overrides))
    return str(caught.value)


# ---------------------------------------------------------------- what is emitted


def test_parts_follow_from_the_knobs_and_nothing_else_changes(rendered):
    knobs, numbers = rendered(), rendered(*NUMBERS)
    line = "SPLITS = max(1, min({}, {} * SMS // (B * HK), ceil_div(CAP, {})))"
    assert line.format("MOST_PARTS", "PART_WAVES", "LEAST_PART") in knobs.text
    assert line.format(64, 2, 256) in numbers.text
    assert f'MOST_PARTS = read_knob("{MOST}", 64, 1, 128)\n' in knobs.text
    assert "os" not in numbers.text.split("import torch")[0].split()[-3:]
    kernels = [
        text[text.index("@triton") : text.index("def launch_")]
        for text in (knobs.text, numbers.text)
    ]
    assert kernels[0] == kernels[1]
    # what is compiled ahead does not depend on a knob
    assert knobs.manifest["signatures"] == numbers.manifest["signatures"]
    assert knobs.manifest["knobs"]["MOST_PARTS"] == {
        **{"variable": MOST, "default": 64, "range": [1, 128]},
    }


def test_tests_and_tables_are_told_the_defaults(rendered):
    for regimes in ("regimes", "problem"):
        found = rendered().manifest[regimes]
        decode, _ = found["regimes"] if regimes == "problem" else found
        assert decode["parameters"]["MAX_SPLITS"] == 64
    assert "WAVES=PART_WAVES, MIN_CHUNK=LEAST_PART, MAX_SPLITS=MOST_PARTS" in rendered().text


def test_the_keys_behind_what_a_knob_decides_are_the_knob_s(rendered):
    decode = rendered().manifest["regimes"][0]["depends"]
    assert decode["MAX_SPLITS"] == ["knobs.MOST_PARTS"]
    assert decode["BLOCK_S"] == ["knobs.MOST_PARTS", "regimes.decode.combine.BLOCK_S"]
    assert {"knobs.LEAST_PART", "knobs.MOST_PARTS", "knobs.PART_WAVES"} < set(decode["SPLITS"])


def test_what_is_a_constant_is_made_for_the_greatest_value(rendered):
    loop = "for i_s in tl.range(0, b_parts, BLOCK_S):"
    assert loop not in rendered("regimes.decode.combine={BLOCK_S: 128}").text
    assert loop in rendered("regimes.decode.combine={BLOCK_S: 64}").text
    few = rendered("knobs.MOST_PARTS={range: [1, 8], default: 2}").text
    assert "BLOCK_S=8" in few


@pytest.mark.parametrize(
    ("text", "value"),
    [(None, 64), ("1", 1), ("128", 128), ("007", 7)],
)
def test_the_variable_is_read(monkeypatch, text, value):
    assert _reader(monkeypatch, text)("KNOB", 64, 1, 128) == value


@pytest.mark.parametrize(
    "text", ["", "0", "129", "-1", "+3", "1_0", " 5", "5 ", "five", "5.0", "٣", "9" * 5000]
)
def test_what_is_no_integer_within_bounds_is_refused(monkeypatch, text):
    with pytest.raises(ValueError) as refused:
        _reader(monkeypatch, text)("KNOB", 64, 1, 128)
    assert str(refused.value) == f"KNOB is {text!r}; this file takes an integer from 1 to 128"


def _reader(monkeypatch, text: str | None) -> Callable[[str, int, int, int], int]:
    monkeypatch.delenv("KNOB", raising=False)
    if text is not None:
        monkeypatch.setenv("KNOB", text)
    module: dict = {}
    exec("import os\n" + sources({"read_knob"})[0], module)
    return module["read_knob"]


def test_what_is_tested_or_measured_has_the_defaults(monkeypatch, tmp_path):
    file = tmp_path / "submission.py"
    file.write_text(
        f"import os\n{sources({'read_knob'})[0]}\nPARTS = read_knob('{MOST}', 64, 1, 128)\n"
    )
    monkeypatch.setenv(MOST, "5")
    assert load_file(file).PARTS == 64
    monkeypatch.setenv(MOST, "five")
    assert load_file(file).PARTS == 64


# ---------------------------------------------------------------- what is proved


@functools.cache
def _emitted(root: Path):
    templates = Templates()
    plan = build(load(root / SPEC), templates)
    return raw_text(plan, templates), plan, launchers(plan, workshop(templates))


def _open(root: Path, old: str, new: str) -> set[tuple[str, Status]]:
    """What is not proved once `old` has become `new`."""
    text, *rest = _emitted(root)
    assert text.count(old) == 1
    found = prove_host(text.replace(old, new), *rest).obligations
    return {(one.says, one.status) for one in found if one.status is not Status.PROVED}


READ = f'MOST_PARTS = read_knob("{MOST}", 64, 1, 128)\n'
SAYS = f"MOST_PARTS is 64, or what {MOST} holds, from 1 to 128"
WITHIN = "1 <= MOST_PARTS <= 128"


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        (READ, READ.replace("128", "129"), Status.REFUTED),
        (READ, READ.replace("64", "65"), Status.REFUTED),
        (READ, READ.replace("PARTS", "PART"), Status.UNKNOWN),
        (READ, READ.replace(MOST, f"{MOST}_"), Status.REFUTED),
        (READ, READ.replace("64", "500"), Status.UNKNOWN),
        (READ, READ + "MOST_PARTS = 7\n", Status.UNKNOWN),
        (READ, READ + "def more():\n    global MOST_PARTS\n    MOST_PARTS = 500\n", Status.UNKNOWN),
        (READ, f"{READ}int = str\n", Status.UNKNOWN),
        (READ, READ.replace("read_knob(", "int("), Status.UNKNOWN),
        ("not low <= int(text) <= high", "not low <= int(text)", Status.UNKNOWN),
        ("        return default", "        return 500", Status.UNKNOWN),
        ("import os\n", "import os\nos = {}\n", Status.UNKNOWN),
        ("import os\n", "from other import os\n", Status.UNKNOWN),
    ],
)
def test_a_knob_is_what_it_is_read_as(root, old, new, status):
    found = _open(root, old, new)
    assert (SAYS, status) in found or (SAYS.replace("PARTS", "PART"), status) in found
    if status is Status.UNKNOWN or "129" in new:
        assert WITHIN in {says for says, _ in found}


def test_a_knob_that_each_call_reads_is_refuted(root):
    line = "    # where the spec declares"
    found = _open(root, line, f'    parts = read_knob("{MOST}", 64, 1, 128)\n{line}')
    assert ("no import and no I/O inside a function", Status.REFUTED) in found


def test_a_replay_has_the_numbers_that_it_is_given(rendered):
    source = rendered()
    axes = {"B": 2, "Q": 1, "CAP": 1024, "PAGES": 200}
    scene = attention_scene(source.manifest["problem"], axes, [1024, 3])

    def parts(**knobs: int) -> int:
        instance = capture(source.text, scene.arguments, axes=scene.axes, knobs=knobs)
        return instance.launches[0].grid[2]

    assert parts() == parts(MOST_PARTS=64) == 4
    assert (parts(MOST_PARTS=3), parts(LEAST_PART=64), parts()) == (3, 16, 4)


def test_a_range_that_breaks_a_constraint_is_found(root):
    wide = "knobs.MOST_PARTS={range: [1, 4096], default: 64}"
    assert check(build(load(root / SPEC))).clean
    found = check(build(load(root / SPEC, (wide, "regimes.decode.combine={BLOCK_S: 4096}"))))
    assert any("BLOCK_S * BLOCK_V <= 65536" in str(one) for one in found.findings)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (f"{SPLITS}.max=MOST", "KG411: splits.max is an integer, and there is no knob `MOST`"),
        ("regimes.decode.tile.BLOCK_N=MOST_PARTS", "KG434: tile.BLOCK_N cannot be a knob: nothing was proved"),
        ("knobs.MOST_PARTS.range=[0, 128]", "KG411: splits.max is the knob MOST_PARTS, which may be 0, less than 1"),
        ("knobs.MOST_PARTS.range=[1, 5000]", "KG411: splits.max is the knob MOST_PARTS, which may be 5000, more than 4096"),
        ("knobs.WAVES={range: [1, 4], default: 2}", "KG427: WAVES is a knob of this spec, and attention/split_k declares it"),
        ("knobs.most={range: [1, 4], default: 2}", "KG427: the knob most is not in upper case"),
        ("knobs.SMS={range: [1, 4], default: 2}", "KG427: the knob SMS has the name of a constant of attention"),
    ],
)  # fmt: skip
def test_a_plan_refuses_what_makes_no_sense(root, override, message):
    assert message in _refused(root, override)


def test_a_knob_that_sets_nothing_is_a_finding(root):
    (found,) = check(build(load(root / SPEC, (f"{SPLITS}.max=8",)))).findings
    assert "KG435: no regime has the knob MOST_PARTS as a parameter, so that it would set" in str(found)  # fmt: skip


# ---------------------------------------------------------------- sweeps


def test_a_sweep_leaves_knobs_as_they_are(root):
    spec, templates = load(root / SPEC), Templates()
    (found,) = axes(spec, templates, ("decode.tile.BLOCK_N=32,64",))
    assert found.values["splits.max"] == ("MOST_PARTS",)
    one = next(candidates(found))
    tried = build(load(root / SPEC, one.overrides()), templates)
    assert tried.knobs.keys() == {"PART_WAVES", "LEAST_PART", "MOST_PARTS"}


def test_a_swept_knob_is_refused(root):
    with pytest.raises(KgenError) as refused:
        axes(load(root / SPEC), Templates(), ("decode.splits.max=8,16",))
    assert "KG854: `splits.max` is the knob MOST_PARTS in regime decode" in str(refused.value)


def test_an_estimate_is_made_for_the_defaults(root):
    templates = Templates()
    at = Shape("here", {"B": 2, "Q": 1, "CAP": 32768, "PAGES": 4097})

    def estimate(*overrides: str):
        spec = load(root / SPEC, overrides)
        (space,) = axes(spec, templates, ("decode.tile.BLOCK_N=64",))
        costs = CostModel(build(spec), space, templates, [at])
        return costs.estimate(current(spec, templates, 0), "here")

    assert estimate() == estimate(*NUMBERS)
