// Batch normalisation in pieces; the formulas are in netpart/kernels/moments.py and batch_norm.py. Moments m and dm are
// passed as matrices of two rows.
#include "activation.cuh"
#include "columns.cuh"

// The variance, at least 0: rounding may make it negative. A NaN stays NaN, which max would hide.
__device__ inline REAL variance_of(REAL first, REAL second) {
    const REAL found = second - first * first;
    return found < 0 ? REAL(0) : found;
}

// Σ (x - s) and Σ (x - s)² of parts.
extern "C" __global__ void moments(const REAL *__restrict__ x, Places at, const REAL *__restrict__ s, Tile tile,
                                   double *partial) {
    auto sums_of = [&](auto how) {
        using H = decltype(how);
        REAL held[4][H::columns];
        auto read = [&](long long row, long long c, int r) { get<H>(matrix(x, at), row, c, held[r]); };
        auto add = [&](long long c, int r, double *sums) {
#pragma unroll
            for (int k = 0; k < H::columns; k++) {
                const double centred = double(held[r][k]) - double(s[c + k]);
                sums[k] += centred;
                sums[H::columns + k] += centred * centred;
            }
        };
        partial_sums<2, 4, H>(tile, partial, read, add);
    };
    one_way(tile.few, sums_of, matrix(x, at));
}

// m = the sums divided by `count`.
extern "C" __global__ void moments_end(const double *partial, Tile tile, REAL *m, Places at_m,
                                       long long count) {
    total<2>(tile, partial, [&](long long box, long long c, double *sums) {
        for (int n = 0; n < 2; n++) m[place<true>(at_m, n, c)] = count ? sums[n] / double(count) : 0;
    });
}

// y = activation((x - mean) · rstd · w + b). With m, mean and variance are computed from it and written; else they are
// given.
#define NORMALISE(kind)                                                                                                \
    extern "C" __global__ void normalise_##kind(                                                                       \
        const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y, Places at_y, const REAL *m, Places at_m,        \
        const REAL *s, REAL *mean, REAL *variance, const REAL *w, const REAL *b, REAL *rstd, double epsilon, Tile tile) {             \
        normalise<KIND_##kind>(x, at_x, y, at_y, m, at_m, s, mean, variance, w, b, rstd, epsilon, tile);                     \
    }

// The affine map of a column: (x - centre) · factor · scale + shift.
struct Affine {
    REAL centre, factor, scale, shift;

    // The gradient of a relu recomputes this value and has to find the same sign: fma rounds once, independent of the
    // contractions that the compiler chooses in each kernel.
    __device__ __forceinline__ REAL of(REAL x) const { return fma((x - centre) * factor, scale, shift); }
};

template <Kind kind>
__device__ __forceinline__ void normalise(const REAL *__restrict__ x, const Places &at_x, REAL *__restrict__ y,
                                          const Places &at_y, const REAL *m, const Places &at_m, const REAL *s,
                                          REAL *mean, REAL *variance, const REAL *w, const REAL *b, REAL *rstd, double epsilon, const Tile &tile) {
    auto column = [&](long long c, bool tell) {
        const REAL moment = m ? m[place<true>(at_m, 0, c)] : REAL(0), centre = m ? s[c] + moment : mean[c];
        const REAL spread = m ? variance_of(moment, m[place<true>(at_m, 1, c)]) : variance[c];
        const REAL factor = REAL(1) / sqrt(spread + REAL(epsilon));
        if (tell && m) mean[c] = centre, variance[c] = spread;
        if (tell) rstd[c] = factor;
        return Affine{centre, factor, w ? w[c] : REAL(1), b ? b[c] : REAL(0)};
    };
    auto all = [&](auto how) {
        using H = decltype(how);
        walk<H::columns>(tile, [&](long long box, long long c, long long first, long long stride) {
            if (c >= tile.columns) return;
            Affine a[H::columns];
#pragma unroll
            for (int k = 0; k < H::columns; k++) a[k] = column(c + k, first == 0);
            REAL held[4][H::columns];
            auto read = [&](long long row, int r) { get<H>(matrix(x, at_x), row, c, held[r]); };
            auto write = [&](long long row, int r) {
#pragma unroll
                for (int k = 0; k < H::columns; k++) {
                    const REAL value = a[k].of(held[r][k]);
                    held[r][k] = activate<kind>(value, REAL(0));
                }
                put<H>(matrix(y, at_y), row, c, held[r]);
            };
            rows<4>(first, stride, tile.rows, read, write);
        });
    };
    each_way(tile.few, all, matrix(x, at_x), matrix(y, at_y));
}

NORMALISE(none)
OVERWRITING_KIND(NORMALISE)

// Σ dy and Σ dy · unit of parts; with `relu`, dy is the gradient of the relu of y.
extern "C" __global__ void gradient_sums(const REAL *__restrict__ x, Places at_x, const REAL *__restrict__ dy,
                                         Places at_dy, const REAL *__restrict__ mean, const REAL *__restrict__ rstd,
                                         const REAL *w, const REAL *b, int relu, Tile tile, double *partial) {
    auto sums_of = [&](auto how) {
        using H = decltype(how);
        REAL x_k[2][H::columns], dy_k[2][H::columns];
        auto read = [&](long long row, long long c, int r) {
            get<H>(matrix(x, at_x), row, c, x_k[r]), get<H>(matrix(dy, at_dy), row, c, dy_k[r]);
        };
        auto add = [&](long long c, int r, double *sums) {
#pragma unroll
            for (int k = 0; k < H::columns; k++) {
                const Affine made = {mean[c + k], rstd[c + k], w ? w[c + k] : REAL(1), b ? b[c + k] : REAL(0)};
                const double g = !relu || made.of(x_k[r][k]) > 0 ? dy_k[r][k] : REAL(0);
                sums[k] += g;
                sums[H::columns + k] += g * (double(x_k[r][k] - made.centre) * double(made.factor));
            }
        };
        partial_sums<2, 2, H>(tile, partial, read, add);
    };
    one_way(tile.few, sums_of, matrix(x, at_x), matrix(dy, at_dy));
}

// dw, db and dm, unless they are null; without rows they are 0 for any statistics, which may be NaN.
extern "C" __global__ void gradient_end(const double *partial, Tile tile, long long rows, const REAL *m, Places at_m,
                                        const REAL *variance, const REAL *rstd, const REAL *w, REAL *dm,
                                        Places at_dm, REAL *dw, REAL *db) {
    total<2>(tile, partial, [&](long long box, long long c, double *sums) {
        if (db) db[c] = sums[0];
        if (dw) dw[c] = sums[1];
        if (!dm) return;
        const double slope = rows ? double(rstd[c]) * (w ? double(w[c]) : 1.0) : 0.0, narrow = rows ? double(rstd[c]) : 0.0;
        const double second = rows && variance[c] > 0 ? slope * narrow * sums[1] : 0.0;
        dm[place<true>(at_dm, 0, c)] = rows ? double(m[place<true>(at_m, 0, c)]) * second - slope * sums[0] : 0.0;
        dm[place<true>(at_dm, 1, c)] = -0.5 * second;
    });
}

// dx = the gradient of x through its moments (if dm is given) plus the one that bypasses them (if dy is given); with
// `add`, dx += that.
extern "C" __global__ void gradient(const REAL *__restrict__ x, Places at_x, const REAL *__restrict__ dy, Places at_dy,
                                    REAL *__restrict__ dx, Places at_dx, const REAL *s, const REAL *dm, Places at_dm,
                                    const REAL *rstd, const REAL *w, const REAL *mean, const REAL *b, int relu,
                                    long long count, int add, Tile tile) {
    auto column = [&](long long c) {
        const REAL slope = dy ? (w ? w[c] : REAL(1)) * rstd[c] : REAL(0), centre = dm ? s[c] : REAL(0);
        const REAL constant = dm ? dm[place<true>(at_dm, 0, c)] / REAL(count) : REAL(0);
        const REAL linear = dm ? 2 * dm[place<true>(at_dm, 1, c)] / REAL(count) : REAL(0);
        return Affine{centre, linear, slope, constant};
    };
    auto forward = [&](long long c) {
        return Affine{relu ? mean[c] : REAL(0), relu ? rstd[c] : REAL(0), w ? w[c] : REAL(1), b ? b[c] : REAL(0)};
    };
    auto all = [&](auto how) {
        using H = decltype(how);
        walk<H::columns>(tile, [&](long long box, long long c, long long first, long long stride) {
            if (c >= tile.columns) return;
            Affine a[H::columns], made[H::columns];
#pragma unroll
            for (int k = 0; k < H::columns; k++) a[k] = column(c + k), made[k] = forward(c + k);
            REAL held[2][H::columns], x_k[2][H::columns], dy_k[2][H::columns];
            auto read = [&](long long row, int r) {
                if (add) get<H>(matrix(dx, at_dx), row, c, held[r]);
                if (dm || relu) get<H>(matrix(x, at_x), row, c, x_k[r]);
                if (dy) get<H>(matrix(dy, at_dy), row, c, dy_k[r]);
            };
            auto write = [&](long long row, int r) {
#pragma unroll
                for (int k = 0; k < H::columns; k++) {
                    REAL value = add ? held[r][k] : REAL(0);
                    if (dm) value += a[k].shift + (x_k[r][k] - a[k].centre) * a[k].factor;
                    if (dy && (!relu || made[k].of(x_k[r][k]) > 0)) value += dy_k[r][k] * a[k].scale;
                    held[r][k] = value;
                }
                put<H>(matrix(dx, at_dx), row, c, held[r]);
            };
            rows<2>(first, stride, tile.rows, read, write);
        });
    };
    each_way(tile.few, all, matrix(x, at_x), matrix(dy, at_dy), matrix(dx, at_dx));
}

// dy = 0 where y is not above 0, in place.
extern "C" __global__ void relu(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ dy, Places at_dy,
                                const REAL *mean, const REAL *rstd, const REAL *w, const REAL *b, Tile tile) {
    walk(tile, [&](long long box, long long c, long long first, long long stride) {
        if (c >= tile.columns) return;
        for (long long row = first; row < tile.rows; row += stride)
            if (!(Affine{mean[c], rstd[c], w ? w[c] : REAL(1), b ? b[c] : REAL(0)}.of(x[place(at_x, row, c)]) > 0))
                dy[place(at_dy, row, c)] = 0;
    });
}

// The share of a batch in the changes of the running statistics.
extern "C" __global__ void share(const REAL *m, Places at_m, double factor, REAL *dmean, REAL *dvariance, long long columns) {
    for (long long c = first(); c < columns; c += step()) {
        if (dmean) dmean[c] = m[place<true>(at_m, 0, c)] * REAL(factor);
        if (dvariance) dvariance[c] = m[place<true>(at_m, 1, c)] * REAL(factor);
    }
}

// mean = s + m0, variance = m1 - m0², at least 0.
extern "C" __global__ void statistics(const REAL *m, Places at_m, const REAL *s, REAL *mean, REAL *variance, long long columns) {
    for (long long c = first(); c < columns; c += step()) {
        const REAL moment = m[place<true>(at_m, 0, c)];
        mean[c] = s[c] + moment;
        variance[c] = variance_of(moment, m[place<true>(at_m, 1, c)]);
    }
}
