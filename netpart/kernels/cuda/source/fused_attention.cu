// Attention without scores in memory: tiles of queries are combined with tiles of keys and values, and for each query
// the logarithm of the sum of its exponentials is kept (Dao, FlashAttention-2, 2023).
#include "attention.cuh"

// y = softmax(scale * q k') v, with q and k rotated by their turns, if any; kept = the logarithm of the sum of each query's exponentials. The last queries, which
// see most keys, are processed first, so that no long block starts last.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    fused_attention(View qs, View ks, View vs, View ys, real *kept, const real *q_turns, const real *k_turns, double scale,
                    long long seen, const unsigned char *hidden, long long heads) {
    extern __shared__ __align__(16) real memory[];
    real *q_tile = memory, *kv_tile = q_tile + OWN * pitch(KEY_WIDTH), *p_tile = kv_tile + OTHERS * pitch(WIDER);
    const Matrix q = matrix(qs, blockIdx.x), k = matrix(ks, blockIdx.x), v = matrix(vs, blockIdx.x);
    const long long start = (long long)(gridDim.y - 1 - blockIdx.y) * OWN;
    const long long end = keys_of(start + OWN - 1, k.rows, seen);
    const unsigned char *hides = hidden_keys(hidden, heads, k.rows);
    real peak[Cores::ROWS], total[Cores::ROWS];
    Sums<VALUE_WIDTH> sums = {};
#pragma unroll
    for (int i = 0; i < Cores::ROWS; i++) peak[i] = -__int_as_float(0x7f800000), total[i] = 0;

    fill<OWN, KEY_WIDTH, THREADS>(q_tile, q, start, q_turns);
    for (long long key = 0; key < end; key += OTHERS) {
        __syncthreads();
        fill<OTHERS, KEY_WIDTH, THREADS>(kv_tile, k, key, k_turns);
        __syncthreads();
        Scores scores = {};
        Cores::across<KEY_WIDTH, OTHERS>(scores, q_tile, kv_tile);
#pragma unroll
        for (int i = 0; i < Cores::ROWS; i++) {
            const int visible = left(keys_of(start + Cores::row(i), k.rows, seen), key, OTHERS);
            real top = peak[i];
#pragma unroll
            for (int j = 0; j < OTHERS / Cores::LANES; j++) {
                const int column_j = column<Cores::CHUNK>(j);
                const bool sees = column_j < visible && !(MASKED && hides[key + column_j]);
                scores[i][j] = sees ? scores[i][j] * (real)scale : -__int_as_float(0x7f800000);
                top = scores[i][j] > top ? scores[i][j] : top;
            }
            top = row_max(top);
            // Without any key yet, the difference to the maximum would be infinity - infinity.
            const real base = MASKED && top == -__int_as_float(0x7f800000) ? (real)0 : top;
            // The sums so far are relative to the old maximum: they are rescaled to the new one.
            const real less = exp(peak[i] - base);
            peak[i] = top, total[i] *= less;
#pragma unroll
            for (int j = 0; j < OTHERS / Cores::LANES; j++) total[i] += scores[i][j] = exp(scores[i][j] - base);
#pragma unroll
            for (int j = 0; j < VALUE_WIDTH / Cores::LANES; j++) sums[i][j] *= less;
        }
        keep(p_tile, scores);
        __syncthreads();
        fill<OTHERS, VALUE_WIDTH, THREADS>(kv_tile, v, key);
        __syncthreads();
        Cores::along<OTHERS, VALUE_WIDTH>(sums, p_tile, kv_tile);
    }

#pragma unroll
    for (int i = 0; i < Cores::ROWS; i++) {
        const long long query = start + Cores::row(i);
        total[i] = row_sum(total[i]);
        if (threadIdx.x % Cores::LANES == 0 && query < q.rows) kept[blockIdx.x * q.rows + query] = peak[i] + log(total[i]);
#pragma unroll
        for (int j = 0; j < VALUE_WIDTH / Cores::LANES; j++) sums[i][j] = MASKED && total[i] == 0 ? (real)0 : sums[i][j] / total[i];
    }
    store<VALUE_WIDTH>(matrix(ys, blockIdx.x), start, sums);
}
