// Where an element is on each axis, from its number in row-major order.
#pragma once

// i / n, in 32 bits where these do: that is several times as fast.
__device__ __forceinline__ long long over(long long i, long long n) {
    return (i | n) >> 32 ? i / n : (long long)((unsigned)i / (unsigned)n);
}

// Takes the last of the axes off i: returns where i is on it.
__device__ __forceinline__ long long pop(long long& i, long long n) {
    const long long rest = over(i, n), found = i - rest * n;
    i = rest;
    return found;
}
