// Losses of each element by itself: a block for each row writes the sums of its owned elements to `values`.
#include "complain.cuh"
#include "owned.cuh"
#include "reduce.cuh"

// The cross-entropy of labels of 0 and 1. Channel c of a row has `inner` elements, and the weight weights[c] of label 1.
extern "C" __global__ void binary_loss(
    const real* x, const int* label, real* y, double* values, const bool* owned, long long marks, const real* weights,
    long long rows, long long columns, long long inner, double scale, int* wrong
) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        real found = 0, right = 0;
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) {
            const long long i = row * columns + c;
            const real given = x[i], small = exp(-fabs(given)), tail = log1p(small);
            const int wanted = label[i];
            if (wanted != 0 && wanted != 1) complain(wrong, wanted);
            y[i] = (given < 0 ? small : (real)1) / (1 + small);
            if (!ours(owned, marks, row, c)) continue;
            // A comparison keeps a NaN where fmax would drop it.
            const real high = given < 0 ? (real)0 : given, low = given > 0 ? (real)0 : -given;
            const real loss = wanted ? (low + tail) * weights[c / inner] : high + tail;
            const bool known = wanted == 0 || wanted == 1;
            found += known ? loss * (real)scale : no_number();
            right += known ? (real)(wanted ? given > 0 : given <= 0) : no_number();
        }
        found = block_sum(found);
        right = block_sum(right);
        if (threadIdx.x == 0) values[row] = found, values[rows + row] = right;
    }
}

extern "C" __global__ void binary_loss_gradient(
    const real* y, const int* label, real* dx, const bool* owned, long long marks, const real* weights, long long rows,
    long long columns, long long inner, double factor
) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x)
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) {
            const long long i = row * columns + c;
            const real slope = label[i] ? (y[i] - 1) * weights[c / inner] : y[i];
            dx[i] = ours(owned, marks, row, c) ? slope * (real)factor : 0;
        }
}

// |x - t| with delta 0; else its square / 2 up to delta, and the tangent beyond.
extern "C" __global__ void distance_loss(
    const real* x, const real* t, real* y, double* values, const bool* owned, long long marks, long long rows,
    long long columns, double delta, double scale
) {
    const real bend = (real)delta;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        real found = 0;
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) {
            const long long i = row * columns + c;
            const real difference = x[i] - t[i], far = fabs(difference), near = far > bend ? bend : far;
            y[i] = difference;
            if (ours(owned, marks, row, c)) found += (bend ? near * (far - near / 2) : far) * (real)scale;
        }
        found = block_sum(found);
        if (threadIdx.x == 0) values[row] = found;
    }
}

extern "C" __global__ void distance_loss_gradient(
    const real* y, real* dx, const bool* owned, long long marks, long long rows, long long columns, double factor,
    double delta
) {
    const real bend = (real)delta;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x)
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) {
            const long long i = row * columns + c;
            const real d = y[i], sign = d > 0 ? (real)1 : d < 0 ? (real)-1 : d;  // d is 0 or NaN
            const real slope = bend ? (d > bend ? bend : d < -bend ? -bend : d) : sign;
            dx[i] = ours(owned, marks, row, c) ? slope * (real)factor : 0;
        }
}
