"""What the points of `workloads` have to be: within the axes."""

from __future__ import annotations

from collections.abc import Iterator

from kgen.diagnostics import Diagnostic
from kgen.expr import suggestion
from kgen.spec.draft import Draft
from kgen.spec.nodes import Key
from kgen.spec.origin import Origin
from kgen.spec.workloads import PerRequest, Sweep, Workload


def check_workloads(draft: Draft, origin: Origin) -> Iterator[Diagnostic]:
    """Workloads name axes, and give values that those have."""
    workloads = draft.sections.get("workloads")
    if workloads is None:
        return
    for list_name in ("check", "bench"):
        for index, workload in enumerate(getattr(workloads, list_name)):
            yield from _Point(draft, origin, workload, ("workloads", list_name, index)).check()


class _Point:
    """One workload, at `key`; `known` are the axes that have one value in it."""

    def __init__(self, draft: Draft, origin: Origin, workload: Workload, key: Key):
        self.draft = draft
        self.origin = origin
        self.workload = workload
        self.key = key
        self.known = {
            **{name: axis.const for name, axis in draft.axes.items() if axis.const is not None},
            **{name: cell for name, cell in workload.items() if isinstance(cell, int)},
        }

    def check(self) -> Iterator[Diagnostic]:
        for name, cell in self.workload.items():
            if name not in self.draft.known_axes:
                yield self.origin.diagnostic(
                    "KG302",
                    f"`{name}` is no axis of this spec",
                    *self.key,
                    name,
                    on_key=True,
                    hint=suggestion(name, self.draft.known_axes, "axes"),
                )
            elif name in self.draft.axes:
                yield from self._check_cell(name, cell)

    def _check_cell(self, name: str, cell: int | None | Sweep | PerRequest) -> Iterator[Diagnostic]:
        key = (*self.key, name)
        match cell:
            case PerRequest():
                yield from self._check_per_request(name, cell)
                values = {(*key, "per_request", i): v for i, v in enumerate(cell.values)}
            case Sweep():
                values = {(*key, "sweep", i): v for i, v in enumerate(cell.values)}
            case _:
                values = {key: cell}
        for place, value in values.items():
            if why := self._outside(name, value):
                shown = "none" if value is None else value
                message = f"the axis `{name}` is never {shown}: {why}"
                yield self.origin.diagnostic("KG215", message, *place)

    def _check_per_request(self, name: str, cell: PerRequest) -> Iterator[Diagnostic]:
        if not self.draft.axes[name].runtime:
            yield self.origin.diagnostic(
                "KG215",
                f"the axis `{name}` has one value for the whole batch, as it is no runtime axis",
                *self.key,
                name,
                hint="write one value, or `{sweep: [...]}`",
            )
        requests = self.known.get("B")
        if requests is not None and requests != len(cell.values):
            yield self.origin.diagnostic(
                "KG215",
                f"{len(cell.values)} values are listed for {requests} requests (`B: {requests}`)",
                *self.key,
                name,
                hint=f"list {requests} values, or write `B: {len(cell.values)}`",
            )

    def _outside(self, name: str, value: int | None) -> str:
        """Why the axis cannot have `value`; empty where it can, or where that is not known yet."""
        axis = self.draft.axes[name]
        if axis.const is not None:
            return "" if value == axis.const else f"it is {axis.const}"
        if axis.values is not None:
            listed = ", ".join("none" if known is None else str(known) for known in axis.values)
            return "" if value in axis.values else f"its values are {listed}"
        if value is None:
            return "it has a range of integers"
        low, high = self._end(name, 0), self._end(name, 1)
        if low is not None and high is not None and low > high:
            return ""
        if low is not None and value < low:
            return f"its range begins at {low}"
        if high is not None and value > high:
            return f"its range ends at {high}"
        return ""

    def _end(self, name: str, end: int) -> int | None:
        """An end of the range of `name` here; where that is another axis alone, the end of that."""
        found = self.draft.bound(name, end, self.known)
        other = self.draft.axes[name].range[end]
        if found is None and other in self.draft.axes and other != name:
            return self.draft.bound(other, end, self.known)
        return found
