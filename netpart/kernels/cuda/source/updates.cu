// One kernel for each update rule, which updates many parameters: it clips the gradient, decays, updates and averages.
// The formulas are in netpart/updaters. Numbers that change from step to step are read from slots.
#include "each.cuh"

struct Rule {
    double first, second;            // constants of the rule: momentum, rho, beta1 and beta2
    double most, low, high, decay;   // clip_norm, clip_low, clip_high; the factor of w that is added to the gradient
};

struct Slots {
    const double *rate, *delta, *shrink, *keep;  // learning rate, addend of divisors, 1 - rate · decay, average's weight
};

// A NaN stays NaN; max and min would hide it.
__device__ inline REAL clipped(REAL x, REAL low, REAL high) { return x < low ? low : x > high ? high : x; }

__device__ inline REAL larger(REAL x, REAL y) { return x < y ? y : x; }

// One parameter: a row of the table that a launch processes.
struct Row {
    View w, g, h, u, mean;  // the values, the gradient, two states of the rule, and the average of the values
    const double *norm;
    Rule rule;
    Slots slots;
    long long averages, size;
};

// The work of one block: CHUNK elements of a row, from `start` on.
struct Work {
    long long row, start;
};
constexpr long long CHUNK = 4096, WORDS = sizeof(Row) / sizeof(long long);

struct State {
    REAL w, g, h, u;
};

template <class Apply> __device__ __forceinline__ void update(const Row &row, long long start, int states, Apply apply) {
    const Rule &rule = row.rule;
    const double length = row.norm ? sqrt(*row.norm) : 0;
    const REAL factor = length <= rule.most ? REAL(1) : REAL(rule.most / length);  // a NaN compares false and spreads
    const REAL shrink = row.slots.shrink ? REAL(*row.slots.shrink) : REAL(1);
    const REAL keep = row.averages ? REAL(*row.slots.keep) : REAL(0);
    const REAL rest = row.averages ? REAL(1 - *row.slots.keep) : REAL(0);
    const long long end = start + CHUNK < row.size ? start + CHUNK : row.size;
    const REAL low = rule.low, high = rule.high, decay = rule.decay;
    auto one = [=](REAL &w, REAL g, REAL &h, REAL &u, REAL &mean) {
        State s = {w, g, h, u};
        s.g *= factor;
        if (low < high) s.g = clipped(s.g, low, high);
        if (decay > 0) s.g += s.w * decay;
        s.w *= shrink;
        apply(s);
        w = s.w, h = s.h, u = s.u;
        mean = mean * keep + s.w * rest;
    };
    each_of(start, end, threadIdx.x, blockDim.x, one, both(row.w), in(row.g), both(row.h, states > 0),
         both(row.u, states > 1), both(row.mean, row.averages));
}

// The numbers of a rule in one step.
struct Numbers {
    REAL rate, delta, first, second, first_rest, second_rest, first_more;
};

#define UPDATE(name, states, statement)                                                                                \
    extern "C" __global__ void name(const Row *rows, const Work *work) {                                               \
        __shared__ long long words[WORDS];                                                                             \
        const Work mine = work[blockIdx.x];                                                                            \
        const long long *source = reinterpret_cast<const long long *>(rows + mine.row);                                \
        for (long long i = threadIdx.x; i < WORDS; i += blockDim.x) words[i] = source[i];                              \
        __syncthreads();                                                                                               \
        const Row &row = *reinterpret_cast<const Row *>(words);                                                        \
        const Rule &rule = row.rule;                                                                                   \
        const Numbers n = {REAL(*row.slots.rate), REAL(*row.slots.delta), REAL(rule.first), REAL(rule.second),         \
                           REAL(1 - rule.first), REAL(1 - rule.second), REAL(1 + rule.first)};                         \
        update(row, mine.start, states, [=](State &s) statement);                                                      \
    }

UPDATE(sgd, 0, { s.w -= n.rate * s.g; })
UPDATE(momentum, 1, {
    s.h = s.h * n.first - n.rate * s.g;
    s.w += s.h;
})
UPDATE(nesterov, 1, {
    const REAL previous = s.h * n.first;
    s.h = previous + n.rate * s.g;
    s.w -= s.h * n.first_more - previous;
})
UPDATE(adagrad, 1, {
    s.h += s.g * s.g;
    s.w -= s.g / sqrt(s.h + n.delta) * n.rate;
})
UPDATE(rmsprop, 1, {
    s.h = s.h * n.first + s.g * s.g * n.first_rest;
    s.w -= s.g / sqrt(s.h + n.delta) * n.rate;
})
UPDATE(adagrad_outside, 1, {
    s.h += s.g * s.g;
    s.w -= s.g / (sqrt(s.h) + n.delta) * n.rate;
})
UPDATE(rmsprop_outside, 1, {
    s.h = s.h * n.first + s.g * s.g * n.first_rest;
    s.w -= s.g / (sqrt(s.h) + n.delta) * n.rate;
})
UPDATE(adadelta, 2, {
    s.h = s.h * n.first + s.g * s.g * n.first_rest;
    const REAL change = s.g * sqrt(s.u + n.delta) / sqrt(s.h + n.delta);
    s.u = s.u * n.first + change * change * n.first_rest;
    s.w -= change * n.rate;
})
UPDATE(adam, 2, {
    s.h = s.h * n.first + s.g * n.first_rest;
    s.u = s.u * n.second + s.g * s.g * n.second_rest;
    s.w -= s.h / sqrt(s.u + n.delta) * n.rate;
})
// Also kAdam with delta_outside_root: decoupled decay is in the slots.
UPDATE(adamw, 2, {
    s.h = s.h * n.first + s.g * n.first_rest;
    s.u = s.u * n.second + s.g * s.g * n.second_rest;
    s.w -= s.h / (sqrt(s.u) + n.delta) * n.rate;
})
UPDATE(adammax, 2, {
    s.h = s.h * n.first + s.g * n.first_rest;
    s.u = larger(s.u * n.second, fabs(s.g)) + n.delta;
    s.w -= s.h / s.u * n.rate;
})
