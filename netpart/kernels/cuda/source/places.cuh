// A tensor (B, C, *S) as a matrix: a row for each place of each image, a column for each channel.
#pragma once
#include "real.cuh"

struct Places {
    long long axes, extent[4], stride[4], step;  // of the rows, in elements; neighbouring columns lie `step` apart
};

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
