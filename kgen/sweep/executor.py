"""Where trials run: a `concurrent.futures.Executor`, of this machine's GPUs or of a cluster's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

from kgen.diagnostics import Diagnostic, KgenError
from kgen.diagnostics import Place as Where
from kgen.measure.member import Member
from kgen.sweep.needs import needed
from kgen.sweep.station import Start
from kgen.sweep.trial import Answer, File, Job, Place, Timing
from kgen.sweep.workers import local_stations, measure_here, place_here

GPU_RESOURCE = {"GPU": 1}
"""What a worker of a cluster has to offer to be given a trial."""


@dataclass(frozen=True)
class Crew:
    """An executor, the functions to submit to it, and how many trials it runs at once."""

    executor: Executor
    place: Callable[[File, Timing], Place]
    measure: Callable[[Job], Answer]
    slots: int
    close: Callable[[], None]


def local(gpus: list[str], start: Start = Member) -> Crew:
    """This machine: a thread for each GPU, which talks to that GPU's processes and times nothing itself."""
    stations = local_stations(gpus, start)
    executor = ThreadPoolExecutor(max(1, len(gpus)), thread_name_prefix="kgen-sweep")

    def close() -> None:
        executor.shutdown(wait=False, cancel_futures=True)
        stations.close()
        executor.shutdown(wait=True)

    return Crew(executor, stations.place, stations.measure, max(1, len(gpus)), close)


def cluster(address: str) -> Crew:
    """The workers of a dask scheduler, such as `dask://host:8786`, that offer a GPU each.

    One task is one trial; a worker that is lost gives its task back. Raises `KgenError` (KG982) where none answers.
    """
    client_of = needed("distributed").Client
    try:
        client = client_of(address.replace("dask://", "tcp://", 1), timeout=20)
    except (OSError, ValueError) as error:
        raise _unreachable(address, str(error)) from None
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    slots = sum(int(one["resources"].get("GPU", 0)) for one in workers)
    if not slots:
        client.close()
        raise _unreachable(address, f"none of its {len(workers)} workers offers a GPU")
    # pure: the same trial twice is two measurements
    executor = client.get_executor(resources=GPU_RESOURCE, pure=False)

    def close() -> None:
        executor.shutdown(wait=False)
        client.close()

    return Crew(executor, place_here, measure_here, slots, close)


def crew(executor: str) -> Crew:
    """The crew that `--executor` asks for: empty for this machine, or a dask scheduler. Raises `KgenError`."""
    if not executor:
        return local(visible_gpus())
    if executor.startswith("dask://"):
        return cluster(executor)
    raise _unreachable(executor, "an executor is written dask://HOST:PORT")


def visible_gpus() -> list[str]:
    """The GPUs of this machine as CUDA_VISIBLE_DEVICES names them, found without torch."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [one for one in chosen.split(",") if one]
    try:
        command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return told.stdout.split()


def _unreachable(address: str, why: str) -> KgenError:
    return KgenError(
        [
            Diagnostic(
                "KG982",
                f"no trial can run there: {why}",
                Where(address),
                "start a scheduler, and workers with `dask worker HOST:PORT --nthreads 1 --resources GPU=1`",
            )
        ]
    )
