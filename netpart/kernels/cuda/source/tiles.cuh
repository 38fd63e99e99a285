// Tiles of matrices in shared memory.
#pragma once
#include "pack.cuh"
#include "view.cuh"

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

// tile = the rows of `m` from `row` on, 0 past its end. All threads of the block have to call it.
template <int ROWS, int WIDTH, int THREADS> __device__ __forceinline__ void fill(real *tile, const Matrix &m, long long row) {
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
