"""`kgen.diff.grids` and `waves`: programs that a file launches, read from its host code."""

from __future__ import annotations

import pytest

from kgen.diff.grids import Unknown, programs
from kgen.diff.subjects import Reader
from kgen.diff.waves import waves

HOST = """
SMS = 132


def ceil_div(a, b):
    return -(-a // b)


def check_range(name, value, low, high):
    if not low <= value <= high:
        raise ValueError(name)


def launch_few(x, B, W):
    SPLITS = max(1, min(8, SMS // B))
    part_kernel[(B, SPLITS if W is None else 2)](x, x.stride(0), BLOCK=16)
    sum_kernel[(B,)](x)


def launch_many(x, B):
    part_kernel[(ceil_div(B, 4),)](x)


def run(x, window):
    B = x.shape[0]
    W = window
    out = torch.empty(B)
    if out.numel() == 0:
        return out
    check_range("B", B, 1, 4096)
    declared = 1 <= B <= 4096 and W in (None, 16)
    aligned = is_aligned(x)
    if declared and aligned and B < 64:
        launch_few(x, B, W)
    else:
        launch_many(x, B)
    return out
"""


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        ({"B": 4, "W": None}, {"part_kernel": 32, "sum_kernel": 4}),
        ({"B": 40, "W": None}, {"part_kernel": 120, "sum_kernel": 40}),
        ({"B": 4, "W": 16}, {"part_kernel": 8, "sum_kernel": 4}),
        ({"B": 101, "W": None}, {"part_kernel": 26}),
        ({"B": 4, "W": 5}, {"part_kernel": 1}),  # outside of what is declared
    ],
)
def test_the_launcher_is_chosen_and_its_grid_computed(axes, expected):
    assert programs(HOST, "run", axes) == expected


def test_what_depends_on_a_tensor_is_unknown():
    with pytest.raises(Unknown):
        programs(HOST.replace("B < 64", "x.numel() < 64"), "run", {"B": 4, "W": None})
    with pytest.raises(Unknown):
        programs(HOST.replace("SMS // B", "SMS // x.size(0)"), "run", {"B": 4, "W": None})
    with pytest.raises(Unknown):
        programs(HOST, "main", {"B": 4, "W": None})


def test_a_division_by_zero_is_unknown_and_no_crash():
    with pytest.raises(Unknown):
        programs(HOST.replace("1 <= B", "0 <= B"), "run", {"B": 0, "W": None})


def test_host_code_that_goes_round_in_circles_is_unknown():
    with pytest.raises(Unknown):
        programs("def run(x):\n    run(x)\n", "run", {})


def test_host_code_is_read_and_not_run(tmp_path):
    text = f"open({str(tmp_path / 'ran')!r}, 'w')\n" + HOST
    programs(text, "run", {"B": 4, "W": None})
    assert not (tmp_path / "ran").exists()


def test_a_kernel_s_waves_are_its_programs_for_each_multiprocessor(
    root, tmp_path, cache, monkeypatch
):
    monkeypatch.setenv("KGEN_CACHE", str(cache))
    reader = Reader(tmp_path)
    spec = str(root / "specs/norm/rms_odd.yaml")
    a, b = (
        reader.read(spec, ["workloads.bench=[{T: %d, H: 2880}]" % n]).sides[""] for n in (66, 66)
    )
    assert waves(a, b, {}) == ()
    changed = b.text.replace("rms_kernel[(T,)]", "rms_kernel[(T, 2)]")
    assert changed != b.text
    (one,) = waves(a, type(b)(**{**vars(b), "text": changed}), {})
    assert (one.kernel, one.shape, one.device) == ("rms_kernel", "T 66 H 2880", "h200")
    assert one.waves == (0.5, 1.0)
