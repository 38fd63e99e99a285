// Moves and sums of whole arrays and of strided views of them.
#include "activation.cuh"
#include "reduce.cuh"
#include "several.cuh"

// What is moved is bits, as many at a time as lie together.
#define MOVES(bits, type)                                                                              \
    extern "C" __global__ void zero_##bits(Strided<type> dst, long long size) {                        \
        const type nothing = {};                                                                       \
        for (long long i = first(); i < size; i += step()) at(dst, i) = nothing;                       \
    }                                                                                                  \
    extern "C" __global__ void copy_##bits(Strided<type> dst, Strided<type> src, long long size) {     \
        for (long long i = first(); i < size; i += step()) at(dst, i) = at(src, i);                    \
    }
MOVES(8, unsigned char)
MOVES(16, unsigned short)
MOVES(32, unsigned)
MOVES(64, uint2)
MOVES(128, uint4)

template <Kind kind> __device__ __forceinline__ void sum(const View& dst, const Several& srcs, int count, long long size) {
    for (long long i = first(); i < size; i += step()) {
        real found = count ? at(srcs.view[0], i) : 0;
        for (int k = 1; k < count; ++k) found += at(srcs.view[k], i);
        at(dst, i) = activate<kind>(found, 0);
    }
}

#define TOTAL(kind)                                                                                    \
    extern "C" __global__ void total_##kind(View dst, Several srcs, long long count, long long size) { \
        sum<KIND_##kind>(dst, srcs, (int)count, size);                                                 \
    }
TOTAL(none)
EVERY_KIND(TOTAL)

extern "C" __global__ void squares(View src, double* parts, long long size) {
    double found = 0;
    for (long long i = first(); i < size; i += step()) {
        const double value = at(src, i);
        found += value * value;
    }
    found = block_sum(found);
    if (threadIdx.x == 0) parts[blockIdx.x] = found;
}

// One block.
extern "C" __global__ void add_parts(double* dst, const double* parts, long long count) {
    double found = 0;
    for (long long i = threadIdx.x; i < count; i += blockDim.x) found += parts[i];
    found = block_sum(found);
    if (threadIdx.x == 0) *dst += found;
}
