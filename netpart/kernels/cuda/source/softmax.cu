// Softmax over each row, with a block for each row.
#include "peak.cuh"

extern "C" __global__ void softmax(const real* x, real* y, long long rows, long long columns) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const real *from = x + row * columns;
        real *to = y + row * columns;
        const Peak peak = row_peak(from, columns);
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) to[c] = exp(from[c] - peak.top) / peak.sum;
    }
}

extern "C" __global__ void softmax_gradient(
    const real* y, const real* dy, real* dx, long long rows, long long columns
) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const long long at = row * columns;
        real found = 0;
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) found += dy[at + c] * y[at + c];
        const real total = block_sum(found);
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) dx[at + c] = (dy[at + c] - total) * y[at + c];
    }
}
