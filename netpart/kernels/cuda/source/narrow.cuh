// bfloat16: the upper half of a float, rounded to the nearest, of two to the even one.
#pragma once
#include "real.cuh"

typedef unsigned short bfloat16;

__device__ __forceinline__ void put(real* to, real value) { *to = value; }

__device__ __forceinline__ void put(bfloat16* to, real value) {
    const unsigned bits = __float_as_uint((float)value);
    const bool number = (bits & 0x7fffffffu) <= 0x7f800000u;
    *to = (bfloat16)(number ? (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16 : bits >> 16 | 0x40u);
}

__device__ __forceinline__ real get(const real* from) { return *from; }

__device__ __forceinline__ real get(const bfloat16* from) { return (real)__uint_as_float((unsigned)*from << 16); }
