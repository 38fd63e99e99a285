// Products of tiles by fused multiply-adds. A warp has 16 rows of the result: a lane every fourth row, of 4 times 8 lanes.
#pragma once
#include "tiles.cuh"

struct Fma {
    static constexpr int ROWS = 4, LANES = 8, CHUNK = 1;

    // Neighbouring columns that a lane has of a product `width` wide.
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

    // y += a b of a tile of scores that is DEPTH wide and one of as many rows.
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
