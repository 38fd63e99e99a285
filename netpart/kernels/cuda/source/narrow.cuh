// bfloat16: the upper half of a float, rounded to the nearest value, ties to even.
#pragma once
#include "pack.cuh"

typedef unsigned short bfloat16;

__device__ __forceinline__ bfloat16 narrowed(real value) {
    const unsigned bits = __float_as_uint((float)value);
    const bool number = (bits & 0x7fffffffu) <= 0x7f800000u;
    // A NaN is not rounded: the carry might turn it into infinity. 0x40 keeps its upper half a NaN.
    return (bfloat16)(number ? (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16 : bits >> 16 | 0x40u);
}

// Writes (put) or reads (get) N neighbours, which are held as reals.
template <int N> __device__ __forceinline__ void put(real* to, const real* held) { store<real, N>(to, held); }

template <int N> __device__ __forceinline__ void put(bfloat16* to, const real* held) {
    bfloat16 found[N];
#pragma unroll
    for (int n = 0; n < N; ++n) found[n] = narrowed(held[n]);
    store<bfloat16, N>(to, found);
}

template <int N> __device__ __forceinline__ void get(const real* from, real* held) { load<real, N>(from, held); }

template <int N> __device__ __forceinline__ void get(const bfloat16* from, real* held) {
    bfloat16 found[N];
    load<bfloat16, N>(from, found);
#pragma unroll
    for (int n = 0; n < N; ++n) held[n] = (real)__uint_as_float((unsigned)found[n] << 16);
}
