// Element-wise activations.
#include "activation.cuh"
#include "view.cuh"

#define ACTIVATION(kind)                                                                                               \
    extern "C" __global__ void activation_##kind(View x, View y, double slope, long long size) {                       \
        for (long long i = first(); i < size; i += step()) at(y, i) = activate<KIND_##kind>(at(x, i), (real)slope);    \
    }                                                                                                                  \
    extern "C" __global__ void gradient_##kind(View v, View dy, View dx, double slope, long long size) {               \
        for (long long i = first(); i < size; i += step())                                                             \
            at(dx, i) = derivative<KIND_##kind>(at(v, i), (real)slope) * at(dy, i);                                    \
    }
EVERY_KIND(ACTIVATION)
