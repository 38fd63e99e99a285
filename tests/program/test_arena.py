"""The memory plan: two buffers that live at the same time never share a byte, and none is held longer than needed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.graph.partition import partition_job
from netpart.program.arena import ALIGN, NONE, align_to_arena, buffer_lifetimes, plan_arena
from netpart.program.buffers import ALIAS, ARENA, FIXED, Buffer, View
from netpart.program.compile import compile_worker
from netpart.program.instructions import Backward, Copy, Instruction, Zero
from netpart.program.passes.buffer_sharing import BufferSharing, layers_by_part
from netpart.spec import whole_region
from tests.laws.nets import Example, examples
from tests.thorough import example_count

FLOAT_SIZE = 8


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[Buffer], list[Instruction]]:
    """Random copies among buffers of all kinds and sizes."""
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=12))
    kinds = st.sampled_from([ARENA, ARENA, ARENA, FIXED])
    buffers = [Buffer(f"b{i}", (n,), draw(st.sampled_from(["float", "int"])), draw(kinds)) for i, n in enumerate(sizes)]
    for i in range(draw(st.integers(0, 3))):
        parent = draw(st.integers(0, len(sizes) - 1))
        buffers.append(
            Buffer(f"a{i}", (1,), buffers[parent].dtype, ALIAS, parent, draw(st.integers(0, sizes[parent] - 1)))
        )
    views = st.integers(0, len(buffers) - 1).map(lambda b: View(b, whole_region(buffers[b].shape)))
    copies = st.builds(Copy, views, views) | st.builds(Zero, views)
    return buffers, draw(st.lists(copies, max_size=15))


@given(programs())
def test_what_lives_at_the_same_time_lies_apart(program: tuple[list[Buffer], list[Instruction]]) -> None:
    assert_apart(*program)


@given(examples())
@settings(max_examples=example_count(60))
def test_it_does_in_the_programs_of_random_nets(example: Example) -> None:
    partition = partition_job(example.job, example.workers)
    for worker in range(example.workers):
        compiled = compile_worker(partition, worker)
        for program in compiled.phases.values():
            places = BufferSharing(
                compiled.buffers, program.instructions, layers_by_part(program.micros, worker)
            ).find()
            offsets, _ = assert_apart(compiled.buffers, program.instructions, places, program.copies)
            assert offsets == program.offsets
            assert_read_values_live(compiled.buffers, program.instructions)


def assert_apart(
    buffers: list[Buffer],
    instructions: list[Instruction],
    places: Mapping[int, int] = NONE,
    copies: Mapping[int, int] = NONE,
) -> tuple[dict[int, int], int]:
    """Brute force: at each instruction, the bytes of all live buffers are disjoint and inside the arena, but for those
    in the place of another."""
    offsets, arena = plan_arena(buffers, instructions, FLOAT_SIZE, places, copies)
    lives = buffer_lifetimes(buffers, instructions, places, copies)
    sizes = {b: copies.get(b, 1) * align_to_arena(buffers[b].nbytes(FLOAT_SIZE)) for b in lives}
    assert set(offsets) == lives.keys() | places.keys()
    assert all(offsets[b] == offsets[place] for b, place in places.items())
    for time in range(len(instructions)):
        live = [b for b, (first, last) in lives.items() if first <= time <= last]
        spans = [(offsets[b], offsets[b] + sizes[b]) for b in live]
        assert all(lo % ALIGN == 0 and hi <= arena for lo, hi in spans)
        assert not any(a < d and c < b for (a, b), (c, d) in combinations(spans, 2))
    return offsets, arena


def assert_read_values_live(buffers: list[Buffer], instructions: list[Instruction]) -> None:
    """Backward looks again at what forward had: that is still there."""
    lives = buffer_lifetimes(buffers, instructions)
    for time, instruction in enumerate(instructions):
        if isinstance(instruction, Backward):
            for view in (*instruction.x, *instruction.reads):
                if view is not None and buffers[view.buffer].kind == ARENA:
                    first, last = lives[view.buffer]
                    assert first <= time <= last


def test_a_chain_of_buffers_takes_the_room_of_two() -> None:
    buffers = [Buffer(f"b{i}", (8,)) for i in range(6)]
    views = [View(i, whole_region((8,))) for i in range(6)]
    chain: list[Instruction] = [Copy(views[i + 1], views[i]) for i in range(5)]
    assert plan_arena(buffers, chain, FLOAT_SIZE)[1] == 2 * ALIGN


def test_a_view_of_a_buffer_keeps_it_alive() -> None:
    buffers = [Buffer("whole", (8,)), Buffer("part", (2,), kind=ALIAS, parent=0, offset=2), Buffer("other", (8,))]
    views = [View(b, whole_region(buffer.shape)) for b, buffer in enumerate(buffers)]
    assert buffer_lifetimes(buffers, [Zero(views[0]), Zero(views[2]), Zero(views[1])]) == {0: (0, 2), 2: (1, 1)}


def test_what_lingers_is_not_written_over_for_so_long() -> None:
    buffers = [Buffer(f"b{i}", (16,)) for i in range(4)]
    program: list[Instruction] = [Zero(View(b, ((0, 16),))) for b in range(4)]
    found = [plan_arena(buffers, program, 4, linger=linger) for linger in range(4)]
    assert [size for _, size in found] == [64, 128, 192, 256]
    assert [found[1][0][b] for b in range(4)] == [0, 64, 0, 64]
