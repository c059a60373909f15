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
