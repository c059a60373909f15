"""Specs: YAML text, checked, with the place of everything in it."""

from kgen.spec.attention import AttentionSpec
from kgen.spec.common import SpecModel
from kgen.spec.load import load, loads
from kgen.spec.norm import NormSpec
from kgen.spec.regime import OTHERWISE, Import, Regime
from kgen.spec.spec import Axis, Spec
from kgen.spec.workloads import PerRequest, Sweep

__all__ = [
    "OTHERWISE",
    "AttentionSpec",
    "Axis",
    "Import",
    "NormSpec",
    "PerRequest",
    "Regime",
    "Spec",
    "SpecModel",
    "Sweep",
    "load",
    "loads",
]
