"""CUDA-graph safety of emitted host code, and every fault that is planted in it."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from kgen.algebra import Status
from kgen.plan.build import build
from kgen.plan.obligation import Obligation
from kgen.plan.templates import Templates
from kgen.prove.host import prove_host
from kgen.prove.host.findings import Rule
from kgen.render.assemble import raw_text
from kgen.render.environment import workshop
from kgen.render.kernels import launchers
from kgen.spec import load

ROOT = Path(__file__).resolve().parents[2]
NORM = "specs/norm/rms_4096.yaml"
PROVED, REFUTED, UNKNOWN = Status.PROVED, Status.REFUTED, Status.UNKNOWN


@functools.cache
def emitted(spec: str):
    """(text, plan, launchers) of a spec, the text as the templates wrote it."""
    templates = Templates()
    plan = build(load(ROOT / spec), templates)
    return raw_text(plan, templates), plan, launchers(plan, workshop(templates))


def judged(text: str, spec: str = NORM) -> tuple[Obligation, ...]:
    return prove_host(text, *emitted(spec)[1:]).obligations


def safety(text: str, rule: Rule, regime: str = "") -> Obligation:
    """What became of one rule."""
    found = [one for one in judged(text) if (one.regime, one.says) == (regime, rule.value)]
    return found[0]


def with_statement(statement: str, module: str = "", function: str = "run") -> str:
    """The norm's text with a statement in a function, and something at module level."""
    text = emitted(NORM)[0]
    place = {"run": "    # where the spec declares", "launch_rows": "    rms_kernel["}[function]
    assert text.count(place) == 1
    indented = "".join(f"    {line}\n" for line in statement.splitlines())
    return text.replace(place, indented + place).replace(
        "import torch\n", f"import torch\n{module}\n", 1
    )


# ---------------------------------------------------------------- what is emitted


@pytest.mark.parametrize(
    "spec", sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("specs/*/*.yaml"))
)
def test_everything_about_emitted_host_code_is_proved(spec):
    text = emitted(spec)[0]
    open_ = {one.says for one in judged(text, spec) if one.status is not PROVED}
    # nothing in a file tests that a scalar argument is an integer
    assert open_ <= {"window is a Python integer, or None"}


def test_each_launcher_and_the_entry_answer_for_every_rule():
    found = [one for one in judged(emitted(NORM)[0]) if one.subject == "graph safety"]
    assert [one.regime for one in found] == [
        regime for regime in ("", "launch_rows", "launch_rest") for _ in Rule
    ]
    assert {one.says for one in found} == {rule.value for rule in Rule}


@pytest.mark.parametrize(
    "statement",
    [
        "half = x.numel() // 2",
        "first, second = x.shape[0], x.stride()[0]",
        "assert T > 0, f'{x.shape} {x.dtype}'",
        "pair = (T, H) if T > 1 else (H, T)",
        "for size in (1, 2):\n    total = size * T",
        "fits = all(one < 2**31 for one in (T, H))",
        "shifted = T << 1",
        "same = x is weight",
        "rows = len(x)",
        "pass",
    ],
)
def test_host_code_that_asks_for_shapes_only_stays_proved(statement):
    text = with_statement(statement)
    assert {one.status for one in judged(text)} == {PROVED}


# ---------------------------------------------------------------- planted faults

READS = [
    "x[0, 0].item()",
    "x.tolist()",
    "x.cpu()",
    "y = x.max().cpu().numpy()",
    "y = x.to('cpu')",
    "y = x.to(device='cpu')",
    "bool(x)",
    "y = int(x.max())",
    "y = float(x[0, 0])",
    "y = max(T, x.max())",
    "if x:\n    pass",
    "if x.any():\n    pass",
    "while x.any():\n    pass",
    "assert x.any()",
    "y = not x",
    "y = T if x else H",
    "y = x and T",
    "for row in x:\n    pass",
    "y = [row for row in x]",
    "y = list(x)",
    "y = x > 0",
    "y = 0 in x",
    "y = x == weight",
    "print(x)",
    "y = f'{x}'",
    "y = 'x is {}'.format(x)",
    "y = 'x is %s' % x",
    "y = str(x)",
    "y = torch.nonzero(x)",
    "y = torch.equal(x, weight)",
    "y = {'a': x.item()}",
    "try:\n    y = x.item()\nexcept ValueError:\n    y = 0",
    "y = torch.empty((x.max(),), dtype=torch.float32, device=x.device)",
]


@pytest.mark.parametrize("statement", READS)
@pytest.mark.parametrize("function", ["run", "launch_rows"])
def test_a_host_read_is_refuted_with_its_line(statement, function):
    text = with_statement(statement, function=function)
    regime = "" if function == "run" else function
    found = safety(text, Rule.HOST_READ, regime)
    assert found.status is REFUTED
    line = next(
        n for n, one in enumerate(text.splitlines(), 1) if one.strip() == statement.splitlines()[0]
    )
    assert any(
        f"line {line + step}: " in found.evidence for step in range(len(statement.splitlines()))
    )


@pytest.mark.parametrize(
    ("statement", "module", "rule"),
    [
        ("x.zero_()", "", Rule.IN_PLACE),
        ("x[0] = 0", "", Rule.IN_PLACE),
        ("x += 1", "", Rule.IN_PLACE),
        ("x.data = weight", "", Rule.IN_PLACE),
        ("torch.add(x, 1, out=x)", "", Rule.IN_PLACE),
        ("torch.nn.init.zeros_(x)", "", Rule.IN_PLACE),
        ("global H\nH = T", "", Rule.STATE),
        ("CACHE[T] = x", "CACHE = {}", Rule.STATE),
        ("CACHE.setdefault(T, x)", "CACHE = {}", Rule.STATE),
        ("SEEN.append(T)", "SEEN = []", Rule.STATE),
        ("run.last = x", "", Rule.STATE),
        ("torch.backends.cuda.matmul.allow_tf32 = True", "", Rule.STATE),
        ("torch.cuda.synchronize()", "", Rule.CONTROL),
        ("torch.cuda.current_stream().synchronize()", "", Rule.CONTROL),
        ("stream = torch.cuda.Stream()", "", Rule.CONTROL),
        ("event = torch.cuda.Event()", "", Rule.CONTROL),
        ("with torch.cuda.stream(None):\n    pass", "", Rule.CONTROL),
        ("x.record_stream(None)", "", Rule.CONTROL),
        ("import math", "", Rule.OUTSIDE),
        ("from math import ceil", "", Rule.OUTSIDE),
        ("print('launched')", "", Rule.OUTSIDE),
        ("open('log')", "", Rule.OUTSIDE),
        ("exec('T = 1')", "", Rule.OUTSIDE),
        ("now = time.time()", "import time", Rule.OUTSIDE),
        ("home = os.getenv('HOME')", "import os", Rule.OUTSIDE),
        (
            "n = int(x.max())\ny = torch.empty((n,), dtype=x.dtype, device=x.device)",
            "",
            Rule.ALLOCATION,
        ),
        ("y = torch.zeros((x.max(),), device=x.device)", "", Rule.ALLOCATION),
    ],
)
def test_each_other_fault_is_refuted(statement, module, rule):
    assert safety(with_statement(statement, module), rule).status is REFUTED


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("y = x + 1", Rule.OPERATION),
        ("y = x.contiguous()", Rule.OPERATION),
        ("y = x[0]", Rule.OPERATION),
        ("y = torch.relu(x)", Rule.UNDERSTOOD),
        ("y = (lambda: T)()", Rule.UNDERSTOOD),
        ("y = missing", Rule.UNDERSTOOD),
        ("try:\n    pass\nfinally:\n    pass", Rule.UNDERSTOOD),
        ("while T > 1:\n    T = T // 2", Rule.UNDERSTOOD),
        ("def inner():\n    return 1", Rule.UNDERSTOOD),
        ("del weight", Rule.UNDERSTOOD),
        ("y = {T: H}", Rule.UNDERSTOOD),
        ("x.resize_(1)", Rule.UNDERSTOOD),
    ],
)
def test_what_there_is_no_rule_for_is_unknown_and_hides_the_rest(statement, rule):
    text = with_statement(statement)
    assert safety(text, rule).status is UNKNOWN
    assert safety(text, Rule.HOST_READ).status is not PROVED


@pytest.mark.parametrize(
    "call",
    [
        "torch.zeros((T,), device=x.device)",
        "torch.empty((T,), dtype=x.dtype, device=x.device, pin_memory=True)",
        "torch.empty((T,))",
    ],
)
def test_any_other_allocation_is_unknown(call):
    assert safety(with_statement(f"y = {call}"), Rule.ALLOCATION).status is UNKNOWN


def test_behind_what_is_not_understood_no_fact_and_no_launch_is_proved():
    found = judged(with_statement("T = (lambda: x.shape[0])()"))
    behind = [
        one for one in found if one.subject in ("launches", "facts are enforced") and one.regime
    ]
    specialised = "only what is declared divisible by 16 is specialised by value"
    assert all(one.status is not PROVED for one in behind if one.says != specialised)


def test_a_grid_from_data_is_refuted_where_it_is_launched():
    text = with_statement("T = int(x.max())")
    found = safety(text, Rule.GRID, "launch_rows")
    assert found.status is REFUTED
    assert (
        "the grid of rms_kernel depends on GPU data: `int` of `x.max()` at line" in found.evidence
    )


def test_a_grid_that_is_a_function_is_unknown():
    text = emitted(NORM)[0].replace("rms_kernel[(T,)]", "rms_kernel[lambda meta: (T,)]")
    assert safety(text, Rule.GRID, "launch_rows").status is UNKNOWN


def test_results_that_are_kept_are_refuted():
    text = emitted(NORM)[0].replace("def run(", "@functools.lru_cache\ndef run(")
    found = safety(
        text.replace("import torch\n", "import functools\nimport torch\n", 1), Rule.STATE
    )
    assert found.status is REFUTED
    assert "@functools.lru_cache keeps results between calls" in found.evidence
    kept = emitted(NORM)[0].replace("def is_aligned(*tensors)", "def is_aligned(*tensors, seen=[])")
    assert safety(kept, Rule.STATE).status is REFUTED


def test_a_helper_may_not_read_either():
    text = emitted(NORM)[0]
    read = text.replace("tensor.data_ptr() % 16 == 0", "tensor.sum() == 0")
    assert safety(read, Rule.HOST_READ).status is REFUTED


def test_a_function_of_somebody_else_is_unknown():
    text = with_statement("out = extra(x)", "from serving import extra")
    found = safety(text, Rule.FOREIGN)
    assert found.status is UNKNOWN
    assert "`extra` is serving.extra, of which nothing is known" in found.evidence


def test_module_level_code_that_is_not_understood_is_unknown():
    text = emitted(NORM)[0] + "\nfor name in ('a', 'b'):\n    globals()[name] = 1\n"
    found = safety(text, Rule.UNDERSTOOD)
    assert found.status is UNKNOWN
    assert "`for name in ('a', 'b'):` at module level is not understood" in found.evidence


def test_recursion_ends():
    text = emitted(NORM)[0].replace(
        "    if tuple(tensor.shape) != shape:",
        "    check_shape(name, tensor, shape)\n    if tuple(tensor.shape) != shape:",
    )
    found = safety(text, Rule.UNDERSTOOD)
    assert found.status is UNKNOWN
    assert "check_shape is called from itself, or too deep" in found.evidence


def test_a_file_with_another_entry_is_refused():
    text = emitted(NORM)[0]
    with pytest.raises(LookupError, match="run takes weight, x, not x, weight"):
        judged(text.replace("def run(x, weight)", "def run(weight, x)"))
    with pytest.raises(LookupError, match="the file has no function run"):
        judged(text.replace("def run(", "def walk("))
    with pytest.raises(SyntaxError):
        judged("def run(:")


# ---------------------------------------------------------------- what only looks like what was proved

CHECK = '    check_shape("x", x, (T, H))'
LAUNCH = "        launch_rest(x, weight, out, T)"
SHAPE = "    if tuple(tensor.shape) != shape:"


def edited(old: str, new: str) -> str:
    text = emitted(NORM)[0]
    assert text.count(old) == 1, f"the text has {text.count(old)} of {old!r}"
    return text.replace(old, new)


def is_open(text: str) -> bool:
    compile(text, "edited", "exec", dont_inherit=True)
    return any(one.status is not PROVED for one in judged(text))


@pytest.mark.parametrize(
    "line",
    [
        "PATCH = exec('torch.empty = None')",
        "_ = setattr(torch, 'empty', None)",
        "KEPT: exec('torch.empty = None') = 1",
        "def helper(a: exec('torch.empty = None')): pass",
        "def helper() -> exec('torch.empty = None'): pass",
        "def helper(a=(check_shape := print)): pass",
        "def helper(*, a: (check_shape := print)): pass",
        "from torch import *",
        "import patches_of_torch",
        "tuple = 'a name that is no longer the builtin'",
        "from builtins import print as all",
    ],
)
def test_what_runs_on_import_is_not_overlooked(line):
    assert is_open(with_statement("pass", line))


@pytest.mark.parametrize(
    "line",
    [
        "NAMES = ['x', 'weight']",
        "ITEMS = {**{}, 'x': H}",
        "def helper(a: tuple[int, int], b: int = 1) -> None: pass",
        "import math",
        "import triton.language as tl",
    ],
)
def test_values_and_known_modules_at_module_level_are_harmless(line):
    assert not is_open(with_statement("pass", line))


@pytest.mark.parametrize(
    "line",
    [
        "from builtins import print as check_shape",
        "import math as check_shape",
        "match 1:\n    case check_shape:\n        pass",
    ],
)
def test_a_helper_that_is_imported_over_is_not_the_helper(line):
    text = edited("def launch_rows", f"{line}\n\n\ndef launch_rows")
    found = {one.says: one.status for one in judged(text) if one.regime == "launch_rows"}
    assert found["x has shape [T, H]"] is not PROVED


@pytest.mark.parametrize(
    "decorator",
    [
        "@triton.jit(debug=exec('torch.empty = None'))",
        "@triton.jit(debug=True)",
        "@triton.jit(**{'do_not_specialize': ['p_x']})",
        "@triton.jit\n@launch_rows",
        "@launch_rows\n@triton.jit",
    ],
)
def test_a_kernel_with_another_decorator_is_unknown(decorator):
    assert is_open(edited("@triton.jit\ndef rms_kernel", f"{decorator}\ndef rms_kernel"))


@pytest.mark.parametrize(
    "body", [f"{SHAPE}\n        yield", f"    if False:\n        yield\n{SHAPE}"]
)
def test_a_generator_checks_nothing(body):
    assert is_open(edited(SHAPE, body))


@pytest.mark.parametrize(
    "check",
    [
        "T > 5 or {}",
        "T > 5 and {}",
        "None if T > 5 else {}",
        "assert {} is None",
        "0 < T < {}",
        "[{} for _ in ()]",
        "({} for _ in (1,))",
        "if T > 5 or {}:\n        pass",
    ],
)
def test_a_check_whose_turn_may_not_come_enforces_nothing(check):
    text = edited(CHECK, "    " + check.format(CHECK.strip()))
    found = {one.says: one.status for one in judged(text) if one.regime == "launch_rows"}
    assert found["x has shape [T, H]"] is not PROVED


@pytest.mark.parametrize(
    "launch",
    [
        "T > 5 and {}",
        "{} if T > 5 else None",
        "assert {} is None",
        "0 < T < {}",
        "[{} for _ in (1, 2)]",
        "({} for _ in (1,))",
    ],
)
def test_a_launch_whose_turn_may_not_come_is_no_launch(launch):
    assert is_open(edited(LAUNCH, "        " + launch.format(LAUNCH.strip())))


@pytest.mark.parametrize(
    "statement",
    [
        "if [T, H] != (T, H):\n    return out",
        "if list(x.shape) != (T, H):\n    return out",
        "if (0 for _ in ()):\n    return out",
        "g = (one == one for one in (T, H))\nif all(g) and not any(g):\n    return out",
        "a = [T]\nb = a\nb += [H]\nif len(a) == 2:\n    return out",
        "if T + H is not T + H:\n    return out",
        "if 1e999 - 1e999 != 1e999 - 1e999:\n    return out",
        "if max(T, 65536, key=bool) < 65536:\n    return out",
        "if x.stride(0) + 0.0 != x.stride(0):\n    return out",
        "if x.stride(0) * 1.0 < x.stride(0):\n    return out",
        "if x.stride(0) / 1 < x.stride(0):\n    return out",
        "f'{T:{x.zero_()}}'",
        "(x if T > 5 else weight).zero_()",
        "(exec if T > 5 else eval)('1')",
        "setattr(torch, 'empty', None)",
        "delattr(torch, 'empty')",
        "vars(torch)",
        "ValueError(setattr(torch, 'empty', None))",
        "if False:\n    H = 1",
        "a = (torch.empty((T, H), dtype=torch.bfloat16, device=x.device),)\n(out,) = a",
    ],
)
def test_python_means_what_it_means(statement):
    assert is_open(with_statement(statement))


@pytest.mark.parametrize("returned", ["(out,)", "[out]"])
def test_a_tensor_in_a_tuple_or_list_is_not_what_is_returned(returned):
    text = edited(f"{LAUNCH}\n    return out", f"{LAUNCH}\n    return {returned}")
    assert is_open(text)


def test_a_fresh_tensor_has_one_name():
    made = "torch.empty((T, H), dtype=torch.bfloat16, device=x.device)"
    for aliases in (f"pair = ({made},)\n(a,) = pair\n(out,) = pair", f"(a,) = (out,) = ({made},)"):
        found = judged(with_statement(aliases))
        assert any(one.status is not PROVED for one in found if one.subject == "launches")
