// Inverted dropout.
#include "philox.cuh"
#include "view.cuh"

#define RUN 4

// Views of nothing: an element's address is its number.
__device__ __forceinline__ long long number(const Strided<char>& view, long long i) { return (long long)&at(view, i); }

// Each thread takes a few elements that lie together: as a rule they share a block of random words.
extern "C" __global__ void dropout(
    View y, View x, View mask, Strided<char> rows, Strided<char> elements, const double* told, long long phase,
    long long key0, long long key1, long long threshold, double scale, long long size
) {
    const unsigned now = (unsigned)(long long)*told;
    for (long long start = first() * RUN; start < size; start += step() * RUN) {
        long long quad = -1, row = -1;
        uint4 words = make_uint4(0, 0, 0, 0);
        for (long long i = start; i < size && i < start + RUN; ++i) {
            const long long element = number(elements, i), here = number(rows, i);
            if (element / 4 != quad || here != row) {
                quad = element / 4, row = here;
                const uint4 counter = make_uint4(now, (unsigned)phase, (unsigned)row, (unsigned)quad);
                words = philox(counter, (unsigned)key0, (unsigned)key1);
            }
            const bool kept = (word(words, (int)(element & 3)) >> 8) >= threshold;
            const real factor = kept ? (real)scale : 0;
            at(mask, i) = factor;
            at(y, i) = at(x, i) * factor;
        }
    }
}
