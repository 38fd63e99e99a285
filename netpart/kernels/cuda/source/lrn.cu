// Local response normalisation across channels. Channel j of y, scale and dy is channel j + ahead of x and dx.
#include "places.cuh"

extern "C" __global__ void lrn(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y, Places at_y,
                               REAL *__restrict__ scale, Places at_scale, long long inputs, long long outputs,
                               long long ahead, long long half, double share, double beta, double knorm, long long size) {
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
        y[place(at_y, row, c)] = pow(sum, REAL(-beta)) * x[place(at_x, row, middle)];
    }
}

// `factor` is -2 · alpha · beta / local_size.
extern "C" __global__ void lrn_gradient(const REAL *__restrict__ x, Places at_x, const REAL *__restrict__ y, Places at_y,
                                        const REAL *__restrict__ scale, Places at_scale, const REAL *__restrict__ dy,
                                        Places at_dy, REAL *__restrict__ dx, Places at_dx, long long inputs,
                                        long long outputs, long long ahead, long long half, double factor, double beta,
                                        long long size) {
    for (long long i = first(); i < size; i += step()) {
        long long row = i;
        const long long channel = split(row, inputs), middle = channel - ahead;
        REAL sum = 0;
        for (long long j = max(0LL, middle - half); j <= min(outputs - 1, middle + half); j++)
            sum += dy[place(at_dy, row, j)] * y[place(at_y, row, j)] / scale[place(at_scale, row, j)];
        REAL value = sum * x[place(at_x, row, channel)] * REAL(factor);
        if (0 <= middle && middle < outputs)
            value += pow(scale[place(at_scale, row, middle)], REAL(-beta)) * dy[place(at_dy, row, middle)];
        dx[place(at_dx, row, channel)] = value;
    }
}
