// Walks over the columns of a matrix, and sums of its columns in an order that depends on the shape alone.
//
//                lanes times a few columns
//                  ├──────────────┤
//     segment  ┬    part 0   one block: threads / lanes rows at a time, a few neighbouring columns a thread
//              │    part 1   another block
//      rows    │    part 0   the first one again
//              ┴    ...
#pragma once
#include "places.cuh"

struct Tile {
    long long segments, rows, columns, parts, lanes, few;  // rows of a segment; lanes: a power of two; few: 1 or 4
};

// Calls step(segment · parts + part, column, first row, distance to the next row) in every thread. `column` is the
// first of its COLUMNS; it may be past the end, and step is called nevertheless, because it may contain barriers.
template <int COLUMNS = 1, class Step> __device__ __forceinline__ void walk(const Tile &tile, Step step) {
    const int lanes = int(tile.lanes), lane = threadIdx.x % lanes, line = threadIdx.x / lanes;
    const unsigned height = blockDim.x / lanes, wide = lanes * COLUMNS, parts = tile.parts;
    const unsigned chunks = (unsigned(tile.columns) + wide - 1) / wide, boxes = unsigned(tile.segments) * parts;
    for (unsigned work = blockIdx.x; work < boxes * chunks; work += gridDim.x) {
        const unsigned box = work / chunks, column = (work - box * chunks) * wide + lane * COLUMNS;
        step(box, column, box % parts * height + line, parts * height);
    }
}

// Calls read(row, r) for ROWS rows, then use(row, r) for them, and so on to `end`: ROWS loads are in flight at a time.
template <int ROWS, class Read, class Use>
__device__ __forceinline__ void rows(long long row, long long stride, long long end, Read read, Use use) {
#pragma unroll 1
    for (; row + (ROWS - 1) * stride < end; row += ROWS * stride) {
#pragma unroll
        for (int r = 0; r < ROWS; r++) read(row + r * stride, r);
#pragma unroll
        for (int r = 0; r < ROWS; r++) use(row + r * stride, r);
    }
#pragma unroll 1
    for (; row < end; row += stride) read(row, 0), use(row, 0);
}

// The shared memory of a block for its sums.
template <int N> __device__ __forceinline__ double *shared_sums() {
    __shared__ double sums[N * 256];
    return sums;
}

// Adds up the sums of all lines of a block, in a fixed order; the threads of the first line have the result.
template <int N> __device__ __forceinline__ void add_lines(double *sums, double *shared, int lanes) {
    const int line = threadIdx.x / lanes;
#pragma unroll
    for (int n = 0; n < N; n++) shared[n * 256 + threadIdx.x] = sums[n];
    __syncthreads();
    for (int half = blockDim.x / lanes / 2; half; half /= 2) {
        if (line < half)
#pragma unroll
            for (int n = 0; n < N; n++) shared[n * 256 + threadIdx.x] += shared[n * 256 + threadIdx.x + half * lanes];
        __syncthreads();
    }
#pragma unroll
    for (int n = 0; n < N; n++) sums[n] = shared[n * 256 + threadIdx.x];
    __syncthreads();  // the next call overwrites `shared`
}

// Adds up N numbers for each of COLUMNS columns: add(column, r, sums) adds what read(row, column, r) loaded, for ROWS
// rows at a time; end(box, column, sums) receives the sums of each column, with box = segment · parts + part.
template <int N, int COLUMNS, int ROWS, class Read, class Add, class End>
__device__ __forceinline__ void column_sums(const Tile &tile, double *shared, Read read, Add add, End end) {
    walk<COLUMNS>(tile, [&](long long box, long long column, long long first, long long stride) {
        double sums[N * COLUMNS] = {};
        const long long start = unsigned(box) / unsigned(tile.parts) * tile.rows, stop = column < tile.columns ? start + tile.rows : 0;
        rows<ROWS>(start + first, stride, stop, [&](long long row, int r) { read(row, column, r); },
                   [&](long long row, int r) { add(column, r, sums); });
        add_lines<N * COLUMNS>(sums, shared, int(tile.lanes));
        if (threadIdx.x >= tile.lanes || column >= tile.columns) return;
#pragma unroll
        for (int k = 0; k < COLUMNS; k++) {
            double found[N];
#pragma unroll
            for (int n = 0; n < N; n++) found[n] = sums[n * COLUMNS + k];
            end(box, column + k, found);
        }
    });
}

// Writes the sums of every part to `partial`, (boxes, N, columns), for `total`.
template <int N, int ROWS, class How, class Read, class Add>
__device__ __forceinline__ void partial_sums(const Tile &tile, double *partial, Read read, Add add) {
    auto end = [&](long long box, long long column, double *sums) {
#pragma unroll
        for (int n = 0; n < N; n++) partial[(box * N + n) * tile.columns + column] = sums[n];
    };
    column_sums<N, How::columns, ROWS>(tile, shared_sums<N * FEW>(), read, add, end);
}

// The partial sums of the elements of each column.
template <class T>
__device__ __forceinline__ void sum_columns(const T *data, const Places &at, const Tile &tile, double *partial) {
    auto sums_of = [&](auto how) {
        using H = decltype(how);
        T held[4][H::columns];
        auto read = [&](long long row, long long column, int r) { get<H>(matrix(data, at), row, column, held[r]); };
        auto add = [&](long long column, int r, double *sums) {
#pragma unroll
            for (int k = 0; k < H::columns; k++) sums[k] += held[r][k];
        };
        partial_sums<1, 4, H>(tile, partial, read, add);
    };
    one_way(tile.few, sums_of, matrix(data, at));
}

// Adds up the results of `partial_sums`; the rows of this tile are the parts of that one.
template <int N, class End> __device__ __forceinline__ void total(const Tile &tile, const double *partial, End end) {
    double held[4][N];
    auto read = [&](long long row, long long column, int r) {
#pragma unroll
        for (int n = 0; n < N; n++) held[r][n] = partial[(row * N + n) * tile.columns + column];
    };
    auto add = [&](long long column, int r, double *sums) {
#pragma unroll
        for (int n = 0; n < N; n++) sums[n] += held[r][n];
    };
    column_sums<N, 1, 4>(tile, shared_sums<N>(), read, add, end);
}
