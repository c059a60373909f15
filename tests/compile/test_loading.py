"""Importing generated files."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kgen.compile.loading import load


def test_a_rewritten_file_of_the_same_size_and_time_is_loaded_anew(tmp_path):
    source = tmp_path / "submission.py"
    for value in (1, 2, 3):
        source.write_text(f"VALUE = {value}\n")
        os.utime(source, (1_000_000, 1_000_000))
        assert load(source).VALUE == value
    assert list(tmp_path.iterdir()) == [source]


def test_a_file_is_loaded_once_for_each_variant(tmp_path):
    source = tmp_path / "submission.py"
    source.write_text("VALUE = object()\n")
    assert load(source, "sm_90") is load(source, "sm_90")
    assert load(source, "sm_90").VALUE is not load(source, "sm_80").VALUE


def test_a_file_that_fails_leaves_no_half_module(tmp_path):
    source = tmp_path / "submission.py"
    source.write_text("VALUE = 1\nraise RuntimeError('at import')\n")
    before = set(sys.modules)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="at import"):
            load(source)
    assert not {name for name in set(sys.modules) - before if name.startswith("kgen_generated")}


DEFERRED = """
import sys, time
from pathlib import Path
from kgen.compile.loading import defer_torch, load
defer_torch()
module = load(Path(sys.argv[1]))
print("torch._C" in sys.modules, module.DTYPE if sys.argv[2:] else "", "torch._C" in sys.modules)
"""


def test_torch_is_imported_where_a_file_uses_it_on_import_and_only_there(tmp_path):
    """A file that takes a constant from torch gets the real one."""
    quiet, using = tmp_path / "quiet.py", tmp_path / "using.py"
    quiet.write_text("import torch\ndef run():\n    return torch.float32\n")
    using.write_text("import torch\nimport torch.nn\nDTYPE = torch.float32\n")
    for arguments, expected in (
        ([quiet], "False  False"),
        ([using, "DTYPE"], "True torch.float32 True"),
    ):
        command = [sys.executable, "-c", DEFERRED, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected
