"""`kgen explain FILE:LINE`: from a generated line back to its template."""

from __future__ import annotations

import hashlib
import json
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
    ]


def test_a_decorator_belongs_to_its_kernel(bundle):
    assert locate(bundle, 4).function == "decode"


def test_a_line_outside_templates_says_that_kgen_assembled_it(bundle):
    origin = locate(bundle, 9)
    assert (origin.function, origin.template) == ("", "")
    assert str(origin).endswith("assembled by kgen, from no template line")


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
