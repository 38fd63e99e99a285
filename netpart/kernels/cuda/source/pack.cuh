// Neighbours that are read or written at once.
#pragma once
#include "real.cuh"

constexpr int WIDE = 16;  // bytes of a load or store at most

// N neighbours, moved at once.
template <class T, int N> struct alignas(N * sizeof(T) < WIDE ? N * sizeof(T) : WIDE) Pack {
    T lane[N];
};

template <class T> __device__ __forceinline__ bool wide(const T* data) { return (unsigned long long)data % WIDE == 0; }

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
