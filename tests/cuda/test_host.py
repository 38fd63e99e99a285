"""The emulation itself: it computes what a GPU would, and refuses what a GPU would not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cuda.emulator import host

pytestmark = pytest.mark.skipif(bool(host.missing()), reason=host.missing())

SOURCE = """
struct Pair { long long times; double plus; };

extern "C" __global__ void affine(const float* __restrict__ x, float* y, long long size, Pair pair, bool negative) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    const float found = x[i] * pair.times + (float)pair.plus;
    y[i] = negative ? -found : found;
}

extern "C" __global__ void places(int* y) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    y[row * gridDim.x * blockDim.x + column] = 100 * row + column;
}

// Those beyond the end leave before the others meet.
extern "C" __global__ void prefix_sums(int* x, int size) {
    extern __shared__ int seen[];
    const int t = threadIdx.x;
    if (t >= size) return;
    seen[t] = x[t];
    __syncthreads();
    for (int distance = 1; distance < size; distance *= 2) {
        const int before = t >= distance ? seen[t - distance] : 0;
        __syncthreads();
        seen[t] += before;
        __syncthreads();
    }
    x[t] = seen[t];
}

template <class T> __device__ T sum(T value) {
    __shared__ T parts[32];
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffff, value, distance);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffff, value, distance);
    return value;
}

extern "C" __global__ void total(const REAL* x, REAL* y, long long size) {
    REAL found = 0;
    for (long long i = threadIdx.x; i < size; i += blockDim.x) found += x[i];
    found = sum(found);
    if (threadIdx.x == 0) *y = found;
}

extern "C" __global__ void lanes(int* y) {
    const int lane = threadIdx.x;
    y[lane] = __shfl_sync(0xffffffff, lane, 3, 8);
    y[32 + lane] = __shfl_up_sync(0xffffffff, lane, 2);
    y[64 + lane] = __shfl_xor_sync(0xffffffff, lane, 5);
    y[96 + lane] = (int)__ballot_sync(0xffffffff, lane % 2);
    if (lane < 4) y[128 + lane] = __shfl_down_sync(0xf, lane, 1, 4);
    __syncwarp();
    y[160 + lane] = __syncthreads_count(lane < 7) + atomicAdd(&y[192], 1) * 0;
}

extern "C" __global__ void parts_ways(int* y) {
    if (threadIdx.x < 3) __syncthreads();
    else
        __syncthreads();
    y[0] = 1;
}

extern "C" __global__ void reads_nobody(int* y) {
    if (threadIdx.x >= 16) return;
    y[threadIdx.x] = __shfl_xor_sync(0xffffffff, threadIdx.x, 16);
}

extern "C" __global__ void waits_for_ever(int* y) {
    if (threadIdx.x == 0) __syncwarp();
    else
        __syncthreads();
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return host.compile(SOURCE, ("-std=c++17", "-DREAL=double"), tmp_path_factory.mktemp("kernels"))


def test_arguments_go_by_value_and_by_address(module: Any) -> None:
    x, y = np.arange(300, dtype="float32"), np.zeros(300, "float32")
    pair = np.zeros((), [("times", "i8"), ("plus", "f8")])
    pair["times"], pair["plus"] = 3, 0.5
    module.get_function("affine")((3,), (128,), (x, y, 300, pair[()], True))
    assert np.array_equal(y, -(x * 3 + np.float32(0.5)))


def test_grids_and_blocks_have_axes(module: Any) -> None:
    y = np.zeros((6, 8), "int32")
    module.get_function("places")((2, 3), (4, 2), (y,))
    assert np.array_equal(y, 100 * np.arange(6)[:, None] + np.arange(8))


@pytest.mark.parametrize("size", [1, 33, 100])
def test_barriers_in_loops_and_dynamic_shared_memory(module: Any, size: int) -> None:
    x = np.arange(size, dtype="int32")
    module.get_function("prefix_sums")((1,), (128,), (x, np.int32(size)), shared_mem=4 * size)
    assert np.array_equal(x, np.cumsum(np.arange(size)))


def test_shuffles_and_shared_memory_of_templates(module: Any) -> None:
    x, y = np.random.default_rng(1).standard_normal(1000), np.zeros(1)
    module.get_function("total")((1,), (256,), (x, y, 1000))
    np.testing.assert_allclose(y[0], x.sum(), rtol=1e-12)


def test_lanes_exchange_values(module: Any) -> None:
    y, lane = np.zeros(224, "int32"), np.arange(32)
    module.get_function("lanes")((1,), (32,), (y,))
    rows = y.reshape(7, 32)
    assert np.array_equal(rows[0], lane // 8 * 8 + 3)
    assert np.array_equal(rows[1], np.where(lane < 2, lane, lane - 2))
    assert np.array_equal(rows[2], lane ^ 5)
    assert set(rows[3].view("uint32")) == {0xAAAAAAAA}
    assert rows[4, :4].tolist() == [1, 2, 3, 3]
    assert set(rows[5]) == {7}
    assert rows[6, 0] == 32


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("parts_ways", "wait at different barriers: line"),
        ("reads_nobody", r"waits for lane \d+, which is not there"),
        ("waits_for_ever", "wait for each other for ever"),
    ],
)
def test_threads_that_do_not_meet(module: Any, name: str, complaint: str) -> None:
    with pytest.raises(RuntimeError, match=f"{name}: .*{complaint}"):
        module.get_function(name)((1,), (32,), (np.zeros(32, "int32"),))
    x = np.arange(4, dtype="int32")
    module.get_function("prefix_sums")((1,), (32,), (x, np.int32(4)), shared_mem=16)
    assert x.tolist() == [0, 1, 3, 6], "the emulation is as good as new"


def test_a_write_beyond_dynamic_shared_memory(module: Any) -> None:
    with pytest.raises(RuntimeError, match=r"prefix_sums: .*seen\[t\] = x\[t\];: thread 8 .*beyond its dynamic"):
        module.get_function("prefix_sums")((1,), (32,), (np.ones(9, "int32"), np.int32(9)), shared_mem=32)


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ((np.zeros(3, "float32"), np.zeros(3), 3), "expected 5 arguments, got 3"),
        ((np.zeros(3), np.zeros(3, "float32"), 3, np.void(b"0" * 16), True), "expected pf4 as argument 0, got pf8"),
        ((None, None, np.int32(3), np.void(b"0" * 16), True), "expected i8 as argument 2, got i4"),
        ((None, None, 3, np.void(b"0" * 8), True), "expected V16 as argument 3, got V8"),
    ],
)
def test_arguments_that_do_not_fit(module: Any, args: tuple[Any, ...], complaint: str) -> None:
    with pytest.raises(TypeError, match=f"affine: {complaint}"):
        module.get_function("affine")((1,), (32,), args)


@pytest.mark.parametrize(
    ("grid", "block", "complaint"), [((0,), (32,), "no grid of"), ((1,), (32, 33), "at most 1024 threads")]
)
def test_launches_that_the_driver_refuses(module: Any, grid: Any, block: Any, complaint: str) -> None:
    with pytest.raises(RuntimeError, match=f"places: {complaint}"):
        module.get_function("places")(grid, block, (np.zeros(4, "int32"),))


def test_what_does_not_compile_says_so(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="missing"):
        host.compile('extern "C" __global__ void wrong(float* y) { *y = missing; }', (), tmp_path)
    assert not list(tmp_path.glob("*.so"))


def test_a_kernel_that_is_not_there(module: Any) -> None:
    with pytest.raises(KeyError, match="nowhere"):
        module.get_function("nowhere")
