"""Testing: runs a bundle's cases in `kgen.runner`, a process that may crash, and reports what came
of each.
"""

from kgen.run.report import Finding, Report
from kgen.run.supervise import test_bundle

__all__ = ["Finding", "Report", "test_bundle"]
