// Biases: a vector added to all rows of a matrix, or the sum of the rows.
#include "columns.cuh"

// y[row, column] += b[column]
extern "C" __global__ void add_bias(real* y, Places places, const real* b, Tile tile) {
    auto all = [&](auto how) {
        using H = decltype(how);
        walk<H::columns>(tile, [&](long long box, long long column, long long first, long long stride) {
            if (column >= tile.columns) return;
            real more[H::columns];
#pragma unroll
            for (int k = 0; k < H::columns; ++k) more[k] = b[column + k];
            real held[4][H::columns];
            auto read = [&](long long row, int r) { get<H>(matrix(y, places), row, column, held[r]); };
            auto write = [&](long long row, int r) {
#pragma unroll
                for (int k = 0; k < H::columns; ++k) held[r][k] += more[k];
                put<H>(matrix(y, places), row, column, held[r]);
            };
            rows<4>(first, stride, tile.rows, read, write);
        });
    };
    each_way(tile.few, all, matrix(y, places));
}

extern "C" __global__ void bias_sums(const real* __restrict__ dy, Places places, Tile tile, double* __restrict__ partial) {
    sum_columns(dy, places, tile, partial);
}

extern "C" __global__ void bias_end(const double* partial, Tile tile, real* db) {
    total<1>(tile, partial, [&](long long box, long long column, double* sums) { db[column] = sums[0]; });
}
