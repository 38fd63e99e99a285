// Packs: neighbouring elements that are read or written at once.
#pragma once
#include "real.cuh"

#define WIDE 16  // the most bytes of a load or store
#define FEW 4    // neighbouring channels or columns of a thread, if their number is a multiple of it

// N neighbours, moved at once.
template <class T, int N> struct alignas(N * sizeof(T) < WIDE ? N * sizeof(T) : WIDE) Pack {
    T lane[N];
};

// True if N neighbours at `data` are aligned so that they may be moved at once.
template <int N, class T> __device__ __forceinline__ bool packed(const T* data) {
    return (unsigned long long)data % alignof(Pack<T, N>) == 0;
}

template <class T, int N> __device__ __forceinline__ void load(const T* from, T* held) {
    if constexpr (N == 1) {
        *held = *from;
    } else {
        const auto found = *(const Pack<T, N>*)from;
#pragma unroll
        for (int n = 0; n < N; ++n) held[n] = found.lane[n];
    }
}

template <class T, int N> __device__ __forceinline__ void store(T* to, const T* held) {
    if constexpr (N == 1) {
        *to = *held;
    } else {
        Pack<T, N> found;
#pragma unroll
        for (int n = 0; n < N; ++n) found.lane[n] = held[n];
        *(Pack<T, N>*)to = found;
    }
}
