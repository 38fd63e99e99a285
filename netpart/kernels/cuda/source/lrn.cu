// Local response normalisation across channels. Channel j of y, scale and dy is channel j + ahead of x and dx.
//
//     scale = knorm + share · Σ x² over the window        y = x · scale^-beta
//
// Narrow windows are in registers: a thread makes FEW neighbouring channels of a place from all channels that these
// depend on. Backward makes scale again from x, which takes less time than to read it. Wide windows are read element
// by element, and scale is kept. Channels beyond the ends count as 0, which changes no sum: the bits are the same in
// any memory order.
#include "places.cuh"

#ifndef HALF
#define HALF 2   // the channels of a narrow window on each side of its middle
#define POWER 3  // 4 · beta if that is 2, 3 or 4, else 0
#endif
#define WARP 32

struct Constants {
    REAL share, beta, knorm;
};

// s^-beta; a root of a root is far faster than pow, and as exact.
__device__ __forceinline__ REAL power(REAL s, REAL beta) {
    if constexpr (POWER == 2) {
        return rsqrt(s);
    } else if constexpr (POWER == 3) {
        const REAL root = rsqrt(s);
        return root * sqrt(root);
    } else if constexpr (POWER == 4) {
        return REAL(1) / s;
    } else {
        return pow(s, -beta);
    }
}

// value / s
__device__ __forceinline__ REAL quotient(REAL value, REAL s) {
    if constexpr (POWER == 2 || POWER == 3) {
        const REAL root = rsqrt(s);
        return value * root * root;
    } else {
        return value / s;
    }
}

// Channels first - REACH to first + FEW + REACH of a row. With RUNS `first` and `channels` are multiples of FEW.
template <bool RUNS, int REACH> struct Neighbours {
    static constexpr int MARGIN = RUNS ? (REACH + FEW - 1) / FEW * FEW : REACH, N = RUNS ? FEW : 1;
    REAL held[MARGIN + FEW + MARGIN];

    __device__ __forceinline__ Neighbours(const Matrix<const REAL> &m, long long row, long long first, long long channels) {
        const REAL *from = m.data + place<RUNS>(m.at, row, first);
#pragma unroll
        for (int k = -MARGIN; k < FEW + MARGIN; k += N) {
            if (0 <= first + k && first + k < channels) {
                load<REAL, N>(from + k * (RUNS ? 1 : m.at.step), held + MARGIN + k);
            } else {
#pragma unroll
                for (int n = 0; n < N; n++) held[MARGIN + k + n] = 0;
            }
        }
    }
    __device__ __forceinline__ REAL operator[](int k) const { return held[MARGIN + k]; }
};

// The scale of channel k. The squares are summed anew for each channel: a running sum would lose digits.
template <class Seen> __device__ __forceinline__ REAL scale_of(const Seen &x, int k, const Constants &given) {
    REAL sum = 0;
#pragma unroll
    for (int j = k - HALF; j <= k + HALF; j++) sum = fma(x[j], x[j], sum);
    return fma(sum, given.share, given.knorm);
}

template <bool RUNS>
__device__ __forceinline__ void put_few(const Matrix<REAL> &m, long long row, long long first, long long channels, const REAL *made) {
    REAL *to = m.data + place<RUNS>(m.at, row, first);
    if constexpr (RUNS) {
        store<REAL, FEW>(to, made);
    } else {
#pragma unroll
        for (int k = 0; k < FEW; k++)
            if (first + k < channels) to[k * m.at.step] = made[k];
    }
}

// Calls body(row, channel) for FEW channels at a time. Neighbouring threads have neighbouring channels if these are
// neighbours in memory, else neighbouring rows. There are fewer than 2³² calls: lrn.py checks it.
template <class Body>
__device__ __forceinline__ void each_few(const Places &at, long long rows, long long channels, Body body) {
    const unsigned span = at.step == 1 ? 1 : WARP, chunks = (unsigned(channels) + FEW - 1) / FEW;
    const long long size = (long long)((unsigned(rows) + span - 1) / span) * span * chunks;
#pragma unroll 1
    for (long long i = first(); i < size; i += step()) {
        const unsigned line = unsigned(i) / span, box = line / chunks, row = box * span + (unsigned(i) - line * span);
        if (row < rows) body((long long)row, (long long)(line - box * chunks) * FEW);
    }
}

extern "C" __global__ void lrn(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y, Places at_y,
                               long long inputs, long long outputs, long long ahead, long long rows, double share,
                               double beta, double knorm) {
    const Constants given = {REAL(share), REAL(beta), REAL(knorm)};
    auto all = [&](auto how) {
        constexpr bool RUNS = decltype(how)::runs;
        each_few(at_y, rows, outputs, [&](long long row, long long channel) {
            const Neighbours<RUNS, HALF> seen(matrix(x, at_x), row, channel + ahead, inputs);
            REAL made[FEW];
#pragma unroll
            for (int k = 0; k < FEW; k++) made[k] = seen[k] * power(scale_of(seen, k, given), given.beta);
            put_few<RUNS>(matrix(y, at_y), row, channel, outputs, made);
        });
    };
    each_way((inputs | outputs | ahead) % FEW ? 1 : FEW, all, matrix(x, at_x), matrix(y, at_y));
}

// `factor` is -2 · alpha · beta / local_size.
extern "C" __global__ void lrn_gradient(const REAL *__restrict__ x, Places at_x, const REAL *__restrict__ dy,
                                        Places at_dy, REAL *__restrict__ dx, Places at_dx, long long inputs,
                                        long long outputs, long long ahead, long long rows, double share, double beta,
                                        double knorm, double factor) {
    const Constants given = {REAL(share), REAL(beta), REAL(knorm)};
    auto all = [&](auto how) {
        constexpr bool RUNS = decltype(how)::runs;
        each_few(at_dx, rows, inputs, [&](long long row, long long channel) {
            const long long middle = channel - ahead;
            const Neighbours<RUNS, 2 * HALF> seen(matrix(x, at_x), row, channel, inputs);
            const Neighbours<RUNS, HALF> upper(matrix(dy, at_dy), row, middle, outputs);
            REAL made[FEW], ratio[HALF + FEW + HALF];
#pragma unroll
            for (int k = -HALF; k < FEW + HALF; k++) {
                const bool inside = 0 <= middle + k && middle + k < outputs;
                const REAL scale = scale_of(seen, k, given), shrunk = power(scale, given.beta);
                ratio[HALF + k] = inside ? quotient(upper[k] * (seen[k] * shrunk), scale) : REAL(0);
                if (0 <= k && k < FEW) made[k] = inside ? shrunk * upper[k] : REAL(0);
            }
#pragma unroll
            for (int k = 0; k < FEW; k++) {
                REAL sum = 0;
#pragma unroll
                for (int j = 0; j <= 2 * HALF; j++) sum += ratio[k + j];
                made[k] = fma(sum * seen[k], REAL(factor), made[k]);
            }
            put_few<RUNS>(matrix(dx, at_dx), row, channel, inputs, made);
        });
    };
    each_way((inputs | outputs | ahead) % FEW ? 1 : FEW, all, matrix(x, at_x), matrix(dy, at_dy), matrix(dx, at_dx));
}

extern "C" __global__ void wide_lrn(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y, Places at_y,
                                    REAL *__restrict__ scale, Places at_scale, long long inputs, long long outputs,
                                    long long ahead, long long half, double share, double beta, double knorm,
                                    long long size) {
    for (long long i = first(); i < size; i += step()) {
        long long row = i;
        const long long c = split(row, outputs), middle = c + ahead;
        REAL sum = 0;
        for (long long j = max(0LL, middle - half); j <= min(inputs - 1, middle + half); j++) {
            const REAL value = x[place(at_x, row, j)];
            sum += value * value;
        }
        sum = sum * REAL(share) + REAL(knorm);
        scale[place(at_scale, row, c)] = sum;
        y[place(at_y, row, c)] = power(sum, REAL(beta)) * x[place(at_x, row, middle)];
    }
}

// `factor` as above.
extern "C" __global__ void wide_lrn_gradient(const REAL *__restrict__ x, Places at_x, const REAL *__restrict__ y,
                                             Places at_y, const REAL *__restrict__ scale, Places at_scale,
                                             const REAL *__restrict__ dy, Places at_dy, REAL *__restrict__ dx,
                                             Places at_dx, long long inputs, long long outputs, long long ahead,
                                             long long half, double beta, double factor, long long size) {
    for (long long i = first(); i < size; i += step()) {
        long long row = i;
        const long long channel = split(row, inputs), middle = channel - ahead;
        REAL sum = 0;
        for (long long j = max(0LL, middle - half); j <= min(outputs - 1, middle + half); j++)
            sum += quotient(dy[place(at_dy, row, j)] * y[place(at_y, row, j)], scale[place(at_scale, row, j)]);
        REAL value = sum * x[place(at_x, row, channel)] * REAL(factor);
        if (0 <= middle && middle < outputs)
            value += power(scale[place(at_scale, row, middle)], REAL(beta)) * dy[place(at_dy, row, middle)];
        dx[place(at_dx, row, channel)] = value;
    }
}
