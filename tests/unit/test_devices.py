"""The catalogue of devices and targets."""

from __future__ import annotations

import dataclasses

import pytest

from kgen.devices import UnknownName, device, devices, target, targets


def test_the_h200_is_the_one_that_was_measured():
    h200 = device("h200")
    assert (h200.target, h200.sms, h200.shared_bytes) == ("sm_90", 132, 232448)
    assert (h200.read_bytes_per_s, h200.read_basis) == (4.61e12, "measured")


def test_every_device_has_a_known_target_and_plausible_numbers():
    assert set(devices()) == {"a100", "h100", "h200", "b200", "rtx5090", "mi300x"}
    for gpu in devices().values():
        assert gpu.shared_bytes == target(gpu.target).shared_bytes
        assert 1e12 < gpu.read_bytes_per_s < 1e13
        assert gpu.read_basis in ("measured", "document")
        assert 50 < gpu.sms < 400
        assert gpu.max_grid == (2**31 - 1, 65535, 65535)
        assert 2**24 < gpu.l2_bytes < 2**30 < gpu.memory_bytes


@pytest.mark.parametrize(
    "name, backend, arch, warp, shared",
    [
        ("sm_80", "cuda", 80, 32, 163 * 1024),
        ("sm_90", "cuda", 90, 32, 227 * 1024),
        ("sm_100", "cuda", 100, 32, 227 * 1024),
        ("sm_120", "cuda", 120, 32, 99 * 1024),
        ("gfx942", "hip", "gfx942", 64, 64 * 1024),
    ],
)
def test_targets_have_what_the_compiler_needs(name, backend, arch, warp, shared):
    found = target(name)
    assert (found.backend, found.arch, found.warp_size) == (backend, arch, warp)
    assert found.shared_bytes == shared
    assert type(found.arch) is type(arch)


def test_only_sm_100_has_tensor_memory():
    assert {t.name: t.tmem_columns for t in targets().values() if t.tmem_columns} == {"sm_100": 512}


def test_an_unknown_device_is_told_with_the_known_and_the_nearest():
    with pytest.raises(UnknownName) as caught:
        device("h2O0")
    assert str(caught.value) == (
        "no device is named 'h2O0'; known are a100, h100, h200, b200, rtx5090, mi300x; "
        "did you mean h200?"
    )
    assert isinstance(caught.value, KeyError)


def test_an_unknown_target_is_told_too():
    with pytest.raises(UnknownName, match="no target is named 'avx2'; known are sm_80, sm_90"):
        target("avx2")


def test_records_and_tables_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        device("h200").sms = 1
    with pytest.raises(TypeError):
        devices()["mine"] = device("h200")
