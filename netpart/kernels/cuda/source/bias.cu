// A row of numbers for all rows of a matrix: added to each, or their sum.
#include "index.cuh"
#include "real.cuh"

// y[row, column] += b[column]
extern "C" __global__ void add_bias(real* y, const real* b, long long size, long long columns) {
    for (long long i = first(); i < size; i += step()) {
        long long row = i;
        y[i] += b[pop(row, columns)];
    }
}

// part[strip, column] = the sum of the rows of a strip; a block takes 32 columns of a strip, a warp every eighth row.
extern "C" __global__ void sum_strips(real* part, const real* x, long long rows, long long columns, long long strip) {
    __shared__ real sums[8][33];
    const long long column = (long long)blockIdx.x * 32 + threadIdx.x;
    const long long begin = blockIdx.y * strip, end = begin + strip < rows ? begin + strip : rows;
    real sum = 0;
    if (column < columns)
        for (long long row = begin + threadIdx.y; row < end; row += 8) sum += x[row * columns + column];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    for (int half = 4; half; half /= 2) {
        if (threadIdx.y < half) sums[threadIdx.y][threadIdx.x] += sums[threadIdx.y + half][threadIdx.x];
        __syncthreads();
    }
    if (threadIdx.y == 0 && column < columns) part[blockIdx.y * columns + column] = sums[0][threadIdx.x];
}
