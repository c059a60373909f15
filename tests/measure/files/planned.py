"""Honest: its plan is an object of its own, which nobody else can give other values."""


class Plan:
    def __init__(self, shifts):
        self.shifts = shifts


def prepare(x, w, ids):
    return {"x": x, "w": w, "plan": Plan(ids[:, None].to(x.dtype))}


def run(x, w, plan):
    return x * w + plan.shifts
