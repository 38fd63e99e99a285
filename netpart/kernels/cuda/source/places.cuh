// A tensor (B, C, *S) as a matrix: a row for each place of each image, a column for each channel.
#pragma once
#include "pack.cuh"

struct Places {
    long long axes, extent[4], stride[4], step;  // of the rows, in elements; neighbouring columns are `step` apart
};

// EVEN: the rows have one stride; then there is no branch between the reads of a loop.
// There are fewer than 2³² rows: columns.py checks it, and 32 bits divide faster than 64.
template <bool EVEN = false>
__device__ __forceinline__ long long place(const Places &p, long long row, long long column) {
    long long at = column * p.step;
    if (EVEN || p.axes <= 1) return at + row * p.stride[0];
    unsigned left = unsigned(row);
#pragma unroll  // completely: an index that varies would put the struct into local memory
    for (int axis = 3; axis > 0; axis--) {
        const unsigned extent = unsigned(p.extent[axis]), next = left / extent;
        at += (left - next * extent) * p.stride[axis];
        left = next;
    }
    return at + left * p.stride[0];
}

// A tensor as such a matrix; the `data` of an absent one is null.
template <class T> struct Matrix {
    T *data;
    const Places &at;

    // True if FEW neighbouring columns may be read and written at once.
    __device__ __forceinline__ bool runs() const {
        return !data || (at.axes <= 1 && at.step == 1 && at.stride[0] % FEW == 0 && packed<FEW>(data));
    }
};

template <class T> __device__ __forceinline__ Matrix<T> matrix(T *data, const Places &at) { return {data, at}; }

// How a thread processes matrices: COLUMNS at a time, which are read and written at once if RUNS.
template <int COLUMNS, bool RUNS> struct How {
    static constexpr int columns = COLUMNS;
    static constexpr bool runs = RUNS;
};

// Calls body(How) with FEW columns at a time if all matrices run and the columns are a multiple of FEW, else with 1.
template <class Body, class... T> __device__ __forceinline__ void each_way(long long few, Body body, const Matrix<T> &...all) {
    if (few == FEW && (all.runs() && ...)) body(How<FEW, true>());
    else body(How<1, false>());
}

// Calls body(How) with `few` columns at a time, also if they are read one by one: sums then have the same order for any
// layout.
template <class Body, class... T> __device__ __forceinline__ void one_way(long long few, Body body, const Matrix<T> &...all) {
    if (few == 1) body(How<1, false>());
    else (all.runs() && ...) ? body(How<FEW, true>()) : body(How<FEW, false>());
}

template <class How, class T, class Held>
__device__ __forceinline__ void get(const Matrix<T> &m, long long row, long long column, Held *held) {
    const T *from = m.data + place<How::runs>(m.at, row, column);
    if constexpr (How::runs) load<Held, How::columns>(from, held);
    else
#pragma unroll
        for (int k = 0; k < How::columns; k++) held[k] = from[k * m.at.step];
}

template <class How, class T>
__device__ __forceinline__ void put(const Matrix<T> &m, long long row, long long column, const T *held) {
    T *to = m.data + place<How::runs>(m.at, row, column);
    if constexpr (How::runs) store<T, How::columns>(to, held);
    else
#pragma unroll
        for (int k = 0; k < How::columns; k++) to[k * m.at.step] = held[k];
}
