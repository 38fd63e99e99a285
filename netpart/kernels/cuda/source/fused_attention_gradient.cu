// The gradients of attention: tiles of p are recomputed from the logarithm that forward kept for each query.
#include "attention.cuh"

// dots = the sum of dy * y over each row, with a warp for each row.
extern "C" __global__ void row_dots(View ys, View dys, real *dots) {
    const Matrix y = matrix(ys, blockIdx.x), dy = matrix(dys, blockIdx.x);
    const long long warps = blockDim.x / 32;
    for (long long row = blockIdx.y * warps + threadIdx.x / 32; row < y.rows; row += gridDim.y * warps) {
        real sum = 0;
        for (long long c = threadIdx.x % 32; c < y.columns; c += 32)
            sum += dy.data[row * dy.down + c * dy.right] * y.data[row * y.down + c * y.right];
#pragma unroll
        for (int half = 16; half; half /= 2) sum += __shfl_xor_sync(ALL, sum, half);
        if (threadIdx.x % 32 == 0) dots[blockIdx.x * y.rows + row] = sum;
    }
}

// The gradients of a tile of queries, from all keys that it sees (a: q, b: dy, c: k, d: v; da: dq), or, with KEYS, of a
// tile of keys, from all queries that see it (a: k, b: v, c: q, d: dy; da: dk, db: dv).
//
// a and c are rotated by their turns, if any, and da is rotated back.
//
//   p = exp(scale * a c' - kept),   slope = scale * p * (b d' - dots),   da = slope c,   db = p d
template <bool KEYS>
__device__ __forceinline__ void gradients(
    const Matrix &a, const Matrix &b, const Matrix &c, const Matrix &d, const View &das, const View &dbs,
    const real *kept, const real *dots, const real *a_turns, const real *c_turns, real *memory, long long start, real scale, long long seen,
    const unsigned char *hides
) {
    real *a_tile = memory, *b_tile = a_tile + OWN * pitch(KEY_WIDTH), *c_tile = b_tile + OWN * pitch(VALUE_WIDTH);
    real *d_tile = c_tile + OTHERS * pitch(KEY_WIDTH), *p_tile = d_tile + OTHERS * pitch(VALUE_WIDTH);
    constexpr int COLUMNS = OTHERS / Cores::LANES, COUNT = KEYS ? COLUMNS : Cores::ROWS;  // COUNT: queries of a lane
    const long long queries = KEYS ? c.rows : a.rows, keys = KEYS ? a.rows : c.rows;
    long long begin = 0, end = queries;
    if (!KEYS) end = keys_of(start + OWN - 1, keys, seen);
    else if (seen >= 0 && start > seen) begin = (start - seen) / OTHERS * OTHERS;
    Sums<KEY_WIDTH> da = {};
    Sums<VALUE_WIDTH> db = {};

    fill<OWN, KEY_WIDTH, THREADS>(a_tile, a, start, a_turns);
    fill<OWN, VALUE_WIDTH, THREADS>(b_tile, b, start);
    for (long long other = begin; other < end; other += OTHERS) {
        __syncthreads();
        fill<OTHERS, KEY_WIDTH, THREADS>(c_tile, c, other, c_turns);
        fill<OTHERS, VALUE_WIDTH, THREADS>(d_tile, d, other);
        int visible[COUNT];
        real log_sum[COUNT], dot[COUNT];
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const long long query = KEYS ? other + column<Cores::CHUNK>(i) : start + Cores::row(i);
            const bool is_one = query < queries;
            visible[i] = is_one ? left(keys_of(query, keys, seen), KEYS ? start : other, KEYS ? OWN : OTHERS) : 0;
            log_sum[i] = is_one ? kept[query] : (real)0, dot[i] = is_one ? dots[query] : (real)0;
        }
        __syncthreads();
        Scores p = {}, slope = {};
        Cores::across<KEY_WIDTH, OTHERS>(p, a_tile, c_tile);
#pragma unroll
        for (int i = 0; i < Cores::ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) {
                const int at = KEYS ? j : i, key = KEYS ? Cores::row(i) : column<Cores::CHUNK>(j);
                const bool sees = key < visible[at] && !(MASKED && hides[(KEYS ? start : other) + key]);
                p[i][j] = sees ? exp(p[i][j] * scale - log_sum[at]) : (real)0;
            }
        if (KEYS) {
            // Rows of p_tile belong to one warp, so that a barrier of the warp is enough.
            keep(p_tile, p);
            __syncwarp();
            Cores::along<OTHERS, VALUE_WIDTH>(db, p_tile, d_tile);
            __syncwarp();
        }
        Cores::across<VALUE_WIDTH, OTHERS>(slope, b_tile, d_tile);
#pragma unroll
        for (int i = 0; i < Cores::ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++) slope[i][j] = scale * p[i][j] * (slope[i][j] - dot[KEYS ? j : i]);
        keep(p_tile, slope);
        __syncwarp();
        Cores::along<OTHERS, KEY_WIDTH>(da, p_tile, c_tile);
    }
    if (das.data) store<KEY_WIDTH>(matrix(das, blockIdx.x), start, da, a_turns);
    if (KEYS && dbs.data) store<VALUE_WIDTH>(matrix(dbs, blockIdx.x), start, db);
}

// The first `key_tiles` blocks on axis y compute dk and dv, the others dq. A gradient whose data is null is omitted.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT) fused_attention_gradient(
    View qs, View ks, View vs, View dys, const real *kept, const real *dots, const real *q_turns,
    const real *k_turns, View dqs, View dks, View dvs, long long key_tiles, double scale, long long seen,
    const unsigned char *hidden, long long heads
) {
    extern __shared__ __align__(16) real memory[];
    const Matrix q = matrix(qs, blockIdx.x), k = matrix(ks, blockIdx.x), v = matrix(vs, blockIdx.x);
    const Matrix dy = matrix(dys, blockIdx.x);
    const unsigned char *hides = hidden_keys(hidden, heads, k.rows);
    kept += blockIdx.x * q.rows, dots += blockIdx.x * q.rows;
    if (blockIdx.y < key_tiles) {
        gradients<true>(k, v, q, dy, dks, dvs, kept, dots, k_turns, q_turns, memory, (long long)blockIdx.y * OWN, scale, seen, hides);
    } else {
        const long long start = (long long)(gridDim.y - 1 - blockIdx.y) * OWN;
        gradients<false>(q, dy, k, v, dqs, dvs, kept, dots, q_turns, k_turns, memory, start, scale, seen, hides);
    }
}
