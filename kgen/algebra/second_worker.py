"""Sympy's end of the second opinion, `python -m kgen.algebra.second_worker`."""

from __future__ import annotations

from collections.abc import Callable

from kgen.algebra.store import restored
from kgen.algebra.sympy_check import refused
from kgen.worker import serve


def refused_of(payload: dict, emit: Callable[[dict], None]) -> dict:
    """Of `payload["spaces"]`, each as `kgen.algebra.store.stored` gives it, the places of what is not confirmed.

    Returns `refused`, pairs of a space's number and a certificate's within it.
    """
    found = []
    for group, plain in enumerate(payload["spaces"]):
        certificates = restored(plain)
        wrong = set(map(id, refused(certificates)))
        found += [[group, number] for number, one in enumerate(certificates) if id(one) in wrong]
    return {"refused": found}


if __name__ == "__main__":
    serve({"refused": refused_of})
