"""Rows that lie one behind the other, as a kernel computes them: what is proved of them, and what breaks that."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "proving"))

from subjects import Subject, T, functions_of, parameters_of, world  # noqa: E402

from kgen.algebra import Interval, Poly, Status, disjunction, eq, le, lt  # noqa: E402
from kgen.prove.facts import Part, Reads, World  # noqa: E402
from kgen.prove.frontend import Frontend  # noqa: E402
from kgen.prove.obligations.engine import Engine  # noqa: E402
from kgen.prove.obligations.model import Obligation  # noqa: E402
from kgen.prove.obligations.rows import Rows  # noqa: E402
from kgen.prove.reader import Reader  # noqa: E402
from kgen.prove.ttir import read  # noqa: E402
from kgen.prove.world import prove_world  # noqa: E402

FILE = Path(__file__).with_name("kernels") / "rows.py"
AXES = {"N": (1, 63), "MORE": (1, 100), "W": (1, 10000)}
SCHEDULE = {"lengths": T("int32", "N"), "begins": T("int32", 64, role="scratch")}
PIECES = "N + MORE"


def subjects(grid: str) -> list[Subject]:
    part = {"part": T("fp32", PIECES, role="scratch")}
    reads = {"k": T("fp32", "N", "W"), **SCHEDULE, **part}
    sums = {**part, **SCHEDULE, "o": T("fp32", "N", role="output")}
    return [
        Subject("schedule", SCHEDULE, AXES, [1], {"ROWS": 64}),
        Subject("pieces", reads, AXES, [grid], {"ROWS": 64, "B": 16}),
        Subject("add", sums, AXES, ["N"]),
    ]


def declared(plain: World) -> World:
    """The world, in which each live element of each row is to be read once."""
    space, tensors = plain.space, plain.tensors

    def bounds(indices, rows):
        length = space.entry(tensors["lengths"].contents.table, indices["b"])
        live = space.minimum(space.maximum(length, Poly.of(0)), space.named("W"))
        return {"b": (Poly.of(0), space.named("N")), "p": (Poly.of(0), live)}

    return replace(plain, reads=(Reads("k", ("b", "p"), (Part("b"), Part("p")), bounds),))


def unproved(file: Path, grid: str = PIECES) -> list[Obligation]:
    chosen, parameters = subjects(grid), parameters_of(file)
    functions = functions_of(file, chosen)
    built = declared(world(chosen, [parameters[one.function] for one in chosen]))
    found = prove_world(built, "test", functions).obligations
    assert any(one.says.startswith("k is read exactly once") for one in found)
    return [one for one in found if one.status is not Status.PROVED]


def changed(folder: Path, old: str, new: str) -> Path:
    """The file with the first of such places changed."""
    text = FILE.read_text()
    assert old in text
    path = folder / "rows.py"
    path.write_text(text.replace(old, new, 1))
    return path


def test_pieces_of_rows_are_read_and_summed_once():
    assert unproved(FILE) == []


@pytest.mark.full
def test_a_grid_that_is_too_small_for_all_pieces_is_not_proved():
    found = unproved(FILE, f"{PIECES} - 1")
    assert any(one.says.startswith("k is read exactly once") for one in found)


SLIPS = {
    "rows that may have no piece": ("r + tl.minimum(more, MORE)", "tl.minimum(more, MORE)"),
    "summands that may be negative": ("tl.maximum(live - 1, 0) // chunk", "live - 1"),
    "sums from the other end": ("// chunk, 0)", "// chunk, 0, reverse=True)"),
    "sums that count the row itself": ("(r > 0) & (r <= N)", "r < N"),
    "lengths of the row itself": ("lengths + r - 1, mask=(r > 0) & (r <= N)", "lengths + r, mask=r < N"),
    "no room for all": ("tl.minimum(more, MORE)", "more"),
    "the row before": ("tl.load(begins + r) <= i", "tl.load(begins + r) < i"),
    "rows that begin later": ("tl.load(begins + r) <= i", "tl.load(begins + r) >= i"),
    "no rows but these": ("(r < N)", "(r < N - 1)"),
    "a row too many": ("(r < N)", "(r <= N)"),
    "every second row": ("(r < N)", "(r % 2 == 0)"),
    "the row behind": (".to(tl.int32), 0) - 1", ".to(tl.int32), 0)"),
    "pieces of another row": ("low = (i - begin) * size", "low = (i - begin + 1) * size"),
    "as many pieces as the row before has": (
        "count = tl.load(begins + row + 1) - begin",
        "count = begin - tl.load(begins + row - 1, mask=row > 0, other=-1)",
    ),
    "one piece more than there are": (
        "count = tl.load(begins + row + 1) - begin",
        "count = tl.load(begins + row + 1) - begin + 1",
    ),
    "stored elsewhere": ("tl.store(part + i,", "tl.store(part + row,"),
    "summed from the next piece on": ("tl.load(part + begin + s)", "tl.load(part + begin + s + 1)"),
    "summed from where no row begins": ("tl.load(part + begin + s)", "tl.load(part + row + s)"),
    "one piece left out": ("tl.maximum(size, 1)))", "tl.maximum(size, 1)) - 1)"),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_not_proved(slip, tmp_path):
    assert unproved(changed(tmp_path, *SLIPS[slip])) != []


# ---------------------------------------------------------------- what counts as a running sum, and as a count


@pytest.fixture(scope="module")
def noted():
    """What is noted of a kernel with these lines, by sums and counts of its lanes `r`, where `x` are integers in memory."""
    with Frontend() as frontend:

        def of(*lines: str) -> tuple[Rows, Engine]:
            body = "".join(f"    {line}\n" for line in lines)
            head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
            text = f"{head}def kernel(x, o, N):\n    i, r = tl.program_id(0), tl.arange(0, 64)\n"
            tensors = {"x": T("int32", 64, entries=(-9, 9)), "o": T("int32", 64, role="output")}
            one = Subject("kernel", tensors, {"N": (1, 63)}, [1000])
            names = ("x", "o", "N")
            (lowered,) = frontend.lower(text + body, [one.signature(names)], ["sm_90"], 120)
            built = one.world(names)
            engine = Engine(built)
            Reader(engine, built.launches[0], read(lowered.text, lowered.file), "kernel").read()
            return engine.rows, engine

        yield of


NATURAL = "v = tl.maximum(tl.load(x + r), 0)"


def test_a_sum_of_what_is_not_negative_never_falls(noted):
    rows, engine = noted(NATURAL, "tl.store(o + r, tl.cumsum(v, 0))")
    (key,) = rows.sums
    space = engine.space

    def sum_at(lane: Poly) -> Poly:
        return space.unknown(key[0], (lane, space.named("kernel.x")), key[1], Interval(0, 64 * 9))

    n = space.axis("n", 0, 62)
    first, here, behind = map(sum_at, (Poly.of(0), n, n + 1))
    assert engine.proves(le(here, behind)) and not engine.proves(le(behind, here))
    assert engine.proves(le(here, sum_at(n + 5))) and not engine.proves(le(sum_at(n + 5), here))
    assert not engine.proves(lt(here, behind))
    (variable,) = space.entry(engine.world.tensors["x"].contents.table, Poly.of(0)).variables
    assert engine.proves(eq(first, space.maximum(Poly.variable(variable), Poly.of(0))))


@pytest.mark.parametrize(
    "sum_",
    [
        "tl.cumsum(tl.load(x + r), 0)",  # some are negative
        "tl.cumsum(v, 0, reverse=True)",
        "tl.cumsum(v + 2000000000, 0)",  # it wraps around
        "tl.cumprod(v, 0)",
        "tl.cumsum(tl.reshape(v, (8, 8)), 1)",
    ],
)
def test_of_other_sums_nothing_is_noted(noted, sum_):
    rows, _ = noted(NATURAL, f"s = {sum_}", "tl.store(o + r, tl.reshape(s, (64,)))")
    assert not rows.sums and not rows.counts


@pytest.mark.parametrize(
    "condition",
    [
        "r < i",
        "(r * 3 <= i) & (r < N)",
        "(tl.cumsum(v, 0) <= i) & (r < N)",
        "r + tl.cumsum(v, 0) <= i",
    ],
)
def test_what_holds_in_the_first_lanes_is_counted(noted, condition):
    rows, engine = noted(
        NATURAL, f"c = {condition}", "tl.store(o + i % 64, tl.sum(c.to(tl.int32), 0))"
    )
    (count,) = rows.counts.values()
    assert engine.proves(le(count.result, 64))
    assert engine.proves(disjunction(lt(count.result, 1), count.at(engine.space, count.result - 1, [engine.space.named("kernel.x")])))  # fmt: skip


@pytest.mark.parametrize(
    "condition",
    [
        "r > i",
        "r != i",
        "r % 2 == 0",
        "tl.load(x + r) <= i",
        "tl.cumsum(tl.load(x + r), 0) <= i",
        "tl.cumsum(v, 0) >= i",
        "tl.cumsum(v, 0, reverse=True) <= i",
        "(tl.cumsum(v, 0) <= i) & (r > N)",
        "tl.load(x + r, mask=r < N, other=9) <= i",
    ],
)
def test_of_what_holds_in_other_lanes_no_count_is_noted(noted, condition):
    rows, _ = noted(NATURAL, f"c = {condition}", "tl.store(o + i % 64, tl.sum(c.to(tl.int32), 0))")
    assert not rows.counts


def test_a_sum_of_other_numbers_than_ones_is_no_count(noted):
    lines = ("c = tl.where(r < i, 2, 0)", "d = tl.where(r < i, 1, 1 - v * 0)")
    rows, _ = noted(NATURAL, *lines, "tl.store(o + i % 64, tl.sum(c, 0) + tl.sum(d, 0))")
    assert not rows.counts
