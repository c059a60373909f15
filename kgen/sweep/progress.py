"""How far a sweep is, on a terminal: a bar for what is compiled, and one for what is measured."""

from __future__ import annotations

import math
import sys
from types import TracebackType

from kgen.sweep.model import Settings, text
from kgen.sweep.state import State


class Bars:
    """Bars on stderr while it is open; none where that is no terminal, or where they are not wanted."""

    def __init__(self, wanted: bool):
        self._progress = _progress() if wanted and sys.stderr.isatty() else None
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> Bars:
        if self._progress:
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress:
            self._progress.stop()

    def compiled(self, regime: str, done: int, total: int) -> None:
        """`done` of `total` kernels are compiled."""
        self._show(f"{regime}: kernels compiled", done, total, "")

    def rendered(self, regime: str, done: int, total: int) -> None:
        """`done` of `total` candidates are rendered."""
        self._show(f"{regime}: candidates rendered", done, total, "")

    def measured(self, state: State, dropped: int) -> None:
        """The state of the sweep; `dropped` candidates were never rendered."""
        self._show(
            f"{state.regime}: candidates measured",
            state.measured + state.failed,
            state.total,
            line(state, dropped),
        )

    def _show(self, what: str, done: int, total: int, told: str) -> None:
        if not self._progress:
            return
        if what not in self._tasks:
            self._tasks[what] = self._progress.add_task(what, total=total, told="")
        self._progress.update(self._tasks[what], completed=done, total=total, told=told)


def line(state: State, dropped: int) -> str:
    """What a bar cannot show."""
    parts = [f"{dropped} dropped"] if dropped else []
    parts += [f"{state.failed} failed"] if state.failed else []
    parts += [f"{state.racing} in question"] if state.racing else []
    if state.best:
        parts.append(f"best {math.exp(state.log):.3f}x {short(state.best.settings)}")
    minutes, seconds = divmod(int(state.seconds_left), 60)
    return ", ".join([*parts, f"at most {minutes}:{seconds:02} left"])


def short(settings: Settings) -> str:
    """Settings by their names alone."""
    return " ".join(f"{key.rpartition('.')[2]}={text(value)}" for key, value in settings)


def _progress():
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
