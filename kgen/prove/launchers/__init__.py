"""From the emitted file's own host code to the facts of each launch.

A launcher is short and straight: sizes are computed, scratch is allocated, kernels are launched. It is read statement
by statement from the file that is proved, not taken from the plan, so that a launcher that was changed by hand is judged
as it is. What the launcher is given (axes in the domain of its regime, tensors with checked shapes) is enforced by the
entry, whose text has to be the one that kgen writes.
"""

from kgen.prove.launchers.case import LauncherCase, cases
from kgen.prove.launchers.errors import LauncherError

__all__ = ["LauncherCase", "LauncherError", "cases"]
