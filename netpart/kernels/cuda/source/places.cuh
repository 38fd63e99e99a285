// A tensor (B, C, *S) as a matrix: a row for each place of each image, a column for each channel.
#pragma once
#include "real.cuh"

struct Places {
    long long axes, extent[4], stride[4], step;  // of the rows, in elements; neighbouring columns lie `step` apart
};

// Leaves the quotient in `i`. Division of 64 bits takes several times as long as of 32, which nearly always do.
__device__ __forceinline__ long long split(long long &i, long long n) {
    long long rest;
    if ((i | n) >> 32) {
        rest = i % n, i /= n;
    } else {
        rest = unsigned(i) % unsigned(n), i = unsigned(i) / unsigned(n);
    }
    return rest;
}

// EVEN: rows lie one behind the other, which leaves no branch between the reads of a loop.
template <bool EVEN = false>
__device__ __forceinline__ long long place(const Places &p, long long row, long long column) {
    long long at = column * p.step;
    if (!EVEN && p.axes > 1)
#pragma unroll  // all axes: an index that varies would put the struct into slow memory
        for (int axis = 3; axis > 0; axis--) at += split(row, p.extent[axis]) * p.stride[axis];
    return at + row * p.stride[0];
}

template <bool VALUE> struct Flag {
    static constexpr bool value = VALUE;
};

// Calls body(Flag<all tensors are even>).
template <class Body, class... Tensors> __device__ __forceinline__ void either(Body body, const Tensors &...tensors) {
    if (((tensors.axes <= 1) && ...)) body(Flag<true>());
    else body(Flag<false>());
}
