"""What an integer tensor holds that an earlier launch filled: the value that was stored at that place."""

from __future__ import annotations

from collections.abc import Sequence

from kgen.algebra import Formula, Poly, conjuncts, substitute
from kgen.prove.coordinates import coordinates
from kgen.prove.obligations.bounds import located, reached
from kgen.prove.obligations.digits import Digits, NotDigits
from kgen.prove.obligations.engine import Engine
from kgen.prove.obligations.once import check_demand
from kgen.prove.obligations.place import Place, demands_of
from kgen.prove.reader import Reading
from kgen.prove.reader.values import Integer


def stored_value(
    engine: Engine,
    store: Place,
    reading: Reading,
    offset: Poly,
    where: Sequence[Formula],
) -> Poly | None:
    """What a load at `offset` finds where the formulas of `where` hold, if `store` is all that writes the tensor.

    None where it is not known which program stored it, or where what it stored may have wrapped around.
    """
    value = store.access.value
    tensor = engine.world.tensors[store.access.tensor]
    read, written = coordinates(engine.space, offset, tensor), located(engine, store.access)
    if not isinstance(value, Integer) or read is None or written is None:
        return None
    for number in value.needs:
        need = reading.needs[number]
        if not engine.proves(need.formula, *reached(store.access), need.path):
            return None
    digits = Digits(engine, demands_of(engine, store, frozenset()), reached(store.access))
    digits.facts += where
    try:
        for name, own, wanted in zip(tensor.dims, written, read):
            digits.equal(name, own, wanted)
        _is_stored(engine, digits, store)
    except NotDigits:
        return None
    fresh = len(digits.facts) > len(where) or digits.missing
    return None if fresh else substitute(engine.space, value.poly, digits.values)


def _is_stored(engine: Engine, digits: Digits, store: Place) -> None:
    """The program that was found does store there. Raises NotDigits."""
    demands = demands_of(engine, store, frozenset())
    guards = [loop.guard for loop in store.access.loops]
    conditions = (*conjuncts(store.access.path), *conjuncts(store.access.mask))
    for demand in (*demands.values(), *guards, *conditions):
        check_demand(engine, digits, demand, "it may not be stored")
