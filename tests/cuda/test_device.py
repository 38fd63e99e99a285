"""Slots, launches and views: what all kernels of a GPU stand on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netpart.kernels.cuda.device import source_text
from netpart.kernels.cuda.kernels import Kernels
from netpart.kernels.cuda.launch import LaunchScratch, kernel_argument
from netpart.kernels.cuda.slots import SLOTS_PER_LAUNCH
from netpart.kernels.cuda.view import collapsed_views, strided_view
from tests.cuda.module import cupy


def kernels(dtype: str = "float32") -> Any:
    return Kernels(cupy(), dtype)


def test_slots_have_the_values_of_the_step_that_is_told() -> None:
    device = kernels().device
    rates = [device.slot(lambda step, k=k: k + step / 8) for k in range(SLOTS_PER_LAUNCH + 2)]
    for step in (3, 4, 4):
        device.write_step(step)
        assert [float(rate.get()[0]) for rate in rates] == [k + step / 8 for k in range(SLOTS_PER_LAUNCH + 2)]


def test_equal_functions_share_a_slot_and_new_ones_are_told() -> None:
    device = kernels().device
    first = device.slot(float)
    device.write_step(5)
    second = device.slot(lambda step: 2.0 * step)
    device.write_step(5)
    assert device.slot(float).data.ptr == first.data.ptr != second.data.ptr
    assert (float(first.get()[0]), float(second.get()[0])) == (5, 10)


def test_a_function_of_several_values_has_slots_side_by_side_and_is_called_once_in_a_step() -> None:
    """Also where the slots of a launch are used up before it."""
    device, asked = kernels().device, list[int]()

    def values(step: int) -> tuple[float, ...]:
        asked.append(step)
        return step + 0.25, step + 0.5, step + 0.75

    single = [device.slot(lambda step, k=k: k + step / 8) for k in range(SLOTS_PER_LAUNCH - 2)]
    found = device.step_slots(values, 3)
    assert device.step_slots(values, 3).data.ptr == found.data.ptr
    for step in (3, 4, 4):
        device.write_step(step)
        assert found.get().tolist() == [step + 0.25, step + 0.5, step + 0.75]
        assert [float(slot.get()[0]) for slot in single] == [k + step / 8 for k in range(SLOTS_PER_LAUNCH - 2)]
    assert asked == [3, 4]


def test_steps_that_wait_on_the_stream_have_values_of_their_own() -> None:
    """The next step overwrites the arguments of a launch that the device has not reached."""
    device = kernels().device
    slot, seen = device.slot(float), [cupy().zeros(1) for _ in range(3)]
    for step, copy in enumerate(seen):
        device.write_step(step)
        copy[...] = slot
    assert [float(copy.get()[0]) for copy in seen] == [0, 1, 2]


def test_kernels_of_a_thread_enqueue_on_one_stream_and_compile_a_source_once() -> None:
    one, other = kernels().device, kernels().device
    assert one.stream is other.stream
    assert one.stream.ptr == cupy().cuda.get_current_stream().ptr != 0
    assert one.function("arrays.cu", "squares", "float32") is other.function("arrays.cu", "squares", "float32")


def test_what_lies_in_pieces_is_fetched_and_the_stream_is_still_the_current_one() -> None:
    device, xp = kernels().device, cupy()
    device.use()
    assert xp.zeros((3, 4)).swapaxes(0, 1).get().shape == (4, 3)
    assert xp.cuda.get_current_stream().ptr == device.stream.ptr


def test_a_source_has_its_headers_inside_once() -> None:
    found = source_text("arrays.cu")
    assert '#include "' not in found
    assert "#pragma once" not in found
    assert found.count("typedef REAL real;") == 1


@pytest.mark.parametrize(
    ("arg", "dtype"), [(True, np.int32), (7, np.int64), (0.5, np.float64), (np.uint32(3), np.uint32)]
)
def test_arguments_have_the_types_of_cuda_c(arg: Any, dtype: Any) -> None:
    assert kernel_argument(arg) == arg
    assert type(kernel_argument(arg)) is dtype
    assert int(kernel_argument(None)) == 0


def test_scratch_is_the_same_memory_in_all_launches_of_an_op() -> None:
    verbs = kernels("float64")
    x = cupy().asarray(np.arange(5.0))
    out = cupy().zeros(1)
    parts = LaunchScratch((1,), np.float64)
    op = verbs.launches(
        verbs.bound("arrays.cu", "squares", 5, *collapsed_views(x), parts, 5, grid=1),
        verbs.bound("arrays.cu", "add_parts", 1, out, parts, 1, block=32),
        verbs.bound("arrays.cu", "add_parts", 0, out, parts, 1),
    )
    assert op.scratch == [((1,), np.float64)]
    op.run(cupy().zeros(1))
    assert float(out.get()[0]) == 30


def test_nothing_to_do_is_no_launch() -> None:
    assert kernels().launch("arrays.cu", "squares", 0).run() is None


shapes = st.lists(st.integers(1, 4), min_size=0, max_size=5).map(tuple)


def elements(found: Any, base: int) -> list[int]:
    """Where elements lie, in items from ``base``, in the order of a view."""
    value, rank = found.value, int(found.value["rank"])
    shape = tuple(int(n) for n in value["shape"][:rank])
    steps = [int(n) for n in value["stride"][:rank]]
    start = (int(value["data"]) - base) // found.array.itemsize
    return [start + sum(i * s for i, s in zip(at, steps, strict=True)) for at in np.ndindex(shape)]


@given(shape=shapes, random=st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_views_pair_the_same_elements_however_arrays_lie(shape: tuple[int, ...], random: Any) -> None:
    """Two arrays of one shape: one in an order of its own, one a crop of something larger."""
    order = random.sample(range(len(shape)), len(shape))
    a = np.arange(int(np.prod(shape)), dtype=np.float32).reshape([shape[axis] for axis in order])
    a = a.transpose([order.index(axis) for axis in range(len(shape))])
    crop = tuple(slice(random.randint(0, 2), None) for _ in shape)
    whole = np.zeros([n + c.start for n, c in zip(shape, crop, strict=True)], np.float32)
    b = whole[crop]
    first, second = collapsed_views(a, b)
    assert [int(x) for x in first.value["shape"]] == [int(x) for x in second.value["shape"]]
    where = {
        p: i
        for i, p in zip(np.ndindex(shape), elements(strided_view(a), a.__array_interface__["data"][0]), strict=True)
    }
    other = {
        p: i
        for i, p in zip(np.ndindex(shape), elements(strided_view(b), b.__array_interface__["data"][0]), strict=True)
    }
    starts = (found.array.__array_interface__["data"][0] for found in (first, second))
    pairs = zip(*(elements(found, start) for found, start in zip((first, second), starts, strict=True)), strict=True)
    assert all(where[x] == other[y] for x, y in pairs)
    assert collapsed_views(a)[0].contiguous == (a.size == 1 or collapsed_views(a)[0].value["rank"] == 1)


def test_lanes_have_streams_of_their_own() -> None:
    device = kernels().device
    blas, streams = device.blas, [device.turn(lane) for lane in (2, 1, 0)]
    assert len({stream.ptr for stream in streams}) == 3
    assert blas.stream == device.stream.ptr
    assert streams[2] is device.stream
    assert device.turn(1) is streams[1]
    assert cupy().cuda.get_current_stream().ptr == streams[1].ptr
    device.turn(0)
    assert cupy().cuda.get_current_stream().ptr == device.stream.ptr
