// Embedding: rows of a table, looked up by their number.
#include "complain.cuh"
#include "reduce.cuh"

// A block for each token. A token outside of the vocabulary makes its row of y NaN.
extern "C" __global__ void embedding(
    const int* tokens, const real* w, real* y, long long count, long long rows, long long columns, long long from,
    long long vocabulary, int* wrong
) {
    for (long long n = blockIdx.x; n < count; n += gridDim.x) {
        const long long token = tokens[n], row = token - from;
        const bool here = row >= 0 && row < rows;
        const bool known = token >= 0 && token < vocabulary;
        const real other = known ? 0 : no_number();
        if (!known && threadIdx.x == 0) complain(wrong, (int)token);
        for (long long c = threadIdx.x; c < columns; c += blockDim.x)
            y[n * columns + c] = here ? w[row * columns + c] : other;
    }
}

// The mask of the lanes whose token, of the 32 from `base` on, equals `token`.
__device__ __forceinline__ unsigned equals(const int* tokens, long long base, long long end, int token) {
    const long long n = base + threadIdx.x % 32;
    return __ballot_sync(ALL_LANES, n < end && tokens[n] == token);
}

// A block for each position of `tokens`. The block of a token's first position adds up dy of all its positions, in
// their order, so that the sum is deterministic. dw has to be 0 before.
extern "C" __global__ void embedding_gradient(
    const int* tokens, const real* dy, real* dw, long long count, long long rows, long long columns, long long from
) {
    for (long long n = blockIdx.x; n < count; n += gridDim.x) {
        const int token = tokens[n];
        const long long row = token - from;
        bool leads = row >= 0 && row < rows;
        for (long long base = 0; leads && base < n; base += 32) leads = !equals(tokens, base, n, token);
        if (!leads) continue;
        for (long long tile = 0; tile < columns; tile += blockDim.x) {
            const long long c = tile + threadIdx.x;
            real found = 0;
            for (long long base = n; base < count; base += 32)
                for (unsigned left = equals(tokens, base, count, token); left; left &= left - 1)
                    if (c < columns) found += dy[(base + __ffs(left) - 1) * columns + c];
            if (c < columns) dw[row * columns + c] = found;
        }
    }
}
