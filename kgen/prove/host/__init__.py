"""Host code of an emitted file: safe in a CUDA graph, true to its plan, and a check for every
assumption.

The syntax tree is walked once from the entry, through everything that it calls, with symbolic
arguments. What the walk has no rule for is `unknown`, never good.
"""

from kgen.prove.host.check import HostProof, enforced, prove_host
from kgen.prove.host.facts import Enforced, Fact

__all__ = ["Enforced", "Fact", "HostProof", "enforced", "prove_host"]
