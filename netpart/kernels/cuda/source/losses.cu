// Losses and accuracy: a block for each row writes the figures of the row, and a single block then adds them up.
#include "complain.cuh"
#include "owned.cuh"
#include "peak.cuh"
#include "ranking.cuh"

// metrics += the sum of values (slots, rows) over the owned rows, divided by `share`. With `bits`, one more metric is
// set to the first one in bits. A row has `marks` marks in `owned`, of which the first decides.
extern "C" __global__ void report(
    const double* values, const bool* owned, double* metrics, long long slots, long long rows, long long marks,
    long long share, int bits
) {
    for (long long slot = 0; slot < slots; ++slot) {
        double found = 0;
        for (long long row = threadIdx.x; row < rows; row += blockDim.x)
            if (!owned || owned[row * marks]) found += values[slot * rows + row];
        found = block_sum(found);
        if (threadIdx.x == 0) metrics[slot] += found / share;
    }
    if (bits && threadIdx.x == 0) metrics[slots] = metrics[0] * 1.4426950408889634;
}

// -log p of the label: the distance of its score from the largest, plus the logarithm of the sum of exp(x - largest).
extern "C" __global__ void softmax_loss(
    const real* x, const int* label, real* y, double* values, long long rows, long long classes, long long topk,
    double scale, double smoothing, int* wrong
) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const real* from = x + row * classes;
        real* to = y + row * classes;
        const Peak peak = row_peak(from, classes);
        const int wanted = label[row];
        const bool known = wanted >= 0 && wanted < classes;
        if (!known && threadIdx.x == 0) complain(wrong, wanted);
        const real picked = known ? from[wanted] : no_number();
        int beaten = 0;
        real below = 0;
        for (long long c = threadIdx.x; c < classes; c += blockDim.x) {
            const real score = from[c];
            to[c] = exp(score - peak.top) / peak.sum;
            beaten += beats(picked, wanted, score, c);
            if (smoothing) below += peak.top - score;
        }
        beaten = block_sum(beaten);
        if (smoothing) below = block_sum(below);
        if (threadIdx.x) continue;
        real found = peak.top - picked;
        if (smoothing) found = found * (real)(1 - smoothing) + below * (real)(smoothing / classes);
        values[row] = (found + log(peak.sum)) * (real)scale;
        values[rows + row] = beaten > classes - topk;
    }
}

// values = 1 for a row whose label is among the topk largest scores, else 0.
extern "C" __global__ void hits(
    const real* x, const int* label, double* values, long long rows, long long classes, long long topk,
    int* wrong
) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const real* scores = x + row * classes;
        const int wanted = label[row];
        const bool known = wanted >= 0 && wanted < classes;
        if (!known && threadIdx.x == 0) complain(wrong, wanted);
        const real picked = known ? scores[wanted] : no_number();
        int beaten = 0;
        for (long long c = threadIdx.x; c < classes; c += blockDim.x) beaten += beats(picked, wanted, scores[c], c);
        beaten = block_sum(beaten);
        if (threadIdx.x == 0) values[row] = known ? beaten > classes - topk : no_number();
    }
}

extern "C" __global__ void softmax_loss_gradient(
    const real* y, const int* label, real* dx, const bool* owned, long long marks, long long rows, long long columns,
    long long from, long long classes, double factor, double smoothing
) {
    const real certain = (real)(1 - smoothing), spread = (real)(smoothing / classes);
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const long long wanted = label[row] - from;
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) {
            const long long i = row * columns + c;
            const real target = (c == wanted ? certain : 0) + spread;
            dx[i] = ours(owned, marks, row, c) ? (y[i] - target) * (real)factor : 0;
        }
    }
}

extern "C" __global__ void euclidean_loss(
    const real* x, const real* t, real* y, double* values, long long rows, long long columns
) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        real found = 0;
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) {
            const long long i = row * columns + c;
            const real difference = x[i] - t[i];
            y[i] = difference;
            found += difference * difference;
        }
        found = block_sum(found);
        if (threadIdx.x == 0) values[row] = found;
    }
}

extern "C" __global__ void euclidean_loss_gradient(
    const real* y, real* dx, const bool* owned, long long marks, long long rows, long long columns, double factor
) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x)
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) {
            const long long i = row * columns + c;
            dx[i] = ours(owned, marks, row, c) ? y[i] * (real)factor : 0;
        }
}

// y (rows, count) = the classes of the largest scores, largest first.
extern "C" __global__ void largest(const real* x, int* y, long long rows, long long classes, long long count) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        Ranked last = {0, -1};
        for (long long k = 0; k < count; ++k) {
            last = best_after(last, x + row * classes, classes);
            if (threadIdx.x == 0) y[row * count + k] = (int)last.place;
        }
    }
}
