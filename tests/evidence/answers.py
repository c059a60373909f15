"""What a remote judge answers, and the mapping that reads it."""

from __future__ import annotations

import copy
from typing import Any

ANSWER = {
    "job": {"id": 4711},
    "judge": "timer 2",
    "type": "leaderboard",
    "left": 3,
    "rows": [
        {
            "case": "B 1",
            "ours": {"mid": 10.0, "ci": [9.9, 10.1]},
            "ref": {"mid": 15.0, "ci": [14.9, 15.1]},
        },
        {
            "case": "B 8",
            "ours": {"mid": 20.0, "ci": [19.9, 20.1]},
            "ref": {"mid": 30.0, "ci": [29.9, 30.1]},
        },
    ],
    "tests": [{"id": "small", "ok": True}, {"id": "large", "ok": True}],
    "warnings": [],
}
TIME = {"low": "/{}/ci/0", "high": "/{}/ci/1", "seconds": "/{}/mid"}
MAPPING = {
    "mapping": 1,
    "unit": "us",
    "problem": "=rms",
    "device": "=NVIDIA H100",
    "job": "/job/id",
    "evaluator": "/judge",
    "mode": {"at": "/type", "scored": ["leaderboard"], "check": ["test"]},
    "started": "=2026-05-31T12:00:00Z",
    "quota_left": "/left",
    "shapes": {
        "each": "/rows",
        "name": "/case",
        "candidate": {key: place.format("ours") for key, place in TIME.items()},
        "baseline": {key: place.format("ref") for key, place in TIME.items()},
    },
    "cases": {"each": "/tests", "name": "/id", "status": "/ok", "passed": ["true"]},
    "flags": {"each": "/warnings"},
}

TABLE = {
    "header": ["case", "n", "mine_ns", "mine_lo", "mine_hi", "ref_ns", "ref_lo", "ref_hi", "ok"],
    "data": [
        ["B 1", 50, 10000, 9900, 10100, 15000, 14900, 15100, "PASS"],
        ["B 8", 50, 20000, 19900, 20100, 30000, 29900, 30100, "PASS"],
    ],
    "meta": [["gpu", "NVIDIA H100"], ["run", 4711], ["harness", "timer 2"], ["kind", "ranked"]],
}
"""A judge that writes tables, as of a CSV file: rows are lists, also those about the run."""

TABLE_MAPPING = {
    "mapping": 1,
    "unit": "ns",
    "problem": "=rms",
    "device": "/meta/0/1",
    "job": "/meta/1/1",
    "evaluator": "/meta/2/1",
    "mode": {"at": "/meta/3/1", "scored": ["ranked"], "check": ["dry"]},
    "started": "=2026-05-31T12:00:00Z",
    "shapes": {
        "each": "/data",
        "name": "/0",
        "candidate": {"seconds": "/2", "low": "/3", "high": "/4"},
        "baseline": {"seconds": "/5", "low": "/6", "high": "/7"},
    },
    "cases": {"each": "/data", "name": "/0", "status": "/8", "passed": ["PASS"]},
}
NESTED = {
    "submission": {"uuid": "4711", "at": "2026-05-31T12:00:00Z", "kind": {"name": "ranked"}},
    "system": {"harness": {"version": "timer 2"}, "gpu": {"0": {"model": "NVIDIA H100"}}},
    "quota": {"per_day": {"left": 3}},
    "perf": {
        "B 1": {
            "yours": {"wall/ms": {"p50": 0.01, "ci": {"lo": 0.0099, "hi": 0.0101}}},
            "theirs": {"wall/ms": {"p50": 0.015, "ci": {"lo": 0.0149, "hi": 0.0151}}},
        },
        "B 8": {
            "yours": {"wall/ms": {"p50": 0.02, "ci": {"lo": 0.0199, "hi": 0.0201}}},
            "theirs": {"wall/ms": {"p50": 0.03, "ci": {"lo": 0.0299, "hi": 0.0301}}},
        },
    },
    "correct": {"small": {"verdict": {"passed": True}}, "large": {"verdict": {"passed": True}}},
    "complaints": {},
}
"""A judge that nests: shapes, cases and complaints are called by their keys."""

_WALL = {"seconds": "/{}/wall~1ms/p50", "low": "/{}/wall~1ms/ci/lo", "high": "/{}/wall~1ms/ci/hi"}
NESTED_MAPPING = {
    "mapping": 1,
    "unit": "ms",
    "problem": "=rms",
    "device": "/system/gpu/0/model",
    "job": "/submission/uuid",
    "evaluator": "/system/harness/version",
    "mode": {"at": "/submission/kind/name", "scored": ["ranked"], "check": ["dry"]},
    "started": "/submission/at",
    "quota_left": "/quota/per_day/left",
    "shapes": {
        "each": "/perf",
        "name": "@key",
        "candidate": {key: place.format("yours") for key, place in _WALL.items()},
        "baseline": {key: place.format("theirs") for key, place in _WALL.items()},
    },
    "cases": {"each": "/correct", "name": "@key", "status": "/verdict/passed", "passed": ["true"]},
    "flags": {"each": "/complaints", "text": "@key"},
}


def changed(data: Any, *path: Any, to: Any) -> Any:
    """A copy with another value at a path; `...` removes what is there."""
    whole = copy.deepcopy(data)
    place = whole
    for step in path[:-1]:
        place = place[step]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return whole
