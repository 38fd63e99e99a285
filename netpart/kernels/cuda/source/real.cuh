// The arithmetic type of a source, float or double by -DREAL, and the bounds of the loop that all kernels share.
#pragma once

typedef REAL real;

// A thread processes elements first(), first() + step(), ...: correct for a grid of any size.
__device__ __forceinline__ long long first() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __forceinline__ long long step() { return (long long)gridDim.x * blockDim.x; }

// Returns the remainder of i / n and leaves the quotient in `i`. A division of 64 bits takes many times as long as one
// of 32 bits, which are nearly always enough.
__device__ __forceinline__ long long split(long long &i, long long n) {
    const long long whole = (i | n) >> 32 ? i / n : unsigned(i) / unsigned(n), rest = i - whole * n;
    i = whole;
    return rest;
}
