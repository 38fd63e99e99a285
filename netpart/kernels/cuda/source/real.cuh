// The arithmetic type of a source, float or double by -DREAL, and the loop that all kernels share.
#pragma once

typedef REAL real;

// Each thread takes elements first(), first() + step(), ...: right for any grid.
__device__ __forceinline__ long long first() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __forceinline__ long long step() { return (long long)gridDim.x * blockDim.x; }

// The remainder; leaves the quotient in `i`. Division of 64 bits takes many times as long as of 32, which nearly always do.
__device__ __forceinline__ long long split(long long &i, long long n) {
    const long long whole = (i | n) >> 32 ? i / n : unsigned(i) / unsigned(n), rest = i - whole * n;
    i = whole;
    return rest;
}
