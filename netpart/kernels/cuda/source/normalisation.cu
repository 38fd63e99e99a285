// Normalisation of blocks of neighbouring elements; a thread block does one block after the other.
#include "columns.cuh"
#include "reduce.cuh"
#include "each.cuh"

// The layout of scale and shift: element i has number i / inner % period.
struct Spread {
    long long inner, period;
};

__device__ inline long long number(const Spread &spread, long long block, long long i, long long n) {
    if (spread.inner == 1 && spread.period == n) return i;
    long long at = block * n + i;
    split(at, spread.inner);
    return split(at, spread.period);
}

extern "C" __global__ void normalise(const REAL *__restrict__ x, const REAL *__restrict__ w, const REAL *__restrict__ b,
                                     REAL *__restrict__ y, REAL *__restrict__ unit, REAL *__restrict__ rstd,
                                     double epsilon, int centred, long long blocks, long long n, Spread spread) {
    for (long long block = blockIdx.x; block < blocks; block += gridDim.x) {
        const REAL *x_n = x + block * n;
        double mean = 0, square = 0;
        if (centred) {
            for (long long i = threadIdx.x; i < n; i += blockDim.x) mean += x_n[i];
            mean = block_sum(mean) / n;
        }
        for (long long i = threadIdx.x; i < n; i += blockDim.x) square += (x_n[i] - mean) * (x_n[i] - mean);
        const double factor = 1 / sqrt(block_sum(square) / n + epsilon);
        if (threadIdx.x == 0) rstd[block] = factor;
        for (long long i = threadIdx.x; i < n; i += blockDim.x) {
            const REAL value = (x_n[i] - mean) * factor;
            unit[block * n + i] = value;
            if (!y) continue;
            const long long at = w || b ? number(spread, block, i, n) : 0;
            y[block * n + i] = (w ? value * w[at] : value) + (b ? b[at] : REAL(0));
        }
    }
}

#define GRADIENT(restrict)                                                                                              \
    const REAL *restrict unit, const REAL *restrict rstd, const REAL *restrict w, const REAL *restrict dy,             \
        REAL *restrict dx, int centred, int add, long long blocks, long long n, Spread spread

__device__ inline void rows_gradient(GRADIENT()) {
    for (long long block = blockIdx.x; block < blocks; block += gridDim.x) {
        const REAL *unit_n = unit + block * n, *dy_n = dy + block * n;
        auto upper = [&](long long i) { return w ? dy_n[i] * w[number(spread, block, i, n)] : dy_n[i]; };
        double mean = 0, product = 0;
        for (long long i = threadIdx.x; i < n; i += blockDim.x) {
            const double g = upper(i);
            mean += g, product += g * unit_n[i];
        }
        mean = centred ? block_sum(mean) / n : 0, product = block_sum(product) / n;
        for (long long i = threadIdx.x; i < n; i += blockDim.x) {
            const REAL slope = double(rstd[block]) * (upper(i) - unit_n[i] * product - mean);
            dx[block * n + i] = add ? dx[block * n + i] + slope : slope;
        }
    }
}

extern "C" __global__ void normalise_gradient(GRADIENT(__restrict__)) {
    rows_gradient(unit, rstd, w, dy, dx, centred, add, blocks, n, spread);
}

// The same without __restrict__, as dx may be dy.
extern "C" __global__ void normalise_gradient_in_place(GRADIENT()) {
    rows_gradient(unit, rstd, w, dy, dx, centred, add, blocks, n, spread);
}

// Σ dy and Σ dy · unit for each column of matrices (rows, columns).
extern "C" __global__ void column_products(const REAL *__restrict__ unit, const REAL *__restrict__ dy, Tile tile,
                                           double *partial) {
    const Places at = {1, {1, 1, 1, 1}, {tile.columns}, 1};
    auto sums_of = [&](auto how) {
        using H = decltype(how);
        REAL unit_k[2][H::columns], dy_k[2][H::columns];
        auto read = [&](long long row, long long column, int r) {
            get<H>(matrix(unit, at), row, column, unit_k[r]), get<H>(matrix(dy, at), row, column, dy_k[r]);
        };
        auto add = [&](long long column, int r, double *sums) {
#pragma unroll
            for (int k = 0; k < H::columns; k++) {
                const double g = dy_k[r][k];
                sums[k] += g, sums[H::columns + k] += g * unit_k[r][k];
            }
        };
        partial_sums<2, 2, H>(tile, partial, read, add);
    };
    one_way(tile.few, sums_of, matrix(unit, at), matrix(dy, at));
}

extern "C" __global__ void products_end(const double *partial, Tile tile, REAL *dw, REAL *db) {
    total<2>(tile, partial, [&](long long box, long long column, double *sums) {
        if (db) db[column] = sums[0];
        if (dw) dw[column] = sums[1];
    });
}

// y = unit · w + b, with all views broadcast to one shape.
extern "C" __global__ void scale_shift(View y, View unit, View w, View b, int scaled, int shifted, long long size) {
    auto scale = [=](REAL &y, REAL unit, REAL w, REAL b) {
        y = scaled ? unit * w : unit;
        if (shifted) y += b;
    };
    each(size, scale, out(y), in(unit), in(w), in(b));
}

// d = Σ dy · unit, or Σ dy unless `times_unit`: a block for each element of d, which sums over the other axes.
extern "C" __global__ void product_sums(View d, View unit, View dy, View unit_rest, View dy_rest, int times_unit,
                                        long long kept, long long rest) {
    for (long long k = blockIdx.x; k < kept; k += gridDim.x) {
        const REAL *unit_k = &at(unit, k), *dy_k = &at(dy, k);
        double sum = 0;
        for (long long i = threadIdx.x; i < rest; i += blockDim.x) {
            const double g = dy_k[&at(dy_rest, i) - dy_rest.data];
            sum += times_unit ? g * unit_k[&at(unit_rest, i) - unit_rest.data] : g;
        }
        sum = block_sum(sum);
        if (threadIdx.x == 0) at(d, k) = sum;
    }
}
