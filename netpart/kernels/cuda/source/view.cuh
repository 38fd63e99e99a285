// Strided views, passed by value; the struct is that of DTYPE in view.py. Strides are in elements.
#pragma once
#include "real.cuh"

#define VIEW_AXES 8

template <class T> struct Strided {
    T* data;
    long long rank;
    long long shape[VIEW_AXES];
    long long stride[VIEW_AXES];
};

typedef Strided<real> View;

// Element i in row-major order. Views of one call of collapsed_views have one shape: i is the same element in each.
template <class T> __device__ __forceinline__ T& at(const Strided<T>& view, long long i) {
    if (view.rank <= 1) return view.data[i * view.stride[0]];
    long long offset = 0;
#pragma unroll 1
    for (int axis = (int)view.rank - 1; axis > 0; --axis) offset += split(i, view.shape[axis]) * view.stride[axis];
    return view.data[offset + i * view.stride[0]];
}
