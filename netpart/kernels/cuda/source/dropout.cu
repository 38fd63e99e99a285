// Inverted dropout.
#include "philox.cuh"
#include "each.cuh"

#define RUN 4

// A thread takes RUN neighbouring elements, which mostly share a block of random words.
extern "C" __global__ void dropout(
    View y, View x, View mask, Strided<char> rows, Strided<char> elements, const double* told, long long phase,
    long long key0, long long key1, long long threshold, double scale, long long size
) {
    const unsigned now = (unsigned)(long long)*told;
    const int last = (int)y.rank - 1;
    for (long long start = first() * RUN; start < size; start += step() * RUN) {
        long long quad = -1, row = -1, line = start, here = split(line, y.shape[last]);
        uint4 words = make_uint4(0, 0, 0, 0);
        auto to = out(y), factors = out(mask);
        auto from = in(x);
        auto global = in(rows), column = in(elements);  // views without memory: the address of an element is its number
#pragma unroll 1
        for (int n = 0; n < RUN && start + n < size; ++n, ++here) {
            if (here == y.shape[last]) here = 0;
            if (n == 0 || here == 0) seek<1>(start + n, 0, to, factors, from, global, column);
            const long long element = (long long)elements.data + column.place[0];
            const long long image = (long long)rows.data + global.place[0];
            if (element / 4 != quad || image != row) {
                quad = element / 4, row = image;
                const uint4 counter = make_uint4(now, (unsigned)phase, (unsigned)row, (unsigned)quad);
                words = philox(counter, (unsigned)key0, (unsigned)key1);
            }
            const bool kept = (word(words, (int)(element & 3)) >> 8) >= threshold;
            const real factor = kept ? (real)scale : 0;
            mask.data[factors.place[0]] = factor;
            y.data[to.place[0]] = x.data[from.place[0]] * factor;
            to.go(0, last, 1), factors.go(0, last, 1), from.go(0, last, 1), global.go(0, last, 1), column.go(0, last, 1);
        }
    }
}
