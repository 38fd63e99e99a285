// Activations and their derivatives, for all kernels that apply them. Formulas are those of activation.py and gates.py.
#pragma once
#include "real.cuh"

// Kinds whose derivative is a function of y: y may overwrite x, so other kernels may apply them to their results.
#define OVERWRITING_KIND(X) X(relu) X(relu6) X(sigmoid) X(tanh) X(stanh) X(softplus)
#define EVERY_KIND(X) OVERWRITING_KIND(X) X(elu) X(silu) X(mish) X(gelu) X(gelu_tanh)

#define KIND(name) KIND_##name,
enum Kind { KIND_none, EVERY_KIND(KIND) };
#undef KIND

#define STANH_OUTER ((real)1.7159047)
#define STANH_INNER ((real)0.66666667)
#define INNER ((real)0.7978845608028654)
#define CUBIC ((real)0.044715)
#define BEYOND ((real)40)

__device__ __forceinline__ real logistic(real x) { return (1 + tanh(x / 2)) / 2; }

__device__ __forceinline__ real softened(real x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }

__device__ __forceinline__ real within(real x) { return x < -BEYOND ? -BEYOND : x > BEYOND ? BEYOND : x; }

// The gate g of y = x g(x).
template <Kind kind> __device__ __forceinline__ real gate(real x) {
    if constexpr (kind == KIND_silu) return logistic(x);
    if constexpr (kind == KIND_mish) return tanh(softened(x));
    if constexpr (kind == KIND_gelu) return erfc(-within(x) * (real)0.7071067811865476) / 2;
    x = within(x);
    return (1 + tanh(INNER * x * (1 + CUBIC * x * x))) / 2;
}

// g'(x), given g.
template <Kind kind> __device__ __forceinline__ real gate_slope(real x, real g) {
    if constexpr (kind == KIND_silu) return g * (1 - g);
    if constexpr (kind == KIND_mish) return logistic(x) * (1 - g * g);
    x = within(x);
    if constexpr (kind == KIND_gelu) return (real)0.3989422804014327 * exp(-x * x / 2);
    return 2 * INNER * (1 + 3 * CUBIC * x * x) * g * (1 - g);
}

template <Kind kind> __device__ __forceinline__ real activate(real x, real slope) {
    if constexpr (kind == KIND_none) return x;
    // 0 rather than slope * x, which is NaN for -infinity and slope 0. A NaN compares false and stays NaN.
    else if constexpr (kind == KIND_relu) return x < 0 ? (slope == 0 ? 0 : slope * x) : x;
    else if constexpr (kind == KIND_relu6) return x < 0 ? 0 : x > 6 ? 6 : x;
    else if constexpr (kind == KIND_sigmoid) return logistic(x);
    else if constexpr (kind == KIND_tanh) return tanh(x);
    else if constexpr (kind == KIND_stanh) return STANH_OUTER * tanh(STANH_INNER * x);
    else if constexpr (kind == KIND_elu) return x > 0 ? x : slope * expm1(x);
    else if constexpr (kind == KIND_softplus) return softened(x);
    else return x * gate<kind>(x);
}

// kind'(x), from v: x for gates, elu and a relu of negative slope, else y; see activation.py in this package.
template <Kind kind> __device__ __forceinline__ real derivative(real v, real slope) {
    if constexpr (kind == KIND_none) return 1;
    else if constexpr (kind == KIND_relu) return v > 0 ? 1 : slope;
    else if constexpr (kind == KIND_relu6) return v > 0 && v < 6 ? 1 : 0;
    else if constexpr (kind == KIND_sigmoid) return v * (1 - v);
    else if constexpr (kind == KIND_tanh) return 1 - v * v;
    else if constexpr (kind == KIND_stanh) return STANH_OUTER * STANH_INNER - STANH_INNER / STANH_OUTER * v * v;
    else if constexpr (kind == KIND_elu) return v > 0 ? 1 : slope * exp(v);
    else if constexpr (kind == KIND_softplus) return -expm1(-v);
    else {
        const real g = gate<kind>(v);
        return g + v * gate_slope<kind>(v, g);
    }
}
