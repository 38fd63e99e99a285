// A row of numbers for all rows of a matrix: added to each, or their sum.
#include "columns.cuh"

// y[row, column] += b[column]
extern "C" __global__ void add_bias(real* y, const real* b, long long size, long long columns) {
    for (long long i = first(); i < size; i += step()) {
        long long row = i;
        y[i] += b[split(row, columns)];
    }
}

extern "C" __global__ void bias_sums(const real* dy, Places places, Tile tile, double* partial) {
    partial_sums<1>(tile, partial, [&](long long row, long long column, double* sums) {
        sums[0] += dy[place(places, row, column)];
    });
}

extern "C" __global__ void bias_end(const double* partial, Tile tile, real* db) {
    total<1>(tile, partial, [&](long long box, long long column, double* sums) { db[column] = sums[0]; });
}
