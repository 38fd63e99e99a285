// One kernel for each update rule: clips the gradient, decays, updates and averages; see netpart/updaters for formulas.
// What changes from step to step is read from slots.
#include "view.cuh"

struct Rule {
    double first, second;            // constants of the rule: momentum, rho, beta1 and beta2
    double most, low, high, decay;   // clip_norm, clip_low, clip_high; what of w is added to the gradient
};

struct Slots {
    const double *rate, *delta, *shrink, *keep;  // learning rate, what roots add, 1 - rate · decay, share of averages kept
};

// What is not a number stays so; max would hide it.
__device__ inline REAL clipped(REAL x, REAL low, REAL high) { return x < low ? low : x > high ? high : x; }

__device__ inline REAL larger(REAL x, REAL y) { return x < y ? y : x; }

struct State {
    REAL w, g, h, u;
};

template <class Apply>
__device__ void update(const View &w, const View &g, const View &h, const View &u, const View &mean, const double *norm,
                       const Rule &rule, const Slots &slots, int states, int averages, long long size, Apply apply) {
    const double length = norm ? sqrt(*norm) : 0;
    const REAL factor = length <= rule.most ? REAL(1) : REAL(rule.most / length);
    const REAL shrink = slots.shrink ? REAL(*slots.shrink) : REAL(1);
    const REAL keep = averages ? REAL(*slots.keep) : REAL(0), rest = averages ? REAL(1 - *slots.keep) : REAL(0);
    for (long long i = first(); i < size; i += step()) {
        State s = {at(w, i), at(g, i), states > 0 ? at(h, i) : REAL(0), states > 1 ? at(u, i) : REAL(0)};
        if (norm) s.g *= factor;
        if (rule.low < rule.high) s.g = clipped(s.g, REAL(rule.low), REAL(rule.high));
        if (rule.decay > 0) s.g += s.w * REAL(rule.decay);
        if (slots.shrink) s.w *= shrink;
        apply(s);
        at(w, i) = s.w;
        if (states > 0) at(h, i) = s.h;
        if (states > 1) at(u, i) = s.u;
        if (averages) at(mean, i) = at(mean, i) * keep + s.w * rest;
    }
}

// The numbers of a rule in one step.
struct Numbers {
    REAL rate, delta, first, second, first_rest, second_rest;
};

#define UPDATE(name, states, statement)                                                                                \
    extern "C" __global__ void name(View w, View g, View h, View u, View mean, const double *norm, Rule rule,          \
                                    Slots slots, int averages, long long size) {                                       \
        const Numbers n = {REAL(*slots.rate), REAL(*slots.delta), REAL(rule.first), REAL(rule.second),                 \
                           REAL(1 - rule.first), REAL(1 - rule.second)};                                               \
        update(w, g, h, u, mean, norm, rule, slots, states, averages, size, [&](State &s) statement);                  \
    }

UPDATE(sgd, 0, { s.w -= n.rate * s.g; })
UPDATE(momentum, 1, {
    s.h = s.h * n.first - n.rate * s.g;
    s.w += s.h;
})
UPDATE(nesterov, 1, {
    const REAL previous = s.h * n.first;
    s.h = previous + n.rate * s.g;
    s.w -= s.h * REAL(1 + rule.first) - previous;
})
UPDATE(adagrad, 1, {
    s.h += s.g * s.g;
    s.w -= s.g / sqrt(s.h + n.delta) * n.rate;
})
UPDATE(rmsprop, 1, {
    s.h = s.h * n.first + s.g * s.g * n.first_rest;
    s.w -= s.g / sqrt(s.h + n.delta) * n.rate;
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

// w += rest · g.
extern "C" __global__ void follow_mean(View w, View g, double rest, long long size) {
    for (long long i = first(); i < size; i += step()) at(w, i) += at(g, i) * REAL(rest);
}

// w = keep · w + unbiased · (g - centre²), which is at least 0.
extern "C" __global__ void follow_variance(View w, View g, View centre, double keep, double unbiased, long long size) {
    for (long long i = first(); i < size; i += step()) {
        const REAL mean = at(centre, i), variance = larger(at(g, i) - mean * mean, REAL(0));
        at(w, i) = at(w, i) * REAL(keep) + variance * REAL(unbiased);
    }
}
