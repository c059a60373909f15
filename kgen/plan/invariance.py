"""Whether a request's result depends on the batch that it is in: what `numerics.deterministic` rules out.

A result has the same bits wherever the same kernel with the same constants does the same operations in the same order.
So a regime must not be chosen by the batch, and its variant has to say that no part of its work is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from kgen.diagnostics import Diagnostic
from kgen.expr import Expr, evaluate, listing, names
from kgen.families.model import Value
from kgen.plan.variant import Variant, expression
from kgen.spec import Spec

CODE = "KG432"


def demanded(spec: Spec) -> bool:
    """Whether the spec wants results that do not depend on the batch."""
    return getattr(spec.document.numerics, "deterministic", False)


def dependent_choice(
    spec: Spec, index: int, when: Expr | None, batch_axes: Set[str]
) -> Iterator[Diagnostic]:
    """A regime that some batches get and others do not."""
    asked = sorted(names(when) & batch_axes) if when is not None else []
    if asked:
        yield spec.diagnostic(
            CODE,
            f"regime {spec.document.regimes[index].name} is chosen by {listing(asked)}, so that the kernel of a request"
            " depends on its batch",
            *("regimes", index, "when"),
            hint="choose regimes by the request alone, or leave out numerics.deterministic",
        )


def dependent_results(
    spec: Spec, index: int, variant: Variant, numbers: Mapping[str, Value]
) -> Iterator[Diagnostic]:
    """A variant whose order of operations follows from the batch."""
    name, declared = spec.document.regimes[index].name, variant.batch_invariant
    if declared is None:
        why, instead = f"variant {variant.variant} promises nothing about it", "use another variant"
    elif evaluate(expression(declared.when), numbers):
        return
    else:
        why, instead = declared.why, declared.instead
    message = f"regime {name}: the bits of a result depend on its batch: {why}"
    yield spec.diagnostic(
        CODE, message, "regimes", index, hint=f"{instead}; or leave out numerics.deterministic"
    )


def dependent_outside(spec: Spec, batch_axes: Set[str]) -> Iterator[Diagnostic]:
    """A fallback that serves batches beyond the declared ones with another kernel."""
    document = spec.document
    custom = any(regime.variant is not None for regime in document.regimes)
    if document.interface.outside == "fallback" and document.regimes[-1].fallback and custom:
        yield spec.diagnostic(
            CODE,
            f"the fallback serves what lies outside the declared {listing(sorted(batch_axes))}, with another kernel",
            *("interface", "outside"),
            hint="write outside: raise, or leave out numerics.deterministic",
        )
