"""The GPUs and instruction sets that kgen knows, as data."""

from kgen.devices.catalogue import Device, Target, UnknownName, device, devices, target, targets

__all__ = ["Device", "Target", "UnknownName", "device", "devices", "target", "targets"]
