// Interpolation along up to three spatial axes at once.
#include "real.cuh"

#define AXES 3
#define RANK 5

// A walk over all elements of the target in their order in memory: the strides in both arrays, in the source for batch
// and channel only; `axis` is the number of the spatial axis, or -1.
struct Walk {
    long long shape[RANK], target[RANK], source[RANK], axis[RANK], step[AXES];
};

// For each position of the target on one axis: the first and the last + 1 position of the source, and their weights.
struct Taps {
    const int* range;
    const real* weight;
    long long across, along;
};

struct Every {
    Taps axis[AXES];
};

extern "C" __global__ void resample(const real* source, real* target, Walk walk, Every taps, long long size) {
    for (long long i = first(); i < size; i += step()) {
        long long rest = i, to = 0, from = 0, place[AXES] = {0, 0, 0};
        for (int d = RANK - 1; d >= 0; --d) {
            const long long next = rest / walk.shape[d], k = rest - next * walk.shape[d];
            rest = next;
            to += k * walk.target[d];
            from += k * walk.source[d];
            for (int a = 0; a < AXES; ++a)
                if (walk.axis[d] == a) place[a] = k;
        }
        int low[AXES], high[AXES];
        const real* weight[AXES];
        for (int a = 0; a < AXES; ++a) {
            low[a] = taps.axis[a].range[2 * place[a]], high[a] = taps.axis[a].range[2 * place[a] + 1];
            weight[a] = taps.axis[a].weight + place[a] * taps.axis[a].across;
        }
        real found = 0;
        for (int p = low[0]; p < high[0]; ++p)
            for (int q = low[1]; q < high[1]; ++q) {
                const real outer = weight[0][p * taps.axis[0].along] * weight[1][q * taps.axis[1].along];
                const real* row = source + from + p * walk.step[0] + q * walk.step[1];
                for (int r = low[2]; r < high[2]; ++r)
                    found += outer * weight[2][r * taps.axis[2].along] * row[r * walk.step[2]];
            }
        target[to] = found;
    }
}
