"""The reader: what TTIR computes becomes polynomials, and what is not followed is said."""

from __future__ import annotations

import pytest

from kgen.algebra import TRUE, Interval, Poly, Space, Status, eq, ge, gt
from kgen.prove.facts import Contents, IntegerArgument, Launch, PointerArgument, TensorFacts, World
from kgen.prove.obligations.engine import Engine
from kgen.prove.reader import Access, Reader, Reading
from kgen.prove.ttir import read

HEAD = "%x: !tt.ptr<f32>, %t: !tt.ptr<i32>, %n: i32, %stride: i64"
ZERO = "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n%z = arith.constant 0.0 : f32\n"


class Read:
    """A kernel of these lines: two tensors x[N] and t[N] (entries 0 to N - 1), a grid of G programs along `i`."""

    def __init__(self, body: str):
        space = Space()
        size, grid = space.axis("N", 1, 10**7), space.axis("G", 1, 1000)
        stride = space.axis("stride", 0, 2**40)
        table = space.table("t", 0, size - 1, Interval(-(2**31), 2**31 - 1))
        tensors = {
            "x": TensorFacts("x", "f32", ("i",), (size,), (Poly.of(1),), "output"),
            "t": TensorFacts(
                "t",
                "i32",
                ("i",),
                (size,),
                (Poly.of(1),),
                "input",
                Contents(table, lambda at: TRUE),
            ),
        }
        arguments = {
            "x": PointerArgument("x"),
            "t": PointerArgument("t"),
            "n": IntegerArgument(size),
            "stride": IntegerArgument(stride),
        }
        launch = Launch("kernel", {"i": grid}, arguments, {})
        self.engine = Engine(World(space, (), tensors, (launch,)))
        lines = "\n".join(f"    {line}" for line in (ZERO + body).strip().splitlines())
        text = (
            f"module {{\n  tt.func public @kernel({HEAD}) attributes {{noinline = false}} {{\n"
            f"{lines}\n    tt.return\n  }}\n}}\n"
        )
        self.reading: Reading = Reader(self.engine, launch, read(text, "file.py"), "k").read()

    @property
    def access(self) -> Access:
        (found,) = self.reading.accesses
        return found

    def text(self, thing) -> str:
        return self.engine.text(thing)

    @property
    def size(self) -> Poly:
        return self.engine.space.named("N")

    @property
    def offset(self) -> str:
        return self.text(self.access.offset)

    @property
    def mask(self) -> str:
        return self.text(self.access.mask)

    @property
    def reasons(self) -> list[str]:
        return [one.reason for one in self.reading.obstacles]


def store(address: str, kind: str = "i32") -> str:
    return f"%a = tt.addptr %x, {address} : !tt.ptr<f32>, {kind}\ntt.store %a, %z : !tt.ptr<f32>\n"


TILE = """
%p = tt.get_program_id x : i32
%c64 = arith.constant 64 : i32
%b = arith.muli %p, %c64 : i32
%r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
%s = tt.splat %b : i32 -> tensor<64xi32>
%o = arith.addi %s, %r : tensor<64xi32>
%xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
%at = tt.addptr %xs, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
%ns = tt.splat %n : i32 -> tensor<64xi32>
%m = arith.cmpi slt, %o, %ns : tensor<64xi32>
%v = tt.load %at, %m : tensor<64x!tt.ptr<f32>>
"""


def test_a_masked_tile_has_an_offset_a_mask_and_a_shape():
    found = Read(TILE)
    assert found.offset == "64*k.i + lane0_64" and found.mask == "64*k.i + lane0_64 < N"
    assert found.access.shape == (64,) and found.access.kind == "load"
    assert found.reasons == []


def test_what_may_wrap_around_needs_not_to():
    found = Read("%p = tt.get_program_id x : i32\n%b = arith.muli %p, %n : i32\n" + store("%b"))
    (need,) = found.reading.needs
    assert found.text(need.formula) == "N*k.i <= 2147483647"
    assert found.access.needs == {0} and found.access.control_needs == frozenset()


def test_a_product_that_is_widened_first_needs_more_room_than_it_takes():
    body = """
    %p = tt.get_program_id x : i32
    %w = arith.extsi %p : i32 to i64
    %b = arith.muli %w, %stride : i64
    """
    found = Read(body + store("%b", "i64"))
    assert found.reading.needs == () and found.offset == "stride*k.i"


def test_a_need_of_a_mask_is_a_need_of_control():
    body = TILE.replace("%m = arith.cmpi slt, %o, %ns", "%q = arith.muli %o, %ns : tensor<64xi32>\n"
                        "%m = arith.cmpi slt, %q, %ns")  # fmt: skip
    found = Read(body)
    assert found.access.control_needs == {0} and found.access.needs == frozenset()


def test_branches_become_paths_and_values_choices():
    body = """
    %c = arith.cmpi sgt, %n, %c1 : i32
    %q = scf.if %c -> (i32) {
      scf.yield %n : i32
    } else {
      scf.yield %c0 : i32
    }
    """
    assert Read(body + store("%q")).offset == "where(N >= 2, N, 0)"
    early = "%c = arith.cmpi sgt, %n, %c1 : i32\ncf.cond_br %c, ^bb1, ^bb2\n^bb1:\n"
    found = Read(early + store("%c0") + "tt.return\n^bb2:\n")
    assert found.text(found.access.path) == "N >= 2"


LOOP = """
%q = scf.for %i = %c0 to %n step %c1 iter_args(%k = {start}) -> (i32) : i32 {{
  %a = tt.addptr %x, %k : !tt.ptr<f32>, i32
  tt.store %a, %z : !tt.ptr<f32>
  {turn}
  scf.yield %next : i32
}}
"""


def loop(turn: str, start: str = "%c0") -> Read:
    return Read(LOOP.format(turn=turn, start=start))


def test_a_counter_is_its_start_and_a_multiple_of_the_turn():
    found = loop("%next = arith.addi %k, %c1 : i32")
    (one,) = found.access.loops
    assert found.access.offset == one.turn and found.text(one.guard).endswith("< N")
    assert found.reasons == []


def test_a_value_that_is_computed_anew_is_that_of_the_turn_before():
    found = loop("%next = arith.muli %i, %n : i32")
    (one,) = found.access.loops
    before = (one.turn - 1) * found.size
    assert found.access.offset == found.engine.space.where(ge(one.turn, 1), before, Poly.of(0))


def test_a_value_that_swaps_between_two_is_bounded_or_unknown():
    found = loop("%next = arith.subi %c1, %k : i32")
    assert found.reading.accesses  # no closed form: its bounds are all that is known
    low, high = found.engine.space.interval(found.access.offset)
    assert low is None or low <= 0 and (high is None or high >= 1)


def test_the_bounds_of_a_clamped_walk_are_kept():
    turn = """
    %l = tt.addptr %t, %i : !tt.ptr<i32>, i32
    %d = tt.load %l : !tt.ptr<i32>
    %s = arith.addi %k, %d : i32
    %c9 = arith.constant 9 : i32
    %u = arith.minsi %s, %c9 : i32
    %next = arith.maxsi %u, %c0 : i32
    """
    found = loop(turn)
    (one,) = [access for access in found.reading.accesses if access.kind == "store"]
    assert found.engine.space.interval(one.offset) == Interval(0, 9)


def test_what_follows_a_loop_starts_where_the_loop_ended():
    body = """
    %q = scf.for %i = %c0 to %n step %c1 iter_args(%k = %c0) -> (i32) : i32 {
      %next = arith.addi %k, %c1 : i32
      scf.yield %next : i32
    }
    """
    found = Read(body + store("%q"))
    assert found.engine.proves(eq(found.access.offset, found.size))


def test_an_entry_of_a_table_is_in_its_declared_range_and_a_masked_one_is_not_known():
    body = "%l = tt.addptr %t, %c0 : !tt.ptr<i32>, i32\n%d = tt.load %l : !tt.ptr<i32>\n"
    found = Read(body + store("%d"))
    entry = found.reading.accesses[1].offset
    assert found.text(entry) == "t[0]"
    masked = body.replace("%l :", "%l, %m :").replace(
        "%d =", "%m = arith.cmpi sgt, %n, %c1 : i32\n%d ="
    )
    found = Read(masked + store("%d"))
    entry = found.reading.accesses[1].offset
    assert found.engine.decide(ge(entry, 0)).status is not Status.PROVED
    assert found.engine.proves(ge(entry, 0), gt(found.size, 1))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("%q = tt.what %n : i32\n" + store("%q"), "not known"),
        ("%q = tt.ptr_to_int %x : !tt.ptr<f32> -> i64\n" + store("%q", "i64"), "not known"),
        ("tt.effect %x : !tt.ptr<f32>\n", "not known"),
        (
            "%q = scf.while (%k = %c0) : (i32) -> i32 {\n"
            "%c = arith.cmpi slt, %k, %n : i32\nscf.condition(%c) %k : i32\n} do {\n"
            "^bb0(%w: i32):\n%y = tt.what %w : i32\nscf.yield %y : i32\n}\n",
            "not known",
        ),
    ],
)
def test_what_is_not_known_is_an_obstacle(body, reason):
    assert any(reason in one for one in Read(body).reasons)


def test_an_unknown_operation_may_give_any_value_and_two_may_differ():
    found = Read(
        "%q = tt.what %n : i32\n%r = tt.what %n : i32\n%d = arith.subi %q, %r : i32\n" + store("%d")
    )
    assert found.access.offset.variables
    assert any(one.opaque is False for one in found.reading.obstacles)


def test_inline_assembly_orders_or_is_opaque():
    wait = (
        '%q = tt.elementwise_inline_asm "griddepcontrol.wait; mov.u32 $0, 0;" '
        '{constraints = "=r", packed_element = 1 : i32, pure = false} -> i32\n'
    )
    assert Read(wait).reasons == []
    other = wait.replace("griddepcontrol.wait; mov.u32 $0, 0;", "st.global.u32 [0], 0;")
    assert any(one.opaque for one in Read(other).reading.obstacles)


@pytest.mark.parametrize(
    ("text", "operands", "reason"),
    [
        ("ld.global.b32 $0, [$1];", "%n : i32", "accesses memory"),
        ("global_load_dword $0, $1, off", "%n : i32", "accesses memory"),
        ("mov.b32 $0, 0;", "%x : !tt.ptr<f32>", "is given an address"),
    ],
)
def test_assembly_that_calls_itself_pure_is_not_believed_where_it_reaches_memory(
    text, operands, reason
):
    body = (
        f'%q = tt.elementwise_inline_asm "{text}" '
        f'{{constraints = "=r,r", packed_element = 1 : i32, pure = true}} {operands} -> i32\n'
    )
    (found,) = [one for one in Read(body).reading.obstacles]
    assert found.opaque
    assert found.reason == (
        f"inline assembly that {reason} is not followed; write plain pointers with strides and masks instead"
    )


def test_a_comment_in_assembly_hides_no_instruction():
    ordered = (
        '%q = tt.elementwise_inline_asm "griddepcontrol.wait; // why\\0Amov.u32 $0, 0;" '
        '{constraints = "=r", packed_element = 1 : i32, pure = false} -> i32\n'
    )
    assert Read(ordered).reasons == []
    hidden = ordered.replace("mov.u32 $0, 0;", "st.global.u32 [0], 0;")
    assert any(one.opaque for one in Read(hidden).reading.obstacles)


def test_a_pure_operation_that_is_given_an_address_is_an_obstacle():
    body = "%q = tt.extern_elementwise %x : (!tt.ptr<f32>) -> i32\n"
    (reason,) = Read(body).reasons
    assert reason.startswith("tt.extern_elementwise is given an address; write it with tl.load")
