"""Several ways to one point of host code, taken as one."""

from __future__ import annotations

from dataclasses import replace

from kgen.expr import Expr
from kgen.prove.host.comparisons import chosen
from kgen.prove.host.terms import any_of, conjuncts, negation
from kgen.prove.host.trace import Known, Path
from kgen.prove.host.values import Unknown, Value


def joined(test: Expr | None, then: Path, otherwise: Path, before: Path) -> Path:
    """Both ways as one: what held on one of them holds where its test did."""
    start = len(before.known)
    names = {
        one: _merged(test, then.names.get(one), otherwise.names.get(one))
        for one in {**then.names, **otherwise.names}
    }
    known = list(before.known)
    if test is not None:
        for path, holds in ((then, test), (otherwise, negation(test))):
            learnt = [one for one in path.known[start:] if one.condition not in conjuncts(holds)]
            excuse = negation(holds)
            known += [Known(any_of((excuse, one.condition)), one.lines) for one in learnt]
    both = meeting([then, otherwise], start)
    return replace(both, names=names, known=tuple(known))


def _merged(test: Expr | None, then: Value | None, otherwise: Value | None) -> Value:
    if then is None or otherwise is None:
        return Unknown("a name that only one branch binds")
    return chosen(test, then, otherwise)


def meeting(paths: list[Path], start: int) -> Path:
    """Several ends as one, without names: what holds at all of them."""
    first, *rest = paths
    shared = [one for one in first.known[start:] if all(one in path.known[start:] for path in rest)]
    return Path(
        names={},
        known=first.known[:start] + tuple(shared),
        opaque=any(path.opaque for path in paths),
        doubt=next((path.doubt for path in paths if path.doubt), ""),
        launched=frozenset().union(*(path.launched for path in paths)),
    )
