// Normalisation of blocks of neighbouring elements, one by one or several by one thread block.
#include "columns.cuh"
#include "view.cuh"

// How scale and shift lie: element i has the one of number i / inner % period.
struct Spread {
    long long inner, period;
};

__device__ inline long long number(const Spread &spread, long long block, long long i, long long n) {
    if (spread.inner == 1 && spread.period == n) return i;
    long long at = block * n + i;
    split(at, spread.inner);
    return split(at, spread.period);
}

// The sum of `value` over the threads of a block of whole warps, the same in all of them.
__device__ inline double block_sum(double value) {
    __shared__ double sums[32];
    for (int other = 16; other; other /= 2) value += __shfl_xor_sync(0xffffffffu, value, other);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int warp = 0; warp < int(blockDim.x) / 32; warp++) value += sums[warp];
    __syncthreads();
    return value;
}

extern "C" __global__ void normalise(const REAL *__restrict__ x, const REAL *__restrict__ w, const REAL *__restrict__ b,
                                     REAL *__restrict__ y, REAL *__restrict__ unit, REAL *__restrict__ rstd,
                                     long long blocks, long long n, Spread spread, double epsilon, int centred) {
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

extern "C" __global__ void normalise_gradient(const REAL *__restrict__ unit, const REAL *__restrict__ rstd,
                                              const REAL *__restrict__ w, const REAL *__restrict__ dy,
                                              REAL *__restrict__ dx, long long blocks, long long n, Spread spread,
                                              int centred) {
    for (long long block = blockIdx.x; block < blocks; block += gridDim.x) {
        const REAL *unit_n = unit + block * n, *dy_n = dy + block * n;
        auto upper = [&](long long i) { return w ? dy_n[i] * w[number(spread, block, i, n)] : dy_n[i]; };
        double mean = 0, product = 0;
        for (long long i = threadIdx.x; i < n; i += blockDim.x) {
            const double g = upper(i);
            mean += g, product += g * unit_n[i];
        }
        mean = centred ? block_sum(mean) / n : 0, product = block_sum(product) / n;
        for (long long i = threadIdx.x; i < n; i += blockDim.x)
            dx[block * n + i] = double(rstd[block]) * (upper(i) - unit_n[i] * product - mean);
    }
}

// Σ dy, Σ dy · unit for each column of (rows, columns).
extern "C" __global__ void column_products(const REAL *__restrict__ unit, const REAL *__restrict__ dy, Tile tile,
                                           double *partial) {
    partial_sums<2>(tile, partial, [&](long long row, long long column, double *sums) {
        const double g = dy[row * tile.columns + column];
        sums[0] += g, sums[1] += g * unit[row * tile.columns + column];
    });
}

// The same for runs of `inner` neighbouring elements, (outer, period) of them.
extern "C" __global__ void run_products(const REAL *__restrict__ unit, const REAL *__restrict__ dy, long long outer,
                                        long long period, long long inner, double *partial) {
    for (long long run = blockIdx.x; run < outer * period; run += gridDim.x) {
        double sum = 0, product = 0;
        for (long long i = threadIdx.x; i < inner; i += blockDim.x) {
            const double g = dy[run * inner + i];
            sum += g, product += g * unit[run * inner + i];
        }
        sum = block_sum(sum), product = block_sum(product);
        long long box = run;
        const long long column = split(box, period);
        if (threadIdx.x == 0) partial[2 * box * period + column] = sum, partial[(2 * box + 1) * period + column] = product;
    }
}

extern "C" __global__ void products_end(const double *partial, Tile tile, REAL *dw, REAL *db) {
    total<2>(tile, partial, [&](long long box, long long column, double *sums) {
        if (db) db[column] = sums[0];
        if (dw) dw[column] = sums[1];
    });
}

// y = unit · w + b, all of one shape, stretched where it must be.
extern "C" __global__ void scale_shift(View unit, View w, View b, View y, int scaled, int shifted, long long size) {
    for (long long i = first(); i < size; i += step()) {
        REAL value = at(unit, i);
        if (scaled) value *= at(w, i);
        if (shifted) value += at(b, i);
        at(y, i) = value;
    }
}
