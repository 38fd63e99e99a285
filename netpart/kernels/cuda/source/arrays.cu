// Copies and sums of whole arrays and of strided views of them.
#include "activation.cuh"
#include "reduce.cuh"
#include "several.cuh"

// Zeroing and copying do not depend on the dtype: types here are widths, as many bits at a time as are contiguous.
#define MOVES(bits, type)                                                                              \
    extern "C" __global__ void zero_##bits(Strided<type> dst, long long size) {                        \
        each(size, [](type& dst) { dst = {}; }, out(dst));                                             \
    }                                                                                                  \
    extern "C" __global__ void copy_##bits(Strided<type> dst, Strided<type> src, long long size) {     \
        each(size, [](type& dst, type src) { dst = src; }, out(dst), in(src));                         \
    }
MOVES(8, unsigned char)
MOVES(16, unsigned short)
MOVES(32, unsigned)
MOVES(64, uint2)
MOVES(128, uint4)

// Messages may be of either type, independent of REAL.
#define ADDS(bits, type)                                                                               \
    extern "C" __global__ void add_##bits(                                                             \
        Strided<type> dst, Strided<type> own, Strided<type> src, long long size                        \
    ) {                                                                                                \
        each(size, [](type& y, type a, type b) { y = a + b; }, out(dst), in(own), in(src));            \
    }
ADDS(32, float)
ADDS(64, double)

template <Kind kind> __device__ __forceinline__ void sum(const View& dst, const Several& srcs, int count, long long size) {
    auto join = [](real a, real b) { return a + b; };
    auto all = [](real& y, real x) { y = activate<kind>(x, 0); };
    auto two = [](real& y, real a, real b) { y = activate<kind>(a + b, 0); };
    if (count == 2) each(size, two, out(dst), in(srcs.view[0]), in(srcs.view[1]));
    else each(size, all, out(dst), Joined<decltype(join)>(srcs, count, join));
}

#define TOTAL(kind)                                                                                    \
    extern "C" __global__ void total_##kind(View dst, Several srcs, long long count, long long size) { \
        sum<KIND_##kind>(dst, srcs, (int)count, size);                                                 \
    }
TOTAL(none)
OVERWRITING_KIND(TOTAL)

extern "C" __global__ void bring_in(View dst, View total, View start, long long count, long long size) {
    auto body = [=](real& y, real& mean, real start) { mean /= (real)count, y = mean + (y - start); };
    each(size, body, both(dst), both(total), in(start));
}

// A thread takes FEW neighbours at a time even if they are not contiguous: so the order of the sum depends on the shape
// alone.
extern "C" __global__ void squares(View src, double* parts, long long size) {
    double found = 0;
    const bool runs = in(src).runs<FEW>();
    for (long long i = FEW * first(); i < size; i += FEW * step()) {
        real held[FEW] = {};
        if (runs && i + FEW <= size) load<real, FEW>(src.data + i, held);
        else
#pragma unroll
            for (int n = 0; n < FEW; ++n) held[n] = i + n < size ? at(src, i + n) : 0;
#pragma unroll
        for (int n = 0; n < FEW; ++n) found += double(held[n]) * double(held[n]);
    }
    found = block_sum(found);
    if (threadIdx.x == 0) parts[blockIdx.x] = found;
}

// Has to be launched with one block.
extern "C" __global__ void add_parts(double* dst, const double* parts, long long count) {
    double found = 0;
    for (long long i = threadIdx.x; i < count; i += blockDim.x) found += parts[i];
    found = block_sum(found);
    if (threadIdx.x == 0) *dst += found;
}
