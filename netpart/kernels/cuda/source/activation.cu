// Element-wise activations.
#include "activation.cuh"
#include "each.cuh"

#define ACTIVATION(kind)                                                                                               \
    extern "C" __global__ void activation_##kind(View x, View y, double slope, long long size) {                       \
        const real given = (real)slope;                                                                                \
        each(size, [=](real& y, real x) { y = activate<KIND_##kind>(x, given); }, out(y), in(x));                      \
    }                                                                                                                  \
    extern "C" __global__ void gradient_##kind(View v, View dy, View dx, double slope, long long size) {               \
        const real given = (real)slope;                                                                                \
        auto back = [=](real& dx, real v, real dy) { dx = derivative<KIND_##kind>(v, given) * dy; };                   \
        each(size, back, out(dx), in(v), in(dy));                                                                      \
    }
EVERY_KIND(ACTIVATION)
