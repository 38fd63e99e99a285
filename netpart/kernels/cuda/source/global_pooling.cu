// Global pooling: the mean or the maximum over all spatial axes; y and dy have a row for each image, arg is (B, C).
#include "columns.cuh"

extern "C" __global__ void sums(const REAL *__restrict__ x, Places at, Tile tile, double *partial) {
    sum_columns(x, at, tile, partial);
}

extern "C" __global__ void mean(const double *partial, Tile tile, REAL *y, Places at_y, double area) {
    total<1>(tile, partial, [&](long long image, long long c, double *sum) { y[place(at_y, image, c)] = sum[0] / area; });
}

// True if a ranks before b: NaN first, then descending, of equal values the first place; places below 0 are empty.
__device__ inline bool before(REAL a, long long at_a, REAL b, long long at_b) {
    if (at_a < 0 || at_b < 0) return at_b < 0 && at_a >= 0;
    if (isnan(a) || isnan(b)) return isnan(a) && (!isnan(b) || at_a < at_b);
    return a > b || (a == b && at_a < at_b);
}

// A single block has all rows of an image: the tile has one part.
extern "C" __global__ void largest(const REAL *__restrict__ x, Places at, Tile tile, REAL *y, Places at_y,
                                   long long *arg) {
    __shared__ REAL values[256];
    __shared__ long long winners[256];
    const int lanes = int(tile.lanes), height = blockDim.x / lanes, line = threadIdx.x / lanes;
    walk(tile, [&](long long image, long long c, long long first, long long stride) {
        REAL best = 0;
        long long winner = -1;
        if (c < tile.columns)
            for (long long row = first; row < tile.rows; row += stride) {
                const REAL value = x[place(at, image * tile.rows + row, c)];
                if (before(value, row, best, winner)) best = value, winner = row;
            }
        values[threadIdx.x] = best, winners[threadIdx.x] = winner;
        __syncthreads();
        for (int half = height / 2; half; half /= 2) {
            const int mine = threadIdx.x, other = mine + half * lanes;
            if (line < half && before(values[other], winners[other], values[mine], winners[mine]))
                values[mine] = values[other], winners[mine] = winners[other];
            __syncthreads();
        }
        if (line == 0 && c < tile.columns) {
            y[place(at_y, image, c)] = values[threadIdx.x];
            if (arg) arg[image * tile.columns + c] = winners[threadIdx.x];
        }
        __syncthreads();
    });
}

// The gradient of the maximum if arg is given, else of the mean.
extern "C" __global__ void gradient(const REAL *__restrict__ dy, Places at_dy, REAL *__restrict__ dx, Places at,
                                    const long long *arg, double area, Tile tile) {
    walk(tile, [&](long long box, long long c, long long first, long long stride) {
        if (c >= tile.columns) return;
        const long long image = unsigned(box) / unsigned(tile.parts), winner = arg ? arg[image * tile.columns + c] : 0;
        const REAL upper = dy[place(at_dy, image, c)], share = arg ? upper : upper / REAL(area);
        for (long long row = first; row < tile.rows; row += stride)
            dx[place(at, image * tile.rows + row, c)] = !arg || winner == row ? share : REAL(0);
    });
}
