// Losses and accuracy: a block for each row writes the figures of the row, and a single block then adds them up.
#include "complain.cuh"
#include "labels.cuh"
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
    double scale, double smoothing, const real* weights, double weighed, int ignores, long long ignored,
    const real* total, long long count, int* wrong
) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const real* from = x + row * classes;
        real* to = y + row * classes;
        const Peak peak = row_peak(from, classes);
        const int wanted = label[row];
        const bool known = wanted >= 0 && wanted < classes, skipped = ignores && wanted == ignored;
        if (!known && !skipped && threadIdx.x == 0) complain(wrong, wanted);
        const real picked = known ? from[wanted] : no_number();
        int beaten = 0;
        real below = 0;
        for (long long c = threadIdx.x; c < classes; c += blockDim.x) {
            const real score = from[c];
            to[c] = exp(score - peak.top) / peak.sum;
            beaten += beats(picked, wanted, score, c);
            if (smoothing) below += weights ? weights[c] * (peak.top - score) : peak.top - score;
        }
        beaten = block_sum(beaten);
        if (smoothing) below = block_sum(below);
        if (threadIdx.x) continue;
        const real weight = weights && known ? weights[wanted] : 1;
        const real spread = (real)(smoothing / classes);
        real found = peak.top - picked, mass = 1;
        if (weights) found *= weight;
        if (weights) mass = smoothing ? weight * (real)(1 - smoothing) + spread * (real)weighed : weight;
        if (smoothing) found = found * (real)(1 - smoothing) + below * spread;
        found = (found + log(peak.sum) * mass) * (real)scale;
        write_figures(values, row, rows, skipped, ignores, total ? found * mean_factor(total, count) : found,
                      beaten > classes - topk);
    }
}

// total (1) = the sum of the weights of all labels that count; null: 1 each. In a single block.
extern "C" __global__ void label_weights(
    const int* label, const real* weights, real* total, long long rows, long long classes, int ignores,
    long long ignored, int* wrong
) {
    double found = 0;
    for (long long row = threadIdx.x; row < rows; row += blockDim.x) {
        const int wanted = label[row];
        if (ignores && wanted == ignored) continue;
        if (wanted < 0 || wanted >= classes)
            complain(wrong, wanted);
        else
            found += weights ? weights[wanted] : 1;
    }
    found = block_sum(found);
    if (threadIdx.x == 0) total[0] = (real)found;
}

// values = 1 for a row whose label is among the topk largest scores, else 0; if a label is ignored, also the mark of the
// rows that count.
extern "C" __global__ void hits(
    const real* x, const int* label, double* values, long long rows, long long classes, long long topk,
    int ignores, long long ignored, int* wrong
) {
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const real* scores = x + row * classes;
        const int wanted = label[row];
        const bool known = wanted >= 0 && wanted < classes, skipped = ignores && wanted == ignored;
        if (!known && !skipped && threadIdx.x == 0) complain(wrong, wanted);
        const real picked = known ? scores[wanted] : no_number();
        int beaten = 0;
        for (long long c = threadIdx.x; c < classes; c += blockDim.x) beaten += beats(picked, wanted, scores[c], c);
        beaten = block_sum(beaten);
        if (threadIdx.x) continue;
        values[row] = skipped ? 0 : known ? beaten > classes - topk : no_number();
        if (ignores) values[rows + row] = !skipped;
    }
}

extern "C" __global__ void softmax_loss_gradient(
    const real* y, const int* label, real* dx, const bool* owned, long long marks, long long rows, long long columns,
    long long from, long long classes, double factor, double smoothing, const real* weights, double weighed, int ignores,
    long long ignored, const real* total, long long count
) {
    const real certain = (real)(1 - smoothing), spread = (real)(smoothing / classes);
    const real scale = total ? (real)factor * mean_factor(total, count) : (real)factor;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const bool skipped = ignores && label[row] == ignored, known = label[row] >= 0 && label[row] < classes;
        const long long wanted = label[row] - from;
        const real weight = weights && known ? weights[label[row]] : 1;
        const real mass = weights ? weight * certain + spread * (real)weighed : 1;
        for (long long c = threadIdx.x; c < columns; c += blockDim.x) {
            const long long i = row * columns + c;
            const real target = (c == wanted ? certain * weight : 0) + (weights ? spread * weights[from + c] : spread);
            dx[i] = !skipped && ours(owned, marks, row, c) ? (y[i] * mass - target) * scale : 0;
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
