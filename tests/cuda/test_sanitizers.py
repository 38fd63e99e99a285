"""The emulation finds what compute-sanitizer finds on a GPU, each time: racecheck, memcheck, initcheck, synccheck."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.cuda.emulator import host
from tests.cuda.module import ON_GPU, cupy

pytestmark = [
    pytest.mark.skipif(bool(host.missing()), reason=host.missing()),
    pytest.mark.skipif(ON_GPU, reason="on a GPU compute-sanitizer itself looks: make sanitize-gpu"),
]

BROKEN = """
#define T threadIdx.x

// racecheck
extern "C" __global__ void no_barrier(float* x) {
    __shared__ float seen[64];
    seen[T] = x[T];
    __syncthreads();
    seen[T] += seen[(T + 1) % 64];
}
extern "C" __global__ void no_barrier_behind(float* x) {
    __shared__ float seen[64];
    for (int i = 0; i < 2; i++) {
        seen[T] = x[T];
        __syncthreads();
        x[T] = seen[63 - T];
    }
}
extern "C" __global__ void shuffles_are_no_barrier(float* x) {
    __shared__ float seen[64];
    seen[T] = x[T];
    const float all = __shfl_xor_sync(0xffffffff, x[T], 1);
    x[T] = all + seen[T ^ 1];
}
extern "C" __global__ void another_warp(float* x) {
    __shared__ float seen[64];
    seen[T] = x[T];
    __syncwarp();
    x[T] = seen[T ^ 32];
}
extern "C" __global__ void another_block(float* x) {
    if (T == 0) x[blockIdx.x] += x[0];
}
extern "C" __global__ void half_atomic(float* x) {
    if (T == 0 && blockIdx.x) atomicAdd(x, 1.0f);
    else if (T == 0) *x = 1;
}

// memcheck
extern "C" __global__ void behind_the_end(float* x) { x[T] = x[T + 1]; }
extern "C" __global__ void before_the_start(float* x) { x[(int)T - 1] = 0; }
extern "C" __global__ void null(float* x) { *(float*)(T * 4ll) = 1; }
extern "C" __global__ void misaligned(float* x) { if (T == 0) *(float4*)(x + 1) = make_float4(1, 2, 3, 4); }
extern "C" __global__ void beyond_shared(float* x) {
    __shared__ float seen[32];
    seen[T] = x[T];
}
extern "C" __global__ void too_many(float* x) {
    int n = 2147483647;
    x[0] = n + (int)T;
}
extern "C" __global__ void shifted(float* x) { x[T] = 1 << T; }

// initcheck
extern "C" __global__ void never_written(float* x) {
    __shared__ float seen[64];
    x[T] = seen[T];
}

// What is right: the same with the barriers that they lack.
extern "C" __global__ void right(float* x) {
    __shared__ float seen[64];
    for (int i = 0; i < 2; i++) {
        seen[T] = x[T];
        __syncwarp();
        const float other = seen[T ^ 1];
        __syncthreads();
        seen[T] = other;
        __syncthreads();
        x[T] = seen[63 - T];
        __syncthreads();
    }
    atomicAdd(x + 64, x[T]);
}

struct Place { float* at; };
extern "C" __global__ void follow(float* y, Place x) { y[T] = x.at[T]; }
extern "C" __global__ void scale(float* x) { x[T] *= 2; }
extern "C" __global__ void sum(float* y, const float* x) { y[T] = x[T] + 1; }
extern "C" __global__ void order(float* place, int* next) { place[blockIdx.x * blockDim.x + T] = atomicAdd(next, 1); }
"""
SIZE = 64


@pytest.fixture(scope="module")
def kernels() -> Any:
    return cupy().RawModule(code=BROKEN, options=("-std=c++17",))


@pytest.fixture
def call(kernels: Any) -> Callable[..., None]:
    """Launches a kernel by its name, of two blocks of 64 threads."""

    def launch(name: str, *args: Any, blocks: int = 1) -> None:
        kernels.get_function(name)((blocks,), (SIZE,), args)
        cupy().cuda.get_current_stream().synchronize()

    return launch


def ones(size: int = SIZE) -> Any:
    return cupy().asarray(np.ones(size, np.float32))


READ, WROTE = "what another has read at the same time", "what another has written at the same time"


@pytest.mark.parametrize("launch", range(4))
@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("no_barrier", r"seen\[\(T \+ 1\) % 64\];: thread \d+ of block \d \w+ what .* in shared memory"),
        ("no_barrier_behind", rf"writes {READ} in shared memory|reads {WROTE} in shared memory"),
        ("shuffles_are_no_barrier", "what .* in shared memory"),
        ("another_warp", "what .* in shared memory"),
        ("another_block", rf"x\[blockIdx.x\] \+= x\[0\];: .* {WROTE}|{READ}"),
        ("half_atomic", rf"writes {WROTE}"),
        ("behind_the_end", r"x\[T\] = x\[T \+ 1\]; .*thread 63 of block \d uses 4 bytes that are in no array|time"),
        ("before_the_start", "thread 0 of block . uses 4 bytes that are in no array|time"),
        ("null", "uses 4 bytes that are in no array"),
        ("misaligned", "uses an address that is no multiple"),
        ("beyond_shared", r"seen\[T\] = x\[T\];: .* takes an element that an array has not"),
        ("too_many", "adds up to more than the type holds"),
        ("shifted", "shifts by more bits than there are"),
        ("never_written", r"x\[T\] = seen\[T\];: .* reads what nobody has written in shared memory"),
    ],
)
def test_a_broken_kernel_is_found_in_every_order(
    call: Callable[..., None], name: str, complaint: str, launch: int
) -> None:
    with pytest.raises(RuntimeError, match=rf"{name}: .*({complaint})"):
        call(name, ones(), blocks=2)


def test_a_right_kernel_is_right(call: Callable[..., None]) -> None:
    for _ in range(4):
        x = ones(SIZE + 1)
        call("right", x)
        assert x.get().tolist() == [1] * SIZE + [1 + SIZE]


def test_what_nobody_has_written_is_not_read(call: Callable[..., None]) -> None:
    x = cupy().empty(SIZE, np.float32)
    with pytest.raises(RuntimeError, match=r"scale: .*x\[T\] \*= 2.* reads what nobody has written"):
        call("scale", x)
    x[:32] = 1
    with pytest.raises(RuntimeError, match=r"thread (3[2-9]|[456]\d) of block 0 reads what nobody has written"):
        call("scale", x)
    x.fill(1)
    call("scale", x)


def test_what_was_given_back_is_not_used(call: Callable[..., None]) -> None:
    x, y = ones(), ones()
    place = np.zeros((), [("address", np.uint64)])
    place["address"] = x.data.ptr
    call("follow", y, place)
    del x
    with pytest.raises(RuntimeError, match=r"follow: .* thread \d+ of block 0 uses 4 bytes that are in no array"):
        call("follow", y, place)


def test_launches_come_in_many_orders(call: Callable[..., None]) -> None:
    found = []
    for _ in range(8):
        place, count = ones(2 * SIZE), cupy().zeros(1, np.int32)
        call("order", place, count, blocks=2)
        found.append(place.get().tolist())
    numbers = [float(i) for i in range(2 * SIZE)]
    assert all(sorted(each) == numbers for each in found)
    assert numbers in found
    assert numbers[::-1] in found
    assert len(set(map(tuple, found))) > 4


class Streams:
    """Two streams, of which the first works with x, and what the second does about it."""

    def __init__(self, kernels: Any, first: str, second: str) -> None:
        xp = cupy()
        self.one = xp.cuda.Stream()
        self.other = xp.cuda.Stream()
        self.event = xp.cuda.Event()
        self.x, self.y = ones(), ones()
        xp.cuda.get_current_stream().synchronize()
        self.kernels = kernels
        self.first = first
        self.second = second

    def call(self, name: str, stream: Any) -> None:
        args = {"scale": (self.x,), "sum": (self.y, self.x)}[name]
        self.kernels.get_function(name)((1,), (SIZE,), args, stream=stream)

    def play(self, between: Callable[[Streams], None]) -> None:
        self.call(self.first, self.one)
        self.event.record(self.one)
        between(self)
        self.call(self.second, self.other)
        for stream in (self.other, self.one):
            stream.synchronize()


NEXT = [("scale", "sum"), ("sum", "scale"), ("scale", "scale")]
"""A read behind a write, a write behind a read, a write behind a write."""


@pytest.mark.parametrize(("first", "second"), NEXT)
def test_streams_with_no_event_between_them(kernels: Any, first: str, second: str) -> None:
    with pytest.raises(RuntimeError, match="at the same time"):
        Streams(kernels, first, second).play(lambda streams: None)


@pytest.mark.parametrize(("first", "second"), NEXT)
@pytest.mark.parametrize(
    "between",
    [
        lambda streams: streams.other.wait_event(streams.event),
        lambda streams: streams.event.synchronize(),
        lambda streams: streams.one.synchronize(),
    ],
)
def test_streams_that_wait(kernels: Any, first: str, second: str, between: Any) -> None:
    streams = Streams(kernels, first, second)
    streams.play(between)
    assert streams.x.get().tolist() == [4.0 if first == second else 2.0] * SIZE


def test_an_event_orders_what_was_enqueued_before_it(kernels: Any) -> None:
    def later(streams: Streams) -> None:
        streams.other.wait_event(streams.event)
        streams.call("sum", streams.one)

    with pytest.raises(RuntimeError, match="at the same time"):
        Streams(kernels, "sum", "scale").play(later)


def test_two_that_read_do_not_wait(kernels: Any) -> None:
    streams = Streams(kernels, "scale", "sum")
    streams.call("scale", streams.one)
    streams.one.synchronize()
    y, streams.y = streams.y, ones()
    cupy().cuda.get_current_stream().synchronize()
    streams.call("sum", streams.one)
    streams.y = y
    streams.call("sum", streams.other)
    for stream in (streams.other, streams.one):
        stream.synchronize()
    assert y.get().tolist() == [3.0] * SIZE


@pytest.mark.parametrize("read", [True, False])
def test_copies_between_streams(kernels: Any, read: bool) -> None:
    """An upload of the next samples while a kernel has these; a download while it makes them."""
    xp, streams = cupy(), Streams(kernels, "scale", "scale")
    pinned = np.frombuffer(xp.cuda.alloc_pinned_memory(4 * SIZE), np.float32)
    streams.call("sum" if read else "scale", streams.one)
    if read:
        streams.x.data.copy_from_host_async(pinned.ctypes.data, pinned.nbytes, streams.other)
    else:
        streams.x.data.copy_to_host_async(pinned.ctypes.data, pinned.nbytes, streams.other)
    streams.one.synchronize()
    with pytest.raises(RuntimeError, match=r"a copy or a library .* at the same time"):
        streams.other.drain()
