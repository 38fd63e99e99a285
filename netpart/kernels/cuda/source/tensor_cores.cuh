// Products of tiles by tensor cores, which round float32 factors to TF32 or bfloat16 and add up in float32.
//
// A warp multiplies 16 rows by 8 columns at a time, 16 elements deep. Of each 8 elements of the depth, lane l has
// l % 4 and l % 4 + 4: of rows l / 4 and l / 4 + 8 of the left factor, and of column l / 4 of the right one. Of the
// product it has columns 2 * (l % 4) and the next, in the same rows (PTX ISA, mma.m16n8k8 of .tf32). The order of the
// elements along the depth may be any if both factors have the same.
#pragma once
#include "tiles.cuh"

#ifdef __CUDA_ARCH__  // the emulation defines these two functions itself
__device__ __forceinline__ void mma_tf32(float (&y)[4], const float (&a)[4], const float (&b)[2]) {
    unsigned left[4], right[2];
#pragma unroll
    for (int i = 0; i < 4; i++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(left[i]) : "f"(a[i]));
#pragma unroll
    for (int i = 0; i < 2; i++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(right[i]) : "f"(b[i]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(y[0]), "+f"(y[1]), "+f"(y[2]), "+f"(y[3])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}

// `a` and `b` hold pairs of neighbouring elements.
__device__ __forceinline__ void mma_bf16(float (&y)[4], const float (&a)[8], const float (&b)[4]) {
    unsigned left[4], right[2];
#pragma unroll
    for (int i = 0; i < 4; i++) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(left[i]) : "f"(a[2 * i + 1]), "f"(a[2 * i]));
#pragma unroll
    for (int i = 0; i < 2; i++) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(right[i]) : "f"(b[2 * i + 1]), "f"(b[2 * i]));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(y[0]), "+f"(y[1]), "+f"(y[2]), "+f"(y[3])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
}
#endif

// A lane's share of 16 rows, [row][element], and of 8 columns, [element], 16 elements deep.
typedef float Left[2][4];
typedef float Right[4];

struct Tf32 {
    static __device__ __forceinline__ void multiply(float (&y)[4], const Left &a, const Right &b) {
#pragma unroll
        for (int k = 0; k < 4; k += 2)
            mma_tf32(y, {a[0][k], a[1][k], a[0][k + 1], a[1][k + 1]}, {b[k], b[k + 1]});
    }
};

struct Bf16 {
    static __device__ __forceinline__ void multiply(float (&y)[4], const Left &a, const Right &b) {
        mma_bf16(y, {a[0][0], a[0][1], a[1][0], a[1][1], a[0][2], a[0][3], a[1][2], a[1][3]}, {b[0], b[1], b[2], b[3]});
    }
};

// A warp has 16 rows of the result; a lane has two of them, and 2 of each 8 neighbouring columns.
template <class Kind> struct TensorCores {
    static constexpr int ROWS = 2, LANES = 4, CHUNK = 2;

    static __device__ constexpr int chunk(int width) { return 2; }

    static __device__ __forceinline__ int row(int i) { return threadIdx.x / 32 * 16 + threadIdx.x % 32 / LANES + 8 * i; }

    // y += a bᵀ of tiles that are DEPTH wide.
    template <int DEPTH, int COLUMNS>
    static __device__ __forceinline__ void across(real (&y)[ROWS][COLUMNS / LANES], const real *a, const real *b) {
        const int lane = threadIdx.x % LANES;
        a += row(0) * pitch(DEPTH) + lane, b += threadIdx.x % 32 / LANES * pitch(DEPTH) + lane;
#pragma unroll 2
        for (int k = 0; k < DEPTH; k += 16) {
            Left left;
#pragma unroll
            for (int i = 0; i < 8; i++) left[i / 4][i % 4] = a[i / 4 * 8 * pitch(DEPTH) + k + i % 4 * 4];
#pragma unroll
            for (int n = 0; n < COLUMNS; n += 8) {
                const real *from = b + n * pitch(DEPTH) + k;
                add<COLUMNS>(y, n / 4, left, {from[0], from[4], from[8], from[12]});
            }
        }
    }

    // y += a b, where a is a tile of scores of DEPTH columns and b a tile of DEPTH rows.
    template <int DEPTH, int COLUMNS>
    static __device__ __forceinline__ void along(real (&y)[ROWS][COLUMNS / LANES], const real *a, const real *b) {
        const int two = threadIdx.x % LANES * 2;
        a += row(0) * loose(DEPTH) + two, b += two * pitch(COLUMNS) + threadIdx.x % 32 / LANES;
#pragma unroll 2
        for (int k = 0; k < DEPTH; k += 16) {
            Left left;
#pragma unroll
            for (int i = 0; i < 8; i += 2) {
                const auto found = *reinterpret_cast<const Pack<real, 2> *>(a + i / 4 * 8 * loose(DEPTH) + k + i % 4 * 4);
                left[i / 4][i % 4] = found.lane[0], left[i / 4][i % 4 + 1] = found.lane[1];
            }
#pragma unroll
            for (int n = 0; n < COLUMNS; n += 8) {
                const real *from = b + k * pitch(COLUMNS) + n;
                add<COLUMNS>(
                    y, n / 4, left,
                    {from[0], from[pitch(COLUMNS)], from[8 * pitch(COLUMNS)], from[9 * pitch(COLUMNS)]}
                );
            }
        }
    }

    template <int COLUMNS>
    static __device__ __forceinline__ void add(
        real (&y)[ROWS][COLUMNS / LANES], int j, const Left &a, const Right &b
    ) {
        float sums[4] = {y[0][j], y[0][j + 1], y[1][j], y[1][j + 1]};
        Kind::multiply(sums, a, b);
        y[0][j] = sums[0], y[0][j + 1] = sums[1], y[1][j] = sums[2], y[1][j + 1] = sums[3];
    }
};
