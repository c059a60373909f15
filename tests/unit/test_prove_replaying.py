"""Which finding of a run shows which statement to be false."""

from __future__ import annotations

import pytest

from kgen.algebra import Status
from kgen.prove.obligations.model import Obligation
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
    ],
)
def test_a_statement_is_refuted_by_findings_of_its_own_kind(shown_by, kind, fits):
    says = ("launch", "a_kernel", "exactly once", "no element of s is written twice")
    statement = Obligation(*says, Status.UNKNOWN, "open", 1, "s", shown_by=shown_by)
    finding = Finding(kind, "s", 0, 1, (0, 0, 0), "it goes wrong")
    assert Replayer(TEXT, plan=None)._fits(statement, finding) == fits
