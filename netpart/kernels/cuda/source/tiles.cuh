// Tiles of matrices in shared memory.
#pragma once
#include "pack.cuh"
#include "view.cuh"

#ifndef TURNED
#define TURNED 0  // 1: rows may be rotated while they are read
#endif
#define PACK int(16 / sizeof(real))

typedef Pack<real, PACK> Full;  // the most that a thread moves at once

// The elements between two rows of a tile. The added pack puts the same 16 bytes of 8 neighbouring rows, which 8 lanes
// read together, in different banks.
__device__ constexpr int pitch(int width) { return width + PACK; }

// The same for a tile that lanes also write element by element, 8 lanes a row.
__device__ constexpr int loose(int width) { return width + 2 * PACK; }

// One matrix of a batch. `packed`: every row is contiguous and begins at an address that is aligned for a pack.
struct Matrix {
    real *data;
    long long rows, columns, down, right;
    bool packed;
};

// Matrix `which` of a view whose first axes are the rows and the columns, in row-major order of the other axes.
__device__ __forceinline__ Matrix matrix(const View &view, long long which) {
    real *data = view.data;
#pragma unroll
    for (int axis = VIEW_AXES - 1; axis > 1; axis--) data += split(which, view.shape[axis]) * view.stride[axis];
    const long long down = view.stride[0], right = view.stride[1];
    const bool packed = right == 1 && down % PACK == 0 && reinterpret_cast<size_t>(data) % 16 == 0;
    return {data, view.shape[0], view.shape[1], down, right, packed};
}

// Rotates pairs of neighbours, the first of which is element `column` of row `row`, by those of `turns`, or, with BACK,
// back. `turns` has the cosine and the sine of each pair where a row of `m`, of an even number of columns, has the pair.
template <bool BACK, int COUNT>
__device__ __forceinline__ void turn(Pack<real, COUNT> &pairs, const Matrix &m, const real *turns, long long row, int column) {
#pragma unroll
    for (int l = 0; l < COUNT; l += 2) {
        if (column + l >= m.columns) return;
        const auto by = *reinterpret_cast<const Pack<real, 2> *>(turns + row * m.columns + column + l);
        const real re = pairs.lane[l], im = pairs.lane[l + 1], sine = BACK ? -by.lane[1] : by.lane[1];
        pairs.lane[l] = re * by.lane[0] - im * sine, pairs.lane[l + 1] = re * sine + im * by.lane[0];
    }
}

// tile = the rows of `m` from `row` on, rotated by `turns`, 0 past its end. All threads of the block have to call it.
template <int ROWS, int WIDTH, int THREADS>
__device__ __forceinline__ void fill(real *tile, const Matrix &m, long long row, const real *turns = nullptr) {
    const int rows = m.rows - row < ROWS ? int(m.rows - row) : ROWS;
    const real *from = m.data + row * m.down;
#pragma unroll 4
    for (int i = threadIdx.x; i < ROWS * WIDTH / PACK; i += THREADS) {
        const int r = i / (WIDTH / PACK), c = i % (WIDTH / PACK) * PACK;
        Full found = {};
        if (r < rows && m.packed && c + PACK <= m.columns) {
            found = *reinterpret_cast<const Full *>(from + r * m.down + c);
        } else if (r < rows) {
#pragma unroll
            for (int l = 0; l < PACK; l++)
                if (c + l < m.columns) found.lane[l] = from[r * m.down + (c + l) * m.right];
        }
        if (TURNED && turns && r < rows) turn<false>(found, m, turns, row + r, c);
        *reinterpret_cast<Full *>(tile + r * pitch(WIDTH) + c) = found;
    }
}

// Writes COUNT values to row `row` of `m` from `column` on, except those past its end.
template <int COUNT> __device__ __forceinline__ void put(const Matrix &m, long long row, int column, Pack<real, COUNT> values) {
    if (row >= m.rows) return;
    real *to = m.data + row * m.down + column * m.right;
    if (m.packed && column + COUNT <= m.columns) {
        *reinterpret_cast<Pack<real, COUNT> *>(to) = values;
        return;
    }
#pragma unroll
    for (int l = 0; l < COUNT; l++)
        if (column + l < m.columns) to[l * m.right] = values.lane[l];
}
