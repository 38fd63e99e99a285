// Softmax of scores and its gradient, with a warp for each row.
#include "view.cuh"

#define ALL 0xffffffffu

__device__ __forceinline__ real warp_sum(real value) {
    for (int half = 16; half; half /= 2) value += __shfl_xor_sync(ALL, value, half);
    return value;
}

__device__ __forceinline__ real warp_max(real value) {
    for (int half = 16; half; half /= 2) {
        const real other = __shfl_xor_sync(ALL, value, half);
        value = other > value ? other : value;
    }
    return value;
}

// The number of keys that a query sees: those up to `seen` + its number, or all if `seen` is negative.
__device__ __forceinline__ long long keys_of(long long row, long long queries, long long keys, long long seen) {
    const long long last = seen + row % queries + 1;
    return seen < 0 || last > keys ? keys : last;
}

template <class T>
__device__ __forceinline__ void flag_keys(unsigned char* hidden, const Strided<T>& mask, long long pad, long long size) {
    for (long long i = first(); i < size; i += step()) hidden[i] = at(mask, i) == (T)pad;
}

// hidden = 1 for the elements of a mask that are `pad`, else 0; row-major.
extern "C" __global__ void hide_numbers(unsigned char* hidden, View mask, long long pad, long long size) {
    flag_keys(hidden, mask, pad, size);
}

extern "C" __global__ void hide_tokens(unsigned char* hidden, Strided<int> mask, long long pad, long long size) {
    flag_keys(hidden, mask, pad, size);
}

// p = softmax(scale * p) over the keys that the query sees, 0 for the others. `hidden`, if given, has a flag for each key
// of `alike` rows in a row.
extern "C" __global__ void probabilities(real* p, long long rows, long long queries, long long keys, double scale,
                                         long long seen, const unsigned char* hidden, long long alike) {
    const int lane = threadIdx.x % 32;
    for (long long row = first() / 32; row < rows; row += step() / 32) {
        real* scores = p + row * keys;
        const unsigned char* hides = hidden ? hidden + row / alike * keys : nullptr;
        const long long end = keys_of(row, queries, keys, seen);
        real peak = -__int_as_float(0x7f800000), sum = 0;
        for (long long i = lane; i < end; i += 32) {
            const real score = scores[i] * (real)scale;
            if (!hides || !hides[i]) peak = score > peak ? score : peak;
        }
        peak = warp_max(peak);
        for (long long i = lane; i < end; i += 32) {
            const real e = hides && hides[i] ? (real)0 : exp(scores[i] * (real)scale - peak);
            scores[i] = e;
            sum += e;
        }
        sum = warp_sum(sum);
        // The sum is 0 for a query that sees no key.
        for (long long i = lane; i < keys; i += 32) scores[i] = i < end && sum != 0 ? scores[i] / sum : (real)0;
    }
}

// dp = scale * p * (dp - the sum of dp * p over the row), or, with the weights w = p * random factors of dropout, scale *
// (dp * w - p * the sum of dp * w over the row)
extern "C" __global__ void probabilities_gradient(real* dp, const real* p, const real* w, long long rows,
                                                  long long keys, double scale) {
    const int lane = threadIdx.x % 32;
    for (long long row = first() / 32; row < rows; row += step() / 32) {
        real *slope = dp + row * keys, sum = 0;
        const real *chance = p + row * keys, *weight = (w ? w : p) + row * keys;
        for (long long i = lane; i < keys; i += 32) sum += slope[i] * weight[i];
        sum = warp_sum(sum);
        for (long long i = lane; i < keys; i += 32) {
            const real dropped = slope[i] * weight[i] - chance[i] * sum;
            slope[i] = w ? (real)scale * dropped : (real)scale * chance[i] * (slope[i] - sum);
        }
    }
}
