// The largest x of a row and the sum of exp(x - largest), in one pass over the row.
#pragma once
#include "reduce.cuh"

struct Peak {
    real top, sum;
};

// A NaN compares false and so is never the largest, but makes the sum NaN. Equal values are not subtracted, because of
// infinity minus infinity.
__device__ __forceinline__ void take(Peak& peak, real x) {
    if (x > peak.top) {
        peak.sum = peak.sum * exp(peak.top - x) + 1;
        peak.top = x;
    } else {
        peak.sum += x == peak.top ? 1 : exp(x - peak.top);
    }
}

__device__ __forceinline__ Peak together(const Peak& a, const Peak& b) {
    if (a.top == b.top) return {a.top, a.sum + b.sum};
    return a.top > b.top ? Peak{a.top, a.sum + b.sum * exp(b.top - a.top)} : Peak{b.top, b.sum + a.sum * exp(a.top - b.top)};
}

__device__ __forceinline__ Peak warp_peak(Peak peak) {
    for (int distance = 16; distance > 0; distance /= 2) {
        const Peak other = {
            __shfl_xor_sync(ALL_LANES, peak.top, distance), __shfl_xor_sync(ALL_LANES, peak.sum, distance)
        };
        peak = together(peak, other);
    }
    return peak;
}

// The peak of a row, returned to all threads of the block.
__device__ __forceinline__ Peak row_peak(const real* x, long long columns) {
    __shared__ real tops[32], sums[32];
    const int lane = threadIdx.x % 32;
    Peak peak = {-infinity(), 0};
    for (long long c = threadIdx.x; c < columns; c += blockDim.x) take(peak, x[c]);
    peak = warp_peak(peak);
    __syncthreads();  // slower threads may still read `tops` and `sums` of the row before
    if (lane == 0) tops[threadIdx.x / 32] = peak.top, sums[threadIdx.x / 32] = peak.sum;
    __syncthreads();
    peak = {-infinity(), 0};
    if (lane < blockDim.x / 32) peak = {tops[lane], sums[lane]};
    return warp_peak(peak);
}
