"""What a call asks of torch is seen, also where torch's compiler is at work, and nothing is changed by looking."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from kgen.measure.compiles import Compiles
from kgen.measure.host import Host
from kgen.measure.operators import Operators, watched

Q = torch.arange(128.0).reshape(1, 2, 4, 16) / 128


def test_operators_are_named_with_sizes_and_allocations_are_not():
    with Operators() as seen:
        torch.empty(3).fill_(1.0).add(1)
    assert seen.names == ["aten::fill_.Scalar(3)", "aten::add.Tensor(3)"] and not seen.waited
    rows, out = torch.ones(2, 3), torch.empty(4, 3)
    with Operators() as seen:
        torch.cat([rows, rows], out=out)
        rows.sum().neg()
    assert seen.names == ["aten::cat.out(2x3, 2x3, 4x3)", "aten::sum(2x3)", "aten::neg(scalar)"]
    with Operators() as seen:
        torch.ones(1).item()
    assert seen.waited


@pytest.mark.filterwarnings("ignore")
def test_operators_that_take_functions_are_let_through():
    import torch._dynamo
    from torch.nn.attention.flex_attention import flex_attention

    right = flex_attention(Q, Q, Q)
    with watched() as seen:
        found = flex_attention(Q, Q, Q)
    assert any(name.startswith("flex_attention(1x2x4x16") for name in seen.names)
    assert torch.equal(found, right)
    with watched() as seen:
        torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (Q,))
    assert seen.names[-1].startswith("cond(")


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_function_stays_compiled():
    import torch._dynamo

    took = []

    def backend(graph, inputs):
        took.append(graph)
        return graph.forward

    torch._dynamo.reset()
    call = torch.compile(lambda x: x * 2 + 1, backend=backend, fullgraph=True)
    call(Q)
    with watched():
        assert torch.equal(call(Q), Q * 2 + 1)
    assert len(took) == 1


@pytest.mark.filterwarnings("ignore")
def test_compilations_are_counted_across_a_reset_of_the_compiler():
    import torch._dynamo

    counted = Compiles(kernels=False)
    for number in (1, 2):
        torch.compile(lambda x: x + number, backend="eager")(Q)
        assert counted.graphs == number
        torch._dynamo.reset()
        assert counted.graphs == number


def test_looking_imports_no_compiler():
    code = (
        "import sys, torch\nfrom kgen.measure.operators import watched\n"
        "with watched():\n    torch.ones(2) + 1\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_what_a_transform_leaves_behind_holds_no_memory():
    host, left = Host(0.1), []
    rows = torch.ones(2, 300)
    torch.vmap(lambda row: left.append(row) or row)(rows)
    assert left and host.allocated() == rows.nbytes
