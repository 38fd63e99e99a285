// Softmax loss over classes that are cut. netpart/kernels/block_figures.py lists the figures of a block of classes.
#include "complain.cuh"
#include "labels.cuh"
#include "peak.cuh"
#include "ranking.cuh"

#define EXPS 0
#define TOTAL 1
#define SCORE 2
#define TOP 3

// A block of threads for each row and block of classes; blockIdx.y is the block of classes. x has the classes from
// bounds[0] on.
extern "C" __global__ void class_blocks(
    const real* x, const int* label, real* f, const long long* bounds, long long rows, long long columns, long long topk,
    double lowest, const real* weights
) {
    const long long low = bounds[blockIdx.y], count = bounds[blockIdx.y + 1] - low, figures = TOP + 2 * topk;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const real* scores = x + row * columns + low - bounds[0];
        real* found = f + (row * gridDim.y + blockIdx.y) * figures;
        Ranked best = {0, -1};
        real top = 0;
        for (int t = 0; t < topk; ++t) {
            if (t < count) best = best_after(best, scores, count);
            const bool here = t < count;
            if (t == 0) top = best.score;
            if (threadIdx.x) continue;
            found[TOP + t] = here ? best.score : (real)lowest;
            found[TOP + topk + t] = (real)(low + (here ? best.place : 0));
        }
        real exps = 0, total = 0;
        for (long long c = threadIdx.x; c < count; c += blockDim.x) {
            exps += exp(scores[c] - top);
            total += weights ? weights[low + c] * (top - scores[c]) : top - scores[c];
        }
        exps = block_sum(exps);
        total = block_sum(total);
        if (threadIdx.x) continue;
        const long long wanted = label[row] - low;
        found[EXPS] = exps;
        found[TOTAL] = total;
        found[SCORE] = wanted >= 0 && wanted < count ? scores[wanted] : 0;
    }
}

// f (rows, blocks, figures) has the figures of all classes. values (2 or 3, rows), or null: loss and hit of each row,
// and if a label is ignored the mark of those that count.
extern "C" __global__ void class_loss(
    const real* x, const int* label, const real* f, real* y, double* values, long long rows, long long columns,
    long long blocks, long long classes, long long topk, double scale, double smoothing, const real* weights,
    double weighed, int ignores, long long ignored, const real* mean, long long count, int* wrong
) {
    const long long figures = TOP + 2 * topk;
    for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
        const real* known = f + row * blocks * figures;
        real peak = -infinity(), norm = 0, score = 0, total = 0;
        for (int k = 0; k < blocks; ++k) {
            const real here = known[k * figures + TOP];
            if (!(here <= peak)) peak = here;
        }
        for (int k = 0; k < blocks; ++k) {
            const real* block = known + k * figures;
            real width = (real)((k + 1) * classes / blocks - k * classes / blocks);
            if (weights && smoothing) {
                width = 0;
                for (long long c = k * classes / blocks; c < (k + 1) * classes / blocks; ++c) width += weights[c];
            }
            norm += block[EXPS] * exp(block[TOP] - peak);
            score += block[SCORE];
            if (smoothing) total += block[TOTAL] + (peak - block[TOP]) * width;
        }
        const int wanted = label[row];
        const bool labelled = wanted >= 0 && wanted < classes;
        const bool skipped = ignores && wanted == ignored;
        if (!labelled && !skipped && threadIdx.x == 0) complain(wrong, wanted);
        for (long long c = threadIdx.x; c < columns; c += blockDim.x)
            y[row * columns + c] = exp(x[row * columns + c] - peak) / norm;
        if (!values || threadIdx.x) continue;
        int beaten = 0;
        for (int k = 0; k < blocks; ++k)
            for (int t = 0; t < topk; ++t) {
                const real other = known[k * figures + TOP + t];
                beaten += other < score || (other == score && known[k * figures + TOP + topk + t] >= wanted);
            }
        const real weight = weights && labelled ? weights[wanted] : 1, spread = (real)(smoothing / classes);
        real found = peak - score, mass = 1;
        if (weights) found *= weight;
        if (weights) mass = smoothing ? weight * (real)(1 - smoothing) + spread * (real)weighed : weight;
        if (smoothing) found = found * (real)(1 - smoothing) + total * spread;
        found = labelled ? (found + log(norm) * mass) * (real)scale : no_number();
        write_figures(values, row, rows, skipped, ignores, mean ? found * mean_factor(mean, count) : found,
                      labelled && beaten > (blocks - 1) * topk);
    }
}
