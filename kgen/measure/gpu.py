"""A CUDA GPU, through torch."""

from __future__ import annotations

import contextlib
import platform
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import torch
import triton
from triton.runtime.jit import JITFunction

from kgen.measure import ceilings
from kgen.measure.device import Hurried, NotCapturable
from kgen.measure.operators import watched
from kgen.runner.faults import NoDevice
from kgen.runner.launches import recorded

T = TypeVar("T")

SPIN_SECONDS = 0.03
"""How long the device is kept busy before a hurried call; longer than the host needs for the call."""

_UNJOINED = ("unjoined", "isolation", "another stream", "dependency created on uncaptured")
_SYNCHRONISES = (
    "not permitted when stream is capturing",
    "capture is unsupported",
    "during cuda graph capture",
    "synchroniz",
)


class Gpu:
    """The first GPU that torch sees. Raises `NoDevice` if it sees none."""

    def __init__(self, memory_share: float) -> None:
        if not torch.cuda.is_available():
            raise NoDevice("torch sees no GPU here")
        self.torch = torch.device("cuda", 0)
        torch.cuda.set_per_process_memory_fraction(memory_share, self.torch)
        self._properties = torch.cuda.get_device_properties(self.torch)
        self._share = memory_share
        self._stream = torch.cuda.Stream(self.torch)
        self.l2_bytes = self._properties.L2_cache_size

    def describe(self) -> dict[str, Any]:
        return {
            "device": self._properties.name,
            "sms": self._properties.multi_processor_count,
            "l2_bytes": self.l2_bytes,
            "driver": (_nvidia_smi("driver_version") or [""])[0],
            "cuda": torch.version.cuda or "",
            "torch": torch.__version__,
            "triton": triton.__version__,
            "ptxas": _ptxas(),
            "python": platform.python_version(),
        }

    def clock(self) -> dict[str, int | None]:
        rates = _nvidia_smi("clocks.sm", "clocks.mem") or ["", ""]
        found = [int(rate) if rate.isdigit() else None for rate in rates]
        return {"sm_mhz": found[0], "memory_mhz": found[1]}

    def limits(self) -> dict[str, float | None]:
        return ceilings.measured(self)

    def free_bytes(self) -> int:
        free, total = torch.cuda.mem_get_info(self.torch)
        return int(min(free, total * self._share - torch.cuda.memory_allocated(self.torch)))

    def allocated(self) -> int:
        return torch.cuda.memory_allocated(self.torch)

    def settle(self) -> None:
        torch.cuda.synchronize(self.torch)

    @contextlib.contextmanager
    def eager(self) -> Iterator[None]:
        with torch.cuda.stream(self._stream):
            yield

    @contextlib.contextmanager
    def launches(self, operators: bool) -> Iterator[list[str]]:
        with recorded(JITFunction, grids=True) as kernels:
            if not operators:
                yield kernels
                return
            with watched() as seen:
                # one list, in the order of the launches
                seen.names = kernels
                yield kernels

    def hurried(
        self, stage: Callable[[], None], call: Callable[[], T], keep: Callable[[T], object]
    ) -> Hurried:
        """Work that does not wait for the caller's stream reads inputs that are not staged yet."""
        self.settle()
        start = time.perf_counter()
        with self.eager():
            call()
        spin = max(SPIN_SECONDS, 8 * (time.perf_counter() - start))
        self.settle()
        with self.eager():
            torch.cuda._sleep(int(spin * self._hertz()))
            stage()
            # copies from pageable memory would wait by themselves; only what comes later is the call's doing
            busy = not self._stream.query()
            result = call()
            waited = busy and self._stream.query()
            kept = keep(result)
        self.settle()
        return Hurried(result, kept, waited)

    def _hertz(self) -> float:
        """The SM clock at its highest, which is what a spin has to allow for."""
        return 1e3 * getattr(self._properties, "clock_rate", 2_000_000)

    def capture(self, calls: Callable[[], None]) -> Callable[[], None]:
        graph = torch.cuda.CUDAGraph()
        self.settle()
        try:
            with torch.cuda.graph(graph, stream=self._stream):
                calls()
        except Exception as error:
            self._leave(graph)
            raise _refusal(error) from error
        self.settle()

        def replay() -> None:
            with self.eager():
                graph.replay()

        return replay

    def _leave(self, graph: torch.cuda.CUDAGraph) -> None:
        """Ends a capture that failed, which torch leaves half open: its memory pool is still in use."""
        torch.cuda.set_stream(self._stream)
        with contextlib.suppress(Exception):
            torch._C._cuda_endAllocateToPool(self.torch.index, graph.pool())
        self.settle()

    def timed(self, step: Callable[[], None], count: int, warm: bool = True) -> list[float]:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * count)]
        with self.eager():
            if warm:
                step()
            for first, last in zip(events[::2], events[1::2]):
                first.record()
                step()
                last.record()
        self._stream.synchronize()
        pairs = zip(events[::2], events[1::2])
        return [first.elapsed_time(last) * 1e-3 for first, last in pairs]


def _refusal(error: Exception) -> NotCapturable:
    """What the driver's refusal says of the calls. A later error may hide the first, which is then its context."""
    told: list[str] = []
    one: BaseException | None = error
    while one is not None:
        told.append(f"{type(one).__name__}: {one}")
        one = one.__cause__ or one.__context__
    text = "\n".join(told)
    message = f"a CUDA graph cannot hold the call: {told[-1].splitlines()[0]}"
    if any(word in text.lower() for word in _UNJOINED):
        return NotCapturable("other_stream", message)
    if any(word in text.lower() for word in _SYNCHRONISES):
        return NotCapturable("synchronises", message)
    return NotCapturable("not_capturable", message)


def _nvidia_smi(*names: str) -> list[str]:
    """What nvidia-smi says of the first GPU; nothing where it is missing or says nothing."""
    query = f"--query-gpu={','.join(names)}"
    command = ["nvidia-smi", query, "--format=csv,noheader,nounits", "--id=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    values = [value.strip() for value in done.stdout.strip().split(",")]
    return values if done.returncode == 0 and len(values) == len(names) else []


def _ptxas() -> str:
    """The version of the assembler that Triton uses."""
    try:
        tool = triton.knobs.nvidia.ptxas
        told = subprocess.run([tool.path, "--version"], capture_output=True, text=True, timeout=20)
        found = re.search(r"V(\d+\.\d+\.\d+)", told.stdout)
        return found.group(1) if found else ""
    except (OSError, AttributeError, RuntimeError, subprocess.TimeoutExpired):
        return ""
