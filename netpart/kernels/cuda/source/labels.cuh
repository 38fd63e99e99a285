// How labels of a loss count: the factor of a mean by weights, and figures of rows of which some are ignored.
#pragma once
#include "real.cuh"

// count / total; 0 where the total is 0.
__device__ __forceinline__ real mean_factor(const real* total, long long count) {
    return total[0] > 0 ? (real)count / total[0] : 0;
}

// values (2 or 3, rows): the loss and the hit of a row, 0 if it is ignored, and if a label is ignored the mark of a row
// that counts.
__device__ __forceinline__ void write_figures(
    double* values, long long row, long long rows, bool skipped, int ignores, double loss, double hit
) {
    values[row] = skipped ? 0 : loss;
    values[rows + row] = skipped ? 0 : hit;
    if (ignores) values[2 * rows + row] = !skipped;
}
