"""Which finding of a run shows which statement to be false."""

from __future__ import annotations

import pytest

from kgen.algebra import TRUE, Point, Status
from kgen.prove.obligations.model import Obligation, Suspicion
from kgen.prove.replay.report import Finding
from kgen.prove.replaying import Replayer

TEXT = "import triton\n"


@pytest.mark.parametrize(
    ("shown_by", "kind", "fits"),
    [
        (("written twice",), "written twice", True),
        (("written twice",), "consumed wrongly", False),
        (("written twice", "never written"), "never written", True),
        (("read wrongly",), "written twice", False),
        ((), "consumed wrongly", True),
        ((), "wraps", False),
        (("wraps",), "no value", False),
    ],
)
def test_a_statement_is_refuted_by_findings_of_its_own_kind(shown_by, kind, fits):
    says = ("launch", "a_kernel", "exactly once", "no element of s is written twice")
    statement = Obligation(*says, Status.UNKNOWN, "open", 1, "s", shown_by=shown_by)
    finding = Finding(kind, "s", 0, 1, (0, 0, 0), "it goes wrong")
    assert Replayer(TEXT, plan=None)._fits(statement, finding) == fits


@pytest.mark.parametrize("suspected", (False, True))
def test_values_that_only_the_proof_engine_found_are_said_to_be_shown_by_no_run(
    monkeypatch, suspected
):
    monkeypatch.setattr(Replayer, "_shown", lambda *_: "")
    point = Suspicion("wraps", 0, (), "", 1, Point({"N": 9}), TRUE) if suspected else None
    says = ("launch", "a_kernel", "widths", "a sum fits 32 bits")
    evidence = "N <= 8 is false at N = 9"
    statement = Obligation(*says, Status.UNKNOWN, evidence, 1, suspicion=point)
    (told,) = Replayer(TEXT, plan=None).refuted(None, [statement])
    assert told.status is Status.UNKNOWN
    assert told.evidence == evidence + (", which no run of the file shows" if suspected else "")
