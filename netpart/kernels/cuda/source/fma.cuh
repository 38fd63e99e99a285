// Products of tiles by fused multiply-adds. A warp has 16 rows of the result; its lanes are 4 by 8, each with every
// fourth row.
#pragma once
#include "tiles.cuh"

struct Fma {
    static constexpr int ROWS = 4, LANES = 8, CHUNK = 1;

    // The number of neighbouring columns of a lane, in a product of `width` columns.
    static __device__ constexpr int chunk(int width) { return width % (8 * PACK) ? 2 : PACK; }

    static __device__ __forceinline__ int row(int i) { return threadIdx.x / 32 * 16 + threadIdx.x % 32 / LANES + 4 * i; }

    // y += a bᵀ of tiles that are DEPTH wide.
    template <int DEPTH, int COLUMNS>
    static __device__ __forceinline__ void across(real (&y)[ROWS][COLUMNS / LANES], const real *a, const real *b) {
        a += row(0) * pitch(DEPTH), b += threadIdx.x % LANES * pitch(DEPTH);
#pragma unroll 2
        for (int k = 0; k < DEPTH; k += PACK) {
            Full left[ROWS];
#pragma unroll
            for (int i = 0; i < ROWS; i++) left[i] = *reinterpret_cast<const Full *>(a + 4 * i * pitch(DEPTH) + k);
#pragma unroll
            for (int j = 0; j < COLUMNS / LANES; j++) {
                const Full right = *reinterpret_cast<const Full *>(b + LANES * j * pitch(DEPTH) + k);
#pragma unroll
                for (int l = 0; l < PACK; l++)
#pragma unroll
                    for (int i = 0; i < ROWS; i++) y[i][j] += left[i].lane[l] * right.lane[l];
            }
        }
    }

    // y += a b, where a is a tile of scores of DEPTH columns and b a tile of DEPTH rows.
    template <int DEPTH, int COLUMNS>
    static __device__ __forceinline__ void along(real (&y)[ROWS][COLUMNS / LANES], const real *a, const real *b) {
        constexpr int COUNT = chunk(COLUMNS);
        a += row(0) * loose(DEPTH), b += threadIdx.x % LANES * COUNT;
#pragma unroll 2
        for (int k = 0; k < DEPTH; k += PACK) {
            Full left[ROWS];
#pragma unroll
            for (int i = 0; i < ROWS; i++) left[i] = *reinterpret_cast<const Full *>(a + 4 * i * loose(DEPTH) + k);
#pragma unroll
            for (int l = 0; l < PACK; l++)
#pragma unroll
                for (int j = 0; j < COLUMNS / LANES; j += COUNT) {
                    const auto right =
                        *reinterpret_cast<const Pack<real, COUNT> *>(b + (k + l) * pitch(COLUMNS) + LANES * j);
#pragma unroll
                    for (int e = 0; e < COUNT; e++)
#pragma unroll
                        for (int i = 0; i < ROWS; i++) y[i][j + e] += left[i].lane[l] * right.lane[e];
                }
        }
    }
};
