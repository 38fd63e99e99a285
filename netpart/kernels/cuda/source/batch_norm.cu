// Batch normalisation in pieces; see netpart/kernels/batch_norm.py for what each computes.
#include "columns.cuh"

enum Activation { NONE, RELU, RELU6, SIGMOID, TANH, STANH, SOFTPLUS };

__device__ inline REAL activated(int kind, REAL x) {
    switch (kind) {
        case RELU: return x < 0 ? REAL(0) : x;
        case RELU6: return x < 0 ? REAL(0) : x > 6 ? REAL(6) : x;
        case SIGMOID: return REAL(1) / (REAL(1) + exp(-x));
        case TANH: return tanh(x);
        case STANH: return REAL(1.7159047) * tanh(REAL(0.66666667) * x);
        case SOFTPLUS: return (x > 0 ? x : REAL(0)) + log1p(exp(-abs(x)));
        default: return x;
    }
}

// At least 0; what is not a number stays so.
__device__ inline REAL variance_of(REAL first, REAL second) {
    const REAL found = second - first * first;
    return found < 0 ? REAL(0) : found;
}

// Σ (x - s), Σ (x - s)² of parts.
extern "C" __global__ void moments(const REAL *__restrict__ x, Places at, const REAL *__restrict__ s, Tile tile,
                                   double *partial) {
    partial_sums<2>(tile, partial, [&](long long row, long long c, double *sums) {
        const double centred = double(x[place(at, row, c)]) - double(s[c]);
        sums[0] += centred;
        sums[1] += centred * centred;
    });
}

// m (C, 2): the sums, divided by `count`.
extern "C" __global__ void moments_end(const double *partial, Tile tile, REAL *m, long long count) {
    total<2>(tile, partial, [&](long long box, long long c, double *sums) {
        for (int n = 0; n < 2; n++) m[2 * c + n] = count ? sums[n] / double(count) : 0;
    });
}

// y = activation((x - mean) · rstd · w + b). With m: of the statistics that it gives, which are kept; else given ones.
extern "C" __global__ void normalise(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y, Places at_y,
                                     const REAL *m, const REAL *s, REAL *mean, REAL *variance, const REAL *w,
                                     const REAL *b, REAL *rstd, double epsilon, long long kind, Tile tile) {
    walk(tile, [&](long long box, long long c, long long first, long long stride) {
        if (c >= tile.columns) return;
        const REAL centre = m ? s[c] + m[2 * c] : mean[c];
        const REAL spread = m ? variance_of(m[2 * c], m[2 * c + 1]) : variance[c];
        const REAL factor = REAL(1) / sqrt(spread + REAL(epsilon)), scale = w ? w[c] : REAL(1), shift = b ? b[c] : REAL(0);
        if (first == 0) {
            if (m) mean[c] = centre, variance[c] = spread;
            rstd[c] = factor;
        }
#pragma unroll 4
        for (long long row = first; row < tile.rows; row += stride) {
            const REAL value = (x[place(at_x, row, c)] - centre) * factor * scale + shift;
            y[place(at_y, row, c)] = activated(int(kind), value);
        }
    });
}

// Σ dy, Σ dy · unit of parts.
extern "C" __global__ void gradient_sums(const REAL *__restrict__ x, Places at_x, const REAL *__restrict__ dy,
                                         Places at_dy, const REAL *__restrict__ mean, const REAL *__restrict__ rstd,
                                         Tile tile, double *partial) {
    partial_sums<2>(tile, partial, [&](long long row, long long c, double *sums) {
        const double g = dy[place(at_dy, row, c)];
        sums[0] += g;
        sums[1] += g * (double(x[place(at_x, row, c)] - mean[c]) * double(rstd[c]));
    });
}

// dw, db and dm (C, 2), each where wanted; of no rows they are 0, whatever the statistics are.
extern "C" __global__ void gradient_end(const double *partial, Tile tile, long long rows, const REAL *m,
                                        const REAL *variance, const REAL *rstd, const REAL *w, REAL *dm, REAL *dw,
                                        REAL *db) {
    total<2>(tile, partial, [&](long long box, long long c, double *sums) {
        if (db) db[c] = sums[0];
        if (dw) dw[c] = sums[1];
        if (!dm) return;
        const double slope = rows ? double(rstd[c]) * (w ? double(w[c]) : 1.0) : 0.0, narrow = rows ? double(rstd[c]) : 0.0;
        const double second = rows && variance[c] > 0 ? slope * narrow * sums[1] : 0.0;
        dm[2 * c] = rows ? double(m[2 * c]) * second - slope * sums[0] : 0.0;
        dm[2 * c + 1] = -0.5 * second;
    });
}

// dx = what x gets through its moments (with dm) plus what it gets beside them (with dy), or that added to it.
extern "C" __global__ void gradient(const REAL *__restrict__ x, Places at_x, const REAL *__restrict__ dy, Places at_dy,
                                    REAL *__restrict__ dx, Places at_dx, const REAL *s, const REAL *dm, const REAL *rstd,
                                    const REAL *w, long long count, int add, Tile tile) {
    walk(tile, [&](long long box, long long c, long long first, long long stride) {
        if (c >= tile.columns) return;
        const REAL slope = dy ? (w ? w[c] : REAL(1)) * rstd[c] : REAL(0), centre = dm ? s[c] : REAL(0);
        const REAL constant = dm ? dm[2 * c] / REAL(count) : REAL(0), linear = dm ? 2 * dm[2 * c + 1] / REAL(count) : REAL(0);
#pragma unroll 4
        for (long long row = first; row < tile.rows; row += stride) {
            const long long at = place(at_dx, row, c);
            REAL value = add ? dx[at] : REAL(0);
            if (dm) value += constant + (x[place(at_x, row, c)] - centre) * linear;
            if (dy) value += dy[place(at_dy, row, c)] * slope;
            dx[at] = value;
        }
    });
}

// What a batch adds to running statistics.
extern "C" __global__ void share(const REAL *m, double factor, REAL *dmean, REAL *dvariance, long long columns) {
    for (long long c = first(); c < columns; c += step()) {
        if (dmean) dmean[c] = m[2 * c] * REAL(factor);
        if (dvariance) dvariance[c] = m[2 * c + 1] * REAL(factor);
    }
}

// mean = s + m0, variance = m1 - m0², at least 0.
extern "C" __global__ void statistics(const REAL *m, const REAL *s, REAL *mean, REAL *variance, long long columns) {
    for (long long c = first(); c < columns; c += step()) {
        mean[c] = s[c] + m[2 * c];
        variance[c] = variance_of(m[2 * c], m[2 * c + 1]);
    }
}
