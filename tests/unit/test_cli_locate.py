"""`kgen explain FILE:LINE`: from a generated line back to its template."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from kgen.cli.locate import locate
from kgen.diagnostics import KgenError

SUBMISSION = """\
import triton


@triton.jit
def decode(p_q):
    b_q = 1


LIMIT = 3
"""
MANIFEST = {
    "bytes_sha256": hashlib.sha256(SUBMISSION.encode()).hexdigest(),
    "regimes": [],
    "kernels": {"decode": {"regimes": ["small", "large"]}},
    "functions": {"decode": [4, 6]},
    "templates_index": ["attention/split_k/kernel.py.j2"],
    "source_map": [None, None, None, [0, 10], [0, 11], [0, 14], None, None, None],
}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "submission.py").write_text(SUBMISSION)
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    return tmp_path / "submission.py"


def test_a_kernel_line_names_its_kernel_regimes_and_template_line(bundle):
    origin = locate(bundle, 6)
    assert str(origin).splitlines() == [
        f"{bundle}:6: b_q = 1",
        "  in decode, run by small and large",
        "  from attention/split_k/kernel.py.j2:14",
        "  spec keys: not known, for an older kgen wrote the manifest",
    ]


def test_a_decorator_belongs_to_its_kernel(bundle):
    assert locate(bundle, 4).function == "decode"


def test_a_line_outside_templates_says_that_kgen_assembled_it(bundle):
    origin = locate(bundle, 9)
    assert (origin.function, origin.template) == ("", "")
    assert "  assembled by kgen, from no template line" in str(origin).splitlines()


@pytest.mark.parametrize("line", [0, 10])
def test_a_line_that_the_file_does_not_have_is_told_with_its_range(bundle, line):
    with pytest.raises(KgenError, match=rf"KG192: there is no line {line}: the file has 9"):
        locate(bundle, line)


def test_an_edited_file_is_not_given_the_lines_of_the_rendered_one(bundle):
    bundle.write_text("# by hand\n" + SUBMISSION)
    with pytest.raises(KgenError, match="KG194: the file was edited after it was rendered"):
        locate(bundle, 6)


def test_a_file_without_a_manifest_is_told_what_to_give_instead(bundle):
    (bundle.parent / "manifest.json").unlink()
    with pytest.raises(KgenError, match="KG191: no manifest.json lies beside it") as error:
        locate(bundle, 1)
    assert error.value.diagnostics[0].hint.startswith("give a file that `kgen render` wrote")


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ("{", "cannot be read (Expecting property name"),
        ("[]", "is none of kgen's"),
        ('{"name": "an app"}', "is none of kgen's, or of another kgen: it has no bytes_sha256"),
        (json.dumps({**MANIFEST, "source_map": 0}).replace("source_map", "map"), "no source_map"),
    ],
)
def test_a_manifest_of_something_else_is_told(bundle, manifest, told):
    (bundle.parent / "manifest.json").write_text(manifest)
    with pytest.raises(KgenError, match=f"KG193: .*{re.escape(told)}"):
        locate(bundle, 1)


PAGES = "generated/attention/gqa8_fp8_page1/submission.py"


def keys_of(root, text, within):
    """The spec keys of the first line that holds `text` in the function `within`."""
    lines = (root / PAGES).read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(f"def {within}("))
    line = next(i for i, line in enumerate(lines[begin:], begin + 1) if text in line)
    return {one.key: one.value for one in locate(root / PAGES, line).keys}


def test_a_constant_of_a_launch_leads_to_the_key_of_its_own_regime(root):
    assert keys_of(root, "BLOCK_N=", "launch_decode") == {"regimes.decode.tile.BLOCK_N": 128}
    assert keys_of(root, "BLOCK_N=", "launch_verify_one") == {"regimes.verify_one.tile.BLOCK_N": 64}


def test_a_derived_value_leads_to_every_key_that_it_is_computed_from(root):
    found = keys_of(root, "SPLITS = ", "launch_decode")
    assert {"regimes.decode.splits.max", "regimes.decode.splits.waves", "devices"} <= set(found)
    assert "regimes.decode.tile.BLOCK_N" not in found


def test_an_option_counts_for_the_kernel_that_is_launched_with_it_alone(root):
    lines = (root / PAGES).read_text().splitlines()
    combine = next(i for i, line in enumerate(lines) if line.startswith("    combine_kernel[("))
    option = next(i for i, line in enumerate(lines[combine:], combine + 1) if "num_warps" in line)
    keys = [(one.key, one.value, one.place) for one in locate(root / PAGES, option).keys]
    assert keys == [("regimes.decode.combine.num_warps", 4, "")]
    assert keys_of(root, "num_warps=", "launch_decode") == {"regimes.decode.launch.num_warps": 8}


def test_a_row_of_the_warm_up_goes_by_its_kernel(root):
    assert "regimes.decode.tile.BLOCK_N" in keys_of(root, "BLOCK_N=", "warmup")


def test_a_key_is_told_with_its_value_and_its_line_in_the_spec(root):
    lines = (root / PAGES).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.startswith("HK = "))
    spec = (root / "specs/attention/gqa8_fp8_page1.yaml").read_text().splitlines()
    place = next(number for number, text in enumerate(spec, 1) if text.startswith("  HK:"))
    told = str(locate(root / PAGES, line))
    assert told.endswith(f'depends on axes.HK = {{"const": 1}} (gqa8_fp8_page1.yaml:{place})')


def test_a_value_that_the_spec_leaves_to_the_variant_is_called_its_default(root):
    manifest = json.loads((root / PAGES).with_name("manifest.json").read_text())
    first, last = manifest["functions"]["launch_rest"]
    told = [str(locate(root / PAGES, line)) for line in range(first, last + 1)]
    assert any(
        "regimes.rest.tile.BLOCK_M = 16 (the default, not written in the spec)" in one
        for one in told
    )


def test_a_key_of_a_base_or_an_option_is_where_it_is_written(kgen, root, tmp_path):
    (tmp_path / "base").mkdir()
    base = (root / "specs/norm/rms_4096.yaml").read_text()
    (tmp_path / "base/rows.yaml").write_text(base)
    (tmp_path / "own.yaml").write_text("extends: base/rows.yaml\nname: own\n")
    change = ("--set", "axes.H.const=2048")
    assert kgen("render", tmp_path / "own.yaml", "-o", tmp_path / "out", *change).code == 0
    file = tmp_path / "out/own/submission.py"
    lines = file.read_text().splitlines()
    told = {
        one.key: one.place
        for number, line in enumerate(lines, 1)
        if "H=H" in line or "num_warps=8" in line
        for one in locate(file, number).keys
    }
    warps = next(n for n, line in enumerate(base.splitlines(), 1) if "num_warps" in line)
    assert told["regimes.rows.launch.num_warps"] == f"base/rows.yaml:{warps}"
    assert told["axes.H"] == "<--set 1>"


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        ("gqa4_bf16_sinks_softcap", "b_sink = ", "masking.sinks", True),
        ("gqa4_bf16_sinks_softcap", "tl.exp2(b_sink", "masking.sinks", True),
        ("gqa4_bf16_sinks_softcap", "b_s = SOFTCAP * ", "masking.softcap", 30.0),
        ("gqa4_bf16_gated", "p_gate + i_b * stride_gate_b", "epilogue.gate", "sigmoid"),
        ("gqa4_bf16_gated", "b_out *= tl.sigmoid(b_gate)", "epilogue.gate", "sigmoid"),
        ("gqa4_bf16_gated", "tl.load(p_norm_weight", "epilogue.norm", "rms"),
        ("gqa4_bf16_gated", "gate.stride(0)", "epilogue.gate", "sigmoid"),
        ("gqa4_bf16_csr", "p_kv_indices + b_list", "layout.table", "csr"),
        ("gqa4_bf16_ragged", "tl.load(p_cu_q + i_b + 1)", "layout.queries", "ragged"),
    ],
)
def test_a_tensor_leads_to_the_key_that_it_is_there_for(root, name, text, key, value):
    file = root / "generated/attention" / name / "submission.py"
    lines = file.read_text().splitlines()
    line = next(number for number, one in enumerate(lines, 1) if text in one)
    assert (key, value) in [(one.key, one.value) for one in locate(file, line).keys]


def test_a_knob_is_told_with_its_range_and_its_default(root):
    file = root / "generated/attention/gqa4_bf16_knobs/submission.py"
    lines = file.read_text().splitlines()
    line = next(i for i, text in enumerate(lines, 1) if text.startswith("MOST_PARTS = "))
    told = str(locate(file, line))
    variable = "KGEN_GQA4_BF16_KNOBS_MOST_PARTS"
    known = f'{{"variable": "{variable}", "default": 64, "range": [1, 128]}}'
    assert f"depends on knobs.MOST_PARTS = {known} (gqa4_bf16_knobs.yaml:18)" in told
