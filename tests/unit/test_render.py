"""The emitted file: what it says, where each line of it comes from, and what templates may not do."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kgen.diagnostics import KgenError
from kgen.plan.build import build
from kgen.plan.templates import Templates
from kgen.render.assemble import render
from kgen.render.hashes import core_sha256
from kgen.render.model import Source
from kgen.spec import load

ATTENTION = "specs/attention/gqa8_fp8_page1.yaml"
NORM = "specs/norm/rms_4096.yaml"


@pytest.fixture
def rendered(root: Path):
    def run(spec: str = ATTENTION, *overrides: str, templates: Templates | None = None) -> Source:
        found = templates or Templates()
        return render(build(load(root / spec, overrides), found), found)

    return run


def _functions(text: str) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


# ---------------------------------------------------------------- the text


def test_one_kernel_for_each_text_and_one_launcher_for_each_group(rendered):
    functions = _functions(rendered().text)
    assert [name for name in functions if name.endswith("_kernel")] == [
        "split_kernel",
        "combine_kernel",
        "split_window_kernel",
        "combine_window_kernel",
        "split_window_verify_full_kernel",
        "combine_window_verify_full_kernel",
        "attend_kernel",
    ]
    assert [name for name in functions if name.startswith("launch_")] == [
        "launch_decode",
        "launch_decode_window",
        "launch_verify_one",
        "launch_rest",
    ]


def test_regimes_with_the_same_text_share_kernels(rendered):
    functions = _functions(rendered("specs/attention/gqa8_bf16_page16.yaml").text)
    assert [name for name in functions if name.endswith("_kernel")] == [
        "split_kernel",
        "combine_kernel",
        "attend_kernel",
    ]


def test_dead_branches_and_unused_arguments_are_gone(rendered):
    functions = _functions(rendered().text)
    parameters = {name: [a.arg for a in node.args.args] for name, node in functions.items()}
    assert "WINDOW" in parameters["split_window_kernel"]
    assert "WINDOW" not in parameters["split_kernel"]
    assert "PAGE" not in parameters["split_kernel"]
    for name, node in functions.items():
        if name.endswith("_kernel"):
            used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            assert set(parameters[name]) <= used
            assert not any(
                isinstance(one, ast.If) and isinstance(one.test, ast.Name) for one in ast.walk(node)
            )


def test_only_declared_arguments_are_specialised_and_every_number_has_its_type(rendered):
    text = rendered().text
    decorator = text[: text.index("def split_kernel")].rsplit("@triton.jit", 1)[1]
    listed = ast.literal_eval(decorator.strip()[1:-1].partition("=")[2])
    assert listed == [
        "p_block_table",
        "p_seq_lens",
        "p_k_scale",
        "stride_block_table_b",
        "CAP",
        "SPLITS",
    ]
    arguments = _functions(text)["split_kernel"].args.args
    types = {a.arg: ast.unparse(a.annotation) for a in arguments if a.annotation}
    assert (types["stride_q_b"], types["CAP"], types["D"]) == (
        "tl.int64",
        "tl.int32",
        "tl.constexpr",
    )
    assert [a.arg for a in arguments if not a.annotation] == [
        a.arg for a in arguments if a.arg.startswith("p_")
    ]


def test_a_column_mask_is_written_only_where_the_tile_is_wider(rendered):
    assert "o_d < D" not in rendered().text
    assert "o_d < D" in rendered("specs/attention/gqa7_bf16_page64.yaml").text


def test_the_file_imports_torch_and_triton_only(rendered):
    imports = [
        node
        for node in ast.parse(rendered().text).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert [alias.name for node in imports for alias in node.names] == [
        "torch",
        "triton",
        "triton.language",
    ]


def test_an_imported_fallback_is_called_with_the_arguments(rendered):
    source = rendered(ATTENTION, 'regimes.rest.fallback={import: "serving.attention:decode"}')
    assert "from serving.attention import decode as fallback" in source.text
    assert (
        "return fallback(q, k_cache, v_cache, block_table, seq_lens, k_scale, v_scale, window)"
        in source.text
    )
    assert "attend_kernel" not in source.text


def test_a_spec_puts_no_text_of_its_own_into_code(rendered):
    evil = 'a "quoted" line\nimport os\n"""\nos.system("true")'
    source = rendered(NORM, f"doc={evil!r}")
    assert "import os" in source.text
    assert not any(
        "os" in ast.dump(node) and isinstance(node, ast.Import)
        for node in ast.walk(ast.parse(source.text))
        if "os'" in ast.dump(node)
    )
    assert all(line.startswith("#") for line in source.text.splitlines() if "os.system" in line)


@pytest.mark.parametrize(
    ("axis", "text"),
    [
        ("D", "a\nimport os"),
        ("D", 'a""" + str(1) + """'),
        ("WINDOW", "a\nimport os"),
        ("WINDOW", "a\\"),
    ],
)
def test_an_axis_doc_ends_neither_a_comment_nor_a_docstring(rendered, axis, text):
    honest, evil = rendered().text, rendered(ATTENTION, f"axes.{axis}.doc={json.dumps(text)}").text
    assert core_sha256(evil) == core_sha256(honest)


def test_launchers_have_names_of_their_own(rendered):
    regimes = (
        "regimes=[{name: a, when: Q == 1, variant: split_k},"
        " {name: a_window, when: Q == 8, variant: split_k},"
        " {name: rest, when: otherwise, fallback: generic}]"
    )
    text = rendered(ATTENTION, regimes, "sweep={}").text
    names = [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    assert len(names) == len(set(names))
    assert {"launch_a", "launch_a_window", "launch_a_window_"} <= set(names)


def test_bounds_that_depend_on_other_axes_are_checked_at_the_call(rendered):
    text = rendered(ATTENTION, "axes.CAP={range: [1, 131072 - B]}", "interface.outside=raise").text
    assert 'check_range("CAP", CAP, 1, 131072 - B)' in text


def test_a_file_whose_axes_are_all_constant_needs_no_condition(rendered):
    text = rendered(NORM, "axes.T={const: 7}", "workloads.check=[]", "workloads.bench=[]").text
    assert "declared" not in text


# ---------------------------------------------------------------- the same bytes, and their hashes


def test_the_same_input_gives_the_same_bytes_in_another_process(rendered, root):
    program = (
        "from kgen.plan.build import build; from kgen.render.assemble import render; from kgen.spec import load\n"
        f"print(render(build(load({str(root / NORM)!r}))).manifest['bytes_sha256'])"
    )
    seeds = ("1", "2")
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            cwd="/",
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in seeds
    }
    assert found == {rendered(NORM).manifest["bytes_sha256"]}


def test_a_comment_changes_the_bytes_and_not_the_core(rendered):
    source = rendered(NORM)
    commented = source.text.replace("i_t = tl.program_id(0)", "i_t = tl.program_id(0)  # a row", 1)
    assert commented != source.text
    assert core_sha256(commented) == source.manifest["core_sha256"]


def test_the_core_is_the_same_under_every_version_of_python():
    text = (
        "class A:\n    async def m(self, a, /, b=1, *c, d=None, **e):\n"
        "        return lambda: [*c, {}, (), f'{a!r:>{b}} x' f'y']\n"
        "@d\ndef f(a: int) -> str:\n    return f'{a}'\n"
    )
    assert core_sha256(text) == "dd8448e5400601bda4ef8ae968215056c2472ede37313b90aa15587c71de72a2"


def test_changed_code_changes_the_core(rendered):
    source = rendered(NORM)
    assert core_sha256(source.text.replace("/ H", "/ (H + 1)", 1)) != source.manifest["core_sha256"]


# ---------------------------------------------------------------- where lines come from


def test_every_kernel_line_maps_to_the_template_line_that_wrote_it(rendered, root):
    source = rendered()
    index, mapped = source.manifest["templates_index"], source.manifest["source_map"]
    lines = source.text.splitlines()
    assert len(mapped) == len(lines)
    first, last = source.manifest["functions"]["split_kernel"]
    for number in range(first, last + 1):
        text = lines[number - 1].strip()
        if text.startswith(("b_", "i_", "o_", "m_", "#", "for", "tl.store")):
            assert mapped[number - 1] is not None, text
    number = next(n for n, line in enumerate(lines, 1) if "b_alpha = tl.exp2(b_m - b_ref)" in line)
    template, line = mapped[number - 1]
    assert index[template] == "shared/attention.py.j2"
    assert (
        "b_alpha = tl.exp2(b_m - b_ref)"
        in (root / "templates" / index[template]).read_text().splitlines()[line - 1]
    )


def test_the_manifest_names_every_signature_once(rendered):
    signatures = rendered().manifest["signatures"]
    seen = [(one["function"], tuple(one["constants"].items())) for one in signatures]
    assert len(seen) == len(set(seen)) == 7
    split = next(one for one in signatures if one["function"] == "split_kernel")
    assert split["signature"]["p_k"] == "*fp8e4nv"
    assert split["signature"]["stride_k_page"] == "i64"
    assert split["signature"]["CAP"] == "i32"
    assert split["constants"]["BLOCK_N"] == 128
    assert split["divisible_by_16"][:3] == ["p_q", "p_k", "p_v"]


# ---------------------------------------------------------------- mistakes in templates


@pytest.fixture
def template(root: Path, tmp_path: Path):
    """A variant folder of kgen's with pieces of its files replaced."""

    def changed(name: str, file: str, old: str, new: str) -> Templates:
        folder = tmp_path / name
        shutil.copytree(root / "templates" / name, folder)
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))
        return Templates([tmp_path])

    return changed


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "kernel.py.j2",
            "BLOCK_H)",
            "BLOCK_X)",
            "norm/rms/kernel.py.j2:4:1: KG507: the kernel uses BLOCK_X, which variant.yaml does not declare",
        ),
        (
            "kernel.py.j2",
            'has("weight")',
            "nothing.here",
            "norm/rms/kernel.py.j2:13:1: KG509: kernel rms cannot be rendered: 'nothing' is undefined",
        ),
        (
            "kernel.py.j2",
            "{{ head() }}",
            "{{ head() }}{{ None }}",
            "KG509: kernel rms cannot be rendered: None would be printed",
        ),
        ("kernel.py.j2", "{% endmacro %}", "{% endmac %}", "KG508: the template does not parse"),
        (
            "kernel.py.j2",
            "i_t = tl",
            "i_t = = tl",
            "KG510: kernel rms renders to what is no Python",
        ),
        (
            "kernel.py.j2",
            'at("x", t="i_t")',
            'at("x", row="i_t")',
            "KG509: kernel rms cannot be rendered: x has no dimension row; it has t, h",
        ),
        ("kernel.py.j2", "{{ head() }}", "{{ head().__class__ }}", "KG509"),
        (
            "variant.yaml",
            "constants: [H, EPS, BLOCK_H]",
            "constants: [H, EPS, BLOCK_H, SMS]",
            "KG506: kernel rms declares SMS, and its template never uses it",
        ),
        (
            "variant.yaml",
            "  NUM_WARPS:",
            "  SPARE: {key: tile.SPARE, default: 1, doc: nothing}\n  NUM_WARPS:",
            "KG506: it declares SPARE, and nothing uses it",
        ),
        (
            "variant.yaml",
            "lanes: [BLOCK_H]",
            "lane: [BLOCK_H]",
            "norm/rms/variant.yaml:27:1: KG201: unknown key `lane`",
        ),
        (
            "variant.yaml",
            "value: next_pow2(H)",
            "value: next_pow(H)",
            "KG502: this is no expression: ",
        ),
        (
            "variant.yaml",
            "family: norm",
            "family: attention",
            "KG503: the folder norm/rms declares itself as family attention",
        ),
        (
            "variant.yaml",
            "tensors: [x, weight, out]\n    writes",
            "tensors: [x, weight, y, out]\n    writes",
            "KG415: kernel rms names tensor y, which the family does not have",
        ),
        (
            "kernel.py.j2",
            'has("weight")',
            'has("wieght")',
            "KG509: kernel rms cannot be rendered: there is no tensor wieght; did you mean `weight`?",
        ),
        (
            "variant.yaml",
            "tensors: [x, weight, out]\n    writes",
            "tensors: [x, out]\n    writes",
            "KG513: no kernel of norm/rms reads weight, which the entry takes",
        ),
        (
            "variant.yaml",
            "num_warps: NUM_WARPS",
            "num_warps: NUMWARPS",
            "KG514: kernels.rms.launch: `NUMWARPS` is no axis, constant, parameter or derived value",
        ),
        (
            "variant.yaml",
            "extent: H, tile",
            "extent: HH, tile",
            "KG514: tiling.columns: `HH` is no axis",
        ),
        (
            "variant.yaml",
            'turns: "1"}',
            "parts: 4}",
            "KG502: `parts` and `most_parts` go together",
        ),
        (
            "variant.yaml",
            "    writes: [out]\n",
            "",
            "KG202: the key `writes` is missing in `kernels.rms`",
        ),
        (
            "variant.yaml",
            "labels:\n  padded: BLOCK_H > H",
            "labels:\n  padded: T > 1",
            "KG413: label padded of variant rms needs T before launch",
        ),
    ],
)
def test_a_wrong_template_is_said_with_its_place(rendered, template, file, old, new, message):
    with pytest.raises(KgenError) as caught:
        rendered(NORM, templates=template("norm/rms", file, old, new))
    assert message in str(caught.value)


def test_a_text_that_no_label_explains_is_refused(rendered, template):
    templates = template(
        "norm/rms", "variant.yaml", "labels:\n  padded: BLOCK_H > H\n", "labels:\n  padded: 1 > 0\n"
    )
    source = rendered("specs/norm/rms_odd.yaml", templates=templates)
    assert "mask=m_h" in source.text
    folder = templates.roots[0] / "norm" / "rms" / "kernel.py.j2"
    folder.write_text(
        folder.read_text().replace(
            "{% if label.padded %}\n    m_h", "{% if label.unknown %}\n    m_h"
        )
    )
    with pytest.raises(KgenError, match="has no attribute 'unknown'"):
        rendered("specs/norm/rms_odd.yaml", templates=Templates([templates.roots[0]]))


def test_a_missing_template_folder_is_said(tmp_path):
    with pytest.raises(KgenError, match="KG501: there is no such template folder"):
        Templates([tmp_path / "nowhere"])


def test_a_folder_without_kernels_is_said(rendered, template):
    templates = template("norm/rms", "kernel.py.j2", "{% macro", "{% macro")
    (templates.roots[0] / "norm" / "rms" / "kernel.py.j2").unlink()
    with pytest.raises(KgenError, match="KG504: the folder norm/rms has no kernel.py.j2"):
        rendered(NORM, templates=Templates([templates.roots[0]]))


def test_an_unknown_judge_is_refused(rendered):
    with pytest.raises(KgenError, match="KG418: there is no judge plane; known are plain"):
        rendered(NORM, "judge=plane")
