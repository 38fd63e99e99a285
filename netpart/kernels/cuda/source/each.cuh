// Element-wise kernels: applies a function to all elements, with several loads of a thread in flight at a time.
//
//     each(size, [=](real& y, real x) { y = -x; }, out(y), in(x));
//
// If all operands are contiguous and aligned to 16 bytes, a thread takes 16 bytes of each at once; else single
// elements, a grid apart. A thread reads all elements of its turns before it writes any, so an operand may be written
// over another of the same layout. The first operand has to be a view; its shape defines the numbering of the elements.
#pragma once
#include "pack.cuh"
#include "view.cuh"

constexpr int TURNS = 2;  // turns of a thread that are in flight: all are read before the first is written

// A view as an operand, with N neighbours in each turn; one that is not `wanted` is neither read nor written.
template <class T, bool READ, bool WRITTEN> struct Operand {
    static constexpr int ITEM = sizeof(T);
    const Strided<T>& view;
    const bool wanted;
    long long place[TURNS];
    T held[WIDE];

    __device__ __forceinline__ Operand(const Strided<T>& view, bool wanted) : view(view), wanted(wanted) {}

    template <int N> __device__ __forceinline__ bool runs() const {
        return !wanted || (view.rank <= 1 && view.stride[0] == 1 && packed<N>(view.data));
    }
    template <int N> __device__ __forceinline__ void start(int turn, long long i) { place[turn] = N > 1 ? i * N : 0; }
    __device__ __forceinline__ void go(int turn, int axis, long long i) { place[turn] += i * view.stride[axis]; }

    template <int N> __device__ __forceinline__ void read(int turn) {
        if constexpr (READ)
            if (wanted) load<T, N>(view.data + place[turn], held + turn * N);
    }
    template <int N> __device__ __forceinline__ void write(int turn) {
        if constexpr (WRITTEN)
            if (wanted) store<T, N>(view.data + place[turn], held + turn * N);
    }
};

template <class T> __device__ __forceinline__ Operand<T, true, false> in(const Strided<T>& view) { return {view, true}; }

template <class T> __device__ __forceinline__ Operand<T, false, true> out(const Strided<T>& view) { return {view, true}; }

template <class T> __device__ __forceinline__ Operand<T, true, true> both(const Strided<T>& view, bool wanted = true) {
    return {view, wanted};
}

// Sets the places of elements i, i + step and so on in all operands.
template <int COUNT, class First, class... Rest>
__device__ __forceinline__ void seek(long long i, long long step, First& first, Rest&... rest) {
    long long left[COUNT];
#pragma unroll
    for (int turn = 0; turn < COUNT; ++turn) {
        left[turn] = i + turn * step;
        first.template start<1>(turn, left[turn]), (rest.template start<1>(turn, left[turn]), ...);
    }
#pragma unroll 1
    for (int axis = (int)first.view.rank - 1; axis >= 0; --axis)
#pragma unroll
        for (int turn = 0; turn < COUNT; ++turn) {
            const long long k = axis ? split(left[turn], first.view.shape[axis]) : left[turn];
            first.go(turn, axis, k), (rest.go(turn, axis, k), ...);
        }
}

// Turns i, i + step and so on, of N neighbours each; with N = 1 the elements may be anywhere in memory.
template <int COUNT, int N, class Body, class... All>
__device__ __forceinline__ void turns(long long i, long long step, Body body, All&... all) {
    if constexpr (N == 1) {
        seek<COUNT>(i, step, all...);
    } else {
#pragma unroll
        for (int turn = 0; turn < COUNT; ++turn) (all.template start<N>(turn, i + turn * step), ...);
    }
#pragma unroll
    for (int turn = 0; turn < COUNT; ++turn) (all.template read<N>(turn), ...);
#pragma unroll
    for (int n = 0; n < COUNT * N; ++n) body(all.held[n]...);
#pragma unroll
    for (int turn = 0; turn < COUNT; ++turn) (all.template write<N>(turn), ...);
}

template <int COUNT, int N, class Body, class... All>
__device__ __forceinline__ void sweep(long long i, long long step, long long end, Body body, All&... all) {
#pragma unroll 1
    for (; i + (COUNT - 1) * step < end; i += COUNT * step) turns<COUNT, N>(i, step, body, all...);
#pragma unroll 1
    for (; i < end; i += step) turns<1, N>(i, step, body, all...);
}

// The number of neighbours for which a load of the largest type is WIDE bytes.
template <class... All> __device__ constexpr int neighbours() {
    int found = WIDE;
    ((found = WIDE / All::ITEM < found ? WIDE / All::ITEM : found), ...);
    return found;
}

// Calls body(elements...) for elements from `start`, a multiple of WIDE, to `end`; this is thread `first` of `step`.
template <class Body, class... All>
__device__ __forceinline__ void each_of(long long start, long long end, long long first, long long step, Body body, All... all) {
    constexpr int N = neighbours<All...>();
    if constexpr (N > 1)
        if ((all.template runs<N>() && ...)) {
            sweep<TURNS, N>(start / N + first, step, end / N, body, all...);
            start = end / N * N;  // the rest is done element by element
        }
    sweep<TURNS, 1>(start + first, step, end, body, all...);
}

template <class Body, class... All> __device__ __forceinline__ void each(long long size, Body body, All... all) {
    each_of(0, size, first(), step(), body, all...);
}
