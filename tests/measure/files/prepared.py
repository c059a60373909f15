"""Honest: a plan is made once for each input set, outside of timing."""

TERMS = "ids are cast before the call"


def prepare(problem, x, w, ids):
    assert problem == {}
    return {"x": x, "w": w, "shifts": ids[:, None].to(x.dtype)}


def run(x, w, shifts):
    return x * w + shifts
