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

// Softmax along the middle axis of (outer, extent, inner), with a thread for each place of the other axes.
extern "C" __global__ void softmax_along(
    const real* x, real* y, long long outer, long long extent, long long inner
) {
    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < outer * inner;
         at += (long long)gridDim.x * blockDim.x) {
        const long long first = at / inner * extent * inner + at % inner;
        Peak peak = {-infinity(), 0};
        for (long long k = 0; k < extent; ++k) take(peak, x[first + k * inner]);
        for (long long k = 0; k < extent; ++k) {
            const long long i = first + k * inner;
            y[i] = exp(x[i] - peak.top) / peak.sum;
        }
    }
}

extern "C" __global__ void softmax_along_gradient(
    const real* y, const real* dy, real* dx, long long outer, long long extent, long long inner
) {
    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < outer * inner;
         at += (long long)gridDim.x * blockDim.x) {
        const long long first = at / inner * extent * inner + at % inner;
        real total = 0;
        for (long long k = 0; k < extent; ++k) total += dy[first + k * inner] * y[first + k * inner];
        for (long long k = 0; k < extent; ++k) {
            const long long i = first + k * inner;
            dx[i] = (dy[i] - total) * y[i];
        }
    }
}
