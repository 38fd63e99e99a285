// Up to 8 views of one shape in one parameter, packed by packed_views.py.
#pragma once
#include "each.cuh"

struct Several {
    View view[8];
};

// An operand whose elements are the first `count` views, combined by `join` in their order; 0 if count is 0.
template <class Join> struct Joined {
    static constexpr int ITEM = sizeof(real);
    const Several& views;
    const int count;
    const Join join;
    long long number[TURNS];
    real held[WIDE];

    __device__ __forceinline__ Joined(const Several& views, int count, Join join) : views(views), count(count), join(join) {}

    template <int N> __device__ __forceinline__ bool runs() const {
        bool all = true;
        for (int k = 0; k < count; ++k) all = all && in(views.view[k]).template runs<N>();
        return all;
    }
    template <int N> __device__ __forceinline__ void start(int turn, long long i) { number[turn] = i * N; }
    __device__ __forceinline__ void go(int turn, int axis, long long i) {}

    template <int N> __device__ __forceinline__ void read(int turn) {
        real* found = held + turn * N;
#pragma unroll
        for (int n = 0; n < N; ++n) found[n] = 0;
#pragma unroll 1
        for (int k = 0; k < count; ++k) {
            real next[N];
            take<N>(next, views.view[k], number[turn]);
#pragma unroll
            for (int n = 0; n < N; ++n) found[n] = k ? join(found[n], next[n]) : next[n];
        }
    }
    template <int N> __device__ __forceinline__ void write(int turn) {}

    template <int N> __device__ __forceinline__ void take(real* found, const View& view, long long i) {
        if constexpr (N > 1) load<real, N>(view.data + i, found);
        else *found = at(view, i);
    }
};
