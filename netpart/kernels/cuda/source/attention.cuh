// Shared parts of fused attention: a block combines its own rows with tiles of other rows.
//
// KEY_WIDTH and VALUE_WIDTH are the widths of the tiles, multiples of 16. A block has 16 own rows for each of its
// WARPS, and processes tiles of OTHERS rows one after the other.
#pragma once

#ifndef KEY_WIDTH
#define KEY_WIDTH 64
#define VALUE_WIDTH 64
#define WARPS 4
#define OTHERS 32
#endif
#ifndef CORES
#define CORES Fma
#endif
#ifndef MASKED
#define MASKED 0  // 1: some keys are hidden from all queries
#endif
#include "fma.cuh"
#include "tensor_cores.cuh"

#define ALL 0xffffffffu

typedef CORES Cores;
constexpr int OWN = 16 * WARPS, THREADS = 32 * WARPS;
// Blocks that share the registers of a multiprocessor: with more blocks, lanes would have too few for their sums.
constexpr int WIDER = KEY_WIDTH > VALUE_WIDTH ? KEY_WIDTH : VALUE_WIDTH;
constexpr int RESIDENT = (WIDER * sizeof(real) <= 256 ? 12 : 8) / WARPS;
typedef real Scores[Cores::ROWS][OTHERS / Cores::LANES];
template <int WIDTH> using Sums = real[Cores::ROWS][WIDTH / Cores::LANES];

// The column in the tile of a lane's column j, where lanes have their columns in chunks of COUNT.
template <int COUNT> __device__ __forceinline__ int column(int j) {
    return j / COUNT * (COUNT * Cores::LANES) + threadIdx.x % Cores::LANES * COUNT + j % COUNT;
}

__device__ __forceinline__ real row_sum(real value) {
#pragma unroll
    for (int half = Cores::LANES / 2; half; half /= 2) value += __shfl_xor_sync(ALL, value, half);
    return value;
}

__device__ __forceinline__ real row_max(real value) {
#pragma unroll
    for (int half = Cores::LANES / 2; half; half /= 2) {
        const real other = __shfl_xor_sync(ALL, value, half);
        value = other > value ? other : value;
    }
    return value;
}

// The number of keys that a query sees: those up to `seen` + its number, or all if `seen` is negative.
__device__ __forceinline__ long long keys_of(long long query, long long keys, long long seen) {
    return seen < 0 || seen + query + 1 > keys ? keys : seen + query + 1;
}

// The flags of the keys of this block's matrix, where `heads` matrices in a row have the same: 1 for a hidden key.
__device__ __forceinline__ const unsigned char *hidden_keys(const unsigned char *hidden, long long heads, long long keys) {
    return MASKED ? hidden + blockIdx.x / heads * keys : nullptr;
}

// How many of `n` are left from `start` on, at most `most`.
__device__ __forceinline__ int left(long long n, long long start, int most) {
    return n <= start ? 0 : n - start < most ? int(n - start) : most;
}

__device__ __forceinline__ void keep(real *tile, const Scores &scores) {
#pragma unroll
    for (int i = 0; i < Cores::ROWS; i++)
#pragma unroll
        for (int j = 0; j < OTHERS / Cores::LANES; j++)
            tile[Cores::row(i) * loose(OTHERS) + column<Cores::CHUNK>(j)] = scores[i][j];
}

// Writes sums to the rows of `m` from `start` on, rotated back by `turns`.
template <int WIDTH>
__device__ __forceinline__ void store(const Matrix &m, long long start, const Sums<WIDTH> &sums, const real *turns = nullptr) {
    constexpr int COUNT = Cores::chunk(WIDTH);
#pragma unroll
    for (int i = 0; i < Cores::ROWS; i++)
#pragma unroll
        for (int j = 0; j < WIDTH / Cores::LANES; j += COUNT) {
            Pack<real, COUNT> values;
#pragma unroll
            for (int e = 0; e < COUNT; e++) values.lane[e] = sums[i][j + e];
            const long long row = start + Cores::row(i);
            if (TURNED && turns && row < m.rows) turn<true>(values, m, turns, row, column<COUNT>(j));
            put(m, row, column<COUNT>(j), values);
        }
}
