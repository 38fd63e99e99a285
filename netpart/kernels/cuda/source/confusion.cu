// The confusion matrix. Atomic additions are deterministic here: counts are whole numbers, whose sum is the same in any
// order.
#include "complain.cuh"
#include "real.cuh"

#define BINS 1024
#define PER_UNIT 32

extern "C" __global__ void confusion(
    const real* x, const int* best, const int* label, double* metrics, const bool* owned, long long marks, long long rows,
    long long classes, int ignores, long long ignored, int* wrong
) {
    for (long long row = first(); row < rows; row += step()) {
        const int wanted = label[row];
        if (ignores && wanted == ignored) continue;
        if (wanted < 0 || wanted >= classes) {
            complain(wrong, wanted);
            continue;
        }
        if (owned && !owned[row * marks]) continue;
        atomicAdd(&metrics[wanted * classes + best[row]], 1.0);
        if (classes != 2) continue;
        real odds = x[row * 2 + 1] - x[row * 2];
        if (odds != odds) odds = 0;
        odds = floor(odds * PER_UNIT + BINS / 2);
        const int bin = odds < 0 ? 0 : odds > BINS - 1 ? BINS - 1 : (int)odds;
        atomicAdd(&metrics[4 + wanted * BINS + bin], 1.0);
    }
}
