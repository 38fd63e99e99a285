// Batch normalisation in pieces; see netpart/kernels/batch_norm.py for what each computes. Moments m, dm: two rows.
#include "activation.cuh"
#include "columns.cuh"

// At least 0; what is not a number stays so.
__device__ inline REAL variance_of(REAL first, REAL second) {
    const REAL found = second - first * first;
    return found < 0 ? REAL(0) : found;
}

// One element of y; whoever asks what a relu did with it must find the same.
__device__ __forceinline__ REAL normalised(REAL x, REAL centre, REAL factor, REAL scale, REAL shift) {
    return fma((x - centre) * factor, scale, shift);
}

// Σ (x - s), Σ (x - s)² of parts.
extern "C" __global__ void moments(const REAL *__restrict__ x, Places at, const REAL *__restrict__ s, Tile tile,
                                   double *partial) {
    auto sums_of = [&](auto even) {
        partial_sums<2, decltype(even)::value>(tile, partial, [&](long long row, long long c, double *sums) {
            const double centred = double(x[place<decltype(even)::value>(at, row, c)]) - double(s[c]);
            sums[0] += centred;
            sums[1] += centred * centred;
        });
    };
    either(sums_of, at);
}

// m: the sums, divided by `count`.
extern "C" __global__ void moments_end(const double *partial, Tile tile, REAL *m, Places at_m,
                                       long long count) {
    total<2>(tile, partial, [&](long long box, long long c, double *sums) {
        for (int n = 0; n < 2; n++) m[place(at_m, n, c)] = count ? sums[n] / double(count) : 0;
    });
}

// y = activation((x - mean) · rstd · w + b). With m: of the statistics that it gives, which are kept; else given ones.
#define NORMALISE(kind)                                                                                                \
    extern "C" __global__ void normalise_##kind(                                                                       \
        const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y, Places at_y, const REAL *m, Places at_m,        \
        const REAL *s, REAL *mean, REAL *variance, const REAL *w, const REAL *b, REAL *rstd, double epsilon, Tile tile) {             \
        normalise<KIND_##kind>(x, at_x, y, at_y, m, at_m, s, mean, variance, w, b, rstd, epsilon, tile);                     \
    }

template <Kind kind>
__device__ __forceinline__ void normalise(const REAL *__restrict__ x, const Places &at_x, REAL *__restrict__ y,
                                          const Places &at_y, const REAL *m, const Places &at_m, const REAL *s,
                                          REAL *mean, REAL *variance, const REAL *w, const REAL *b, REAL *rstd, double epsilon, const Tile &tile) {
    walk(tile, [&](long long box, long long c, long long first, long long stride) {
        if (c >= tile.columns) return;
        const REAL moment = m ? m[place(at_m, 0, c)] : REAL(0), centre = m ? s[c] + moment : mean[c];
        const REAL spread = m ? variance_of(moment, m[place(at_m, 1, c)]) : variance[c];
        const REAL factor = REAL(1) / sqrt(spread + REAL(epsilon)), scale = w ? w[c] : REAL(1), shift = b ? b[c] : REAL(0);
        if (first == 0) {
            if (m) mean[c] = centre, variance[c] = spread;
            rstd[c] = factor;
        }
        auto rows = [&](auto even) {
#pragma unroll (decltype(even)::value ? 4 : 1)
            for (long long row = first; row < tile.rows; row += stride) {
                const REAL value = normalised(x[place<decltype(even)::value>(at_x, row, c)], centre, factor, scale, shift);
                y[place<decltype(even)::value>(at_y, row, c)] = activate<kind>(value, REAL(0));
            }
        };
        either(rows, at_x, at_y);
    });
}

NORMALISE(none)
NORMALISE(relu)
NORMALISE(relu6)
NORMALISE(sigmoid)
NORMALISE(tanh)
NORMALISE(stanh)
NORMALISE(softplus)

// Σ dy, Σ dy · unit of parts; with `relu` dy is the gradient of the relu of y.
extern "C" __global__ void gradient_sums(const REAL *__restrict__ x, Places at_x, const REAL *__restrict__ dy,
                                         Places at_dy, const REAL *__restrict__ mean, const REAL *__restrict__ rstd,
                                         const REAL *w, const REAL *b, int relu, Tile tile, double *partial) {
    auto sums_of = [&](auto even) {
        partial_sums<2, decltype(even)::value>(tile, partial, [&](long long row, long long c, double *sums) {
            const REAL seen = x[place<decltype(even)::value>(at_x, row, c)];
            double g = dy[place<decltype(even)::value>(at_dy, row, c)];
            if (relu && !(normalised(seen, mean[c], rstd[c], w ? w[c] : REAL(1), b ? b[c] : REAL(0)) > 0)) g = 0;
            sums[0] += g;
            sums[1] += g * (double(seen - mean[c]) * double(rstd[c]));
        });
    };
    either(sums_of, at_x, at_dy);
}

// dw, db and dm, each where wanted; of no rows they are 0, whatever the statistics are.
extern "C" __global__ void gradient_end(const double *partial, Tile tile, long long rows, const REAL *m, Places at_m,
                                        const REAL *variance, const REAL *rstd, const REAL *w, REAL *dm,
                                        Places at_dm, REAL *dw, REAL *db) {
    total<2>(tile, partial, [&](long long box, long long c, double *sums) {
        if (db) db[c] = sums[0];
        if (dw) dw[c] = sums[1];
        if (!dm) return;
        const double slope = rows ? double(rstd[c]) * (w ? double(w[c]) : 1.0) : 0.0, narrow = rows ? double(rstd[c]) : 0.0;
        const double second = rows && variance[c] > 0 ? slope * narrow * sums[1] : 0.0;
        dm[place(at_dm, 0, c)] = rows ? double(m[place(at_m, 0, c)]) * second - slope * sums[0] : 0.0;
        dm[place(at_dm, 1, c)] = -0.5 * second;
    });
}

// dx = what x gets through its moments (with dm) plus what it gets beside them (with dy), or that added to it.
extern "C" __global__ void gradient(const REAL *__restrict__ x, Places at_x, const REAL *__restrict__ dy, Places at_dy,
                                    REAL *__restrict__ dx, Places at_dx, const REAL *s, const REAL *dm, Places at_dm,
                                    const REAL *rstd, const REAL *w, const REAL *mean, const REAL *b, int relu,
                                    long long count, int add, Tile tile) {
    walk(tile, [&](long long box, long long c, long long first, long long stride) {
        if (c >= tile.columns) return;
        const REAL slope = dy ? (w ? w[c] : REAL(1)) * rstd[c] : REAL(0), centre = dm ? s[c] : REAL(0);
        const REAL constant = dm ? dm[place(at_dm, 0, c)] / REAL(count) : REAL(0);
        const REAL linear = dm ? 2 * dm[place(at_dm, 1, c)] / REAL(count) : REAL(0);
        const REAL middle = relu ? mean[c] : REAL(0), factor = relu ? rstd[c] : REAL(0);
        const REAL scale = w ? w[c] : REAL(1), shift = b ? b[c] : REAL(0);
        auto rows = [&](auto even) {
#pragma unroll (decltype(even)::value ? 4 : 1)
            for (long long row = first; row < tile.rows; row += stride) {
                const long long at = place<decltype(even)::value>(at_dx, row, c);
                REAL value = add ? dx[at] : REAL(0);
                const REAL seen = dm ? x[place<decltype(even)::value>(at_x, row, c)] : REAL(0);
                if (dm) value += constant + (seen - centre) * linear;
                const bool passed = !relu || normalised(seen, middle, factor, scale, shift) > 0;
                if (dy && passed) value += dy[place<decltype(even)::value>(at_dy, row, c)] * slope;
                dx[at] = value;
            }
        };
        either(rows, at_x, at_dy, at_dx);
    });
}

// dy = 0 where y is not above 0.
extern "C" __global__ void relu(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ dy, Places at_dy,
                                const REAL *mean, const REAL *rstd, const REAL *w, const REAL *b, Tile tile) {
    walk(tile, [&](long long box, long long c, long long first, long long stride) {
        if (c >= tile.columns) return;
        for (long long row = first; row < tile.rows; row += stride)
            if (!(normalised(x[place(at_x, row, c)], mean[c], rstd[c], w ? w[c] : REAL(1), b ? b[c] : REAL(0)) > 0))
                dy[place(at_dy, row, c)] = 0;
    });
}

// What a batch adds to running statistics.
extern "C" __global__ void share(const REAL *m, Places at_m, double factor, REAL *dmean, REAL *dvariance, long long columns) {
    for (long long c = first(); c < columns; c += step()) {
        if (dmean) dmean[c] = m[place(at_m, 0, c)] * REAL(factor);
        if (dvariance) dvariance[c] = m[place(at_m, 1, c)] * REAL(factor);
    }
}

// mean = s + m0, variance = m1 - m0², at least 0.
extern "C" __global__ void statistics(const REAL *m, Places at_m, const REAL *s, REAL *mean, REAL *variance, long long columns) {
    for (long long c = first(); c < columns; c += step()) {
        const REAL moment = m[place(at_m, 0, c)];
        mean[c] = s[c] + moment;
        variance[c] = variance_of(moment, m[place(at_m, 1, c)]);
    }
}
