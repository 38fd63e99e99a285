// Sums over all threads of a block, in an order that does not depend on timing. Blocks have one axis and whole warps.
#pragma once
#include "real.cuh"

#define ALL_LANES 0xffffffffu

__device__ __forceinline__ real infinity() { return (real)__int_as_float(0x7f800000); }

__device__ __forceinline__ real no_number() { return (real)__int_as_float(0x7fffffff); }

template <class T> __device__ __forceinline__ T warp_sum(T value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(ALL_LANES, value, distance);
    return value;
}

// The sum over the block, returned to all threads.
template <class T> __device__ T block_sum(T value) {
    __shared__ T parts[32];
    const int lane = threadIdx.x % 32;
    value = warp_sum(value);
    __syncthreads();  // slower threads may still read the parts of the previous sum
    if (lane == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    return warp_sum(lane < blockDim.x / 32 ? parts[lane] : (T)0);
}
