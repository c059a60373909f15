"""The second opinion on certificates, asked of a process of its own: sympy loads and expands there, beside the search.

What is sent is what `kgen.algebra.store` keeps of certificates, so what is confirmed is what a file of evidence would say.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from kgen.algebra.certificate import Certificate
from kgen.algebra.space import Space
from kgen.algebra.store import stored
from kgen.worker import WorkerFailure, module_worker

WORKER = "kgen.algebra.second_worker"
TIMEOUT = 120.0

Answer = Future[list[Certificate]]
"""The certificates that are not confirmed."""
Confirm = Callable[[Sequence[Certificate]], Answer]


def at_once(certificates: Sequence[Certificate]) -> Answer:
    """The answer of this process, there when the call returns."""
    from kgen.algebra.sympy_check import refused

    answer: Answer = Future()
    answer.set_result(refused(certificates))
    return answer


@contextlib.contextmanager
def beside() -> Iterator[Confirm]:
    """Whom to ask for confirmations: a process that loads sympy from now on; where it dies or is too slow, this one."""
    with module_worker(WORKER) as worker, ThreadPoolExecutor(1) as asking:

        def ask(certificates: Sequence[Certificate]) -> list[Certificate]:
            groups = _by_space(certificates)
            try:
                payload = {"spaces": [stored(group) for group in groups]}
                places = worker.call("refused", payload, TIMEOUT)["refused"]
            except WorkerFailure:
                return at_once(certificates).result()
            return [groups[group][number] for group, number in places]

        yield lambda certificates: asking.submit(ask, certificates)


def _by_space(certificates: Sequence[Certificate]) -> list[list[Certificate]]:
    groups: dict[Space, list[Certificate]] = {}
    for certificate in certificates:
        groups.setdefault(certificate.space, []).append(certificate)
    return list(groups.values())
