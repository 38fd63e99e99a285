// The order of the scores of a row: NaN first, as in numpy's argmax, then descending; ties: the first column first.
#pragma once
#include "reduce.cuh"

struct Ranked {
    real score;
    long long place;  // the column; -1: none
};

__device__ __forceinline__ bool before(const Ranked& a, const Ranked& b) {
    if (a.place < 0 || b.place < 0) return a.place >= 0;
    const bool a_lost = a.score != a.score, b_lost = b.score != b.score;
    if (a_lost != b_lost) return a_lost;
    return a_lost || a.score == b.score ? a.place < b.place : a.score > b.score;
}

__device__ __forceinline__ Ranked warp_best(Ranked best) {
    for (int distance = 16; distance > 0; distance /= 2) {
        const Ranked other = {
            __shfl_xor_sync(ALL_LANES, best.score, distance), __shfl_xor_sync(ALL_LANES, best.place, distance)
        };
        if (before(other, best)) best = other;
    }
    return best;
}

// The first of a row's scores after `last` in this order, or of all if `last` is none; returned to all threads of the
// block.
__device__ __forceinline__ Ranked best_after(const Ranked& last, const real* x, long long columns) {
    __shared__ real scores[32];
    __shared__ long long places[32];
    const int lane = threadIdx.x % 32;
    Ranked best = {0, -1};
    for (long long c = threadIdx.x; c < columns; c += blockDim.x) {
        const Ranked here = {x[c], c};
        if ((last.place < 0 || before(last, here)) && before(here, best)) best = here;
    }
    best = warp_best(best);
    __syncthreads();  // slower threads may still read the arrays of the call before
    if (lane == 0) scores[threadIdx.x / 32] = best.score, places[threadIdx.x / 32] = best.place;
    __syncthreads();
    best = {0, -1};
    if (lane < blockDim.x / 32) best = {scores[lane], places[lane]};
    return warp_best(best);
}

// 1 if `score`, in column `place`, ranks at least as high as `other`, in column `there`, else 0; of equal scores the
// first ranks higher. Comparisons with a NaN are false: a NaN has 0 even against itself, so that it is never a hit.
__device__ __forceinline__ int beats(real score, long long place, real other, long long there) {
    return there == place ? score == score : other < score || (other == score && there > place);
}
