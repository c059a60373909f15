"""What becomes of scores between their product and the softmax, and what joins them there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgen.diagnostics import Diagnostic
    from kgen.spec import Spec

LEAST_SOFTCAP, MOST_SOFTCAP = 2.0**-10, 2.0**10
"""A cap is exact to 2^-21 of itself in fp32; up to the larger bound, that is less than P loses as fp16."""


def modifications(spec: Spec) -> Mapping[str, Any]:
    """What a problem says of them: only where there are any, since measurements are filed under all that it says."""
    masking = spec.document.masking
    found: dict[str, Any] = {}
    if masking.softcap is not None:
        found["softcap"] = float(masking.softcap)
    if masking.sinks:
        found["sinks"] = True
    if masking.tree != "none":
        found["tree"] = masking.tree
    return found


def check_scores(spec: Spec) -> Iterator[Diagnostic]:
    """A softcap that fp32 cannot compute well enough."""
    cap = spec.document.masking.softcap
    if cap is not None and not LEAST_SOFTCAP <= cap <= MOST_SOFTCAP:
        yield spec.diagnostic(
            "KG440",
            f"a softcap of {cap} is outside of what kernels compute exactly enough",
            "masking",
            "softcap",
            hint=f"write a number from 1/{1 / LEAST_SOFTCAP:.0f} to {MOST_SOFTCAP:.0f}, or none",
        )
