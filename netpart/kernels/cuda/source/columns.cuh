// Walks over a matrix column by column, and sums of its columns whose order depends on the shape alone.
//
//                    lanes columns
//                  ├──────────────┤
//     segment  ┬    part 0   one block: threads / lanes rows at a time
//              │    part 1   another block
//      rows    │    part 0   the first one again
//              ┴    ...
#pragma once
#include "places.cuh"

struct Tile {
    long long segments, rows, columns, parts, lanes;  // rows of a segment; lanes: a power of two
};

// Calls step(segment, column, first row, rows to the next) in every thread that has a column; the block has a barrier
// behind each.
template <class Step> __device__ void walk(const Tile &tile, Step step) {
    const int lane = threadIdx.x % int(tile.lanes), line = threadIdx.x / int(tile.lanes);
    const long long height = blockDim.x / tile.lanes, chunks = (tile.columns + tile.lanes - 1) / tile.lanes;
    for (long long work = blockIdx.x; work < tile.segments * tile.parts * chunks; work += gridDim.x) {
        long long box = work;
        const long long column = split(box, chunks) * tile.lanes + lane, first = box % tile.parts * height + line;
        step(box, column, first, tile.parts * height);
    }
}

// Adds up what add(row, column, sums) adds to `sums`, and gives it to end(box, column, sums), box = segment · parts + part.
template <int N, int UNROLL, class Add, class End> __device__ void column_sums(const Tile &tile, Add add, End end) {
    __shared__ double shared[N * 256];
    const int height = blockDim.x / int(tile.lanes), line = threadIdx.x / int(tile.lanes);
    walk(tile, [&](long long box, long long column, long long first, long long stride) {
        double sums[N] = {};
        const long long start = box / tile.parts * tile.rows;
        if (column < tile.columns)
#pragma unroll UNROLL
            for (long long row = first; row < tile.rows; row += stride) add(start + row, column, sums);
        for (int n = 0; n < N; n++) shared[n * 256 + threadIdx.x] = sums[n];
        __syncthreads();
        for (int half = height / 2; half; half /= 2) {
            if (line < half)
                for (int n = 0; n < N; n++)
                    shared[n * 256 + threadIdx.x] += shared[n * 256 + threadIdx.x + half * int(tile.lanes)];
            __syncthreads();
        }
        if (line == 0 && column < tile.columns) {
            for (int n = 0; n < N; n++) sums[n] = shared[n * 256 + threadIdx.x];
            end(box, column, sums);
        }
        __syncthreads();
    });
}

// Keeps the sums of every part, (boxes, N, columns), for `total`.
template <int N, bool EVEN = true, class Add> __device__ void partial_sums(const Tile &tile, double *partial, Add add) {
    column_sums<N, EVEN ? 4 : 1>(tile, add, [&](long long box, long long column, double *sums) {
        for (int n = 0; n < N; n++) partial[(box * N + n) * tile.columns + column] = sums[n];
    });
}

// Adds up what `partial_sums` kept; the rows of this tile are the parts of that one.
template <int N, class End> __device__ void total(const Tile &tile, const double *partial, End end) {
    auto add = [&](long long row, long long column, double *sums) {
        for (int n = 0; n < N; n++) sums[n] += partial[(row * N + n) * tile.columns + column];
    };
    column_sums<N, 4>(tile, add, end);
}
