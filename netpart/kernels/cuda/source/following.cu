// Running statistics: one launch moves many of them by the moments of a mini-batch.
#include "view.cuh"

// One of them: a variance if `centre`, the mean of the mini-batch, is something, else a mean.
struct Following {
    View w, g, centre;
    double keep, gain;
    long long size;
};

// What one block does: CHUNK elements of a row, from start on.
struct Work {
    long long row, start;
};
constexpr long long CHUNK = 4096;

// A mean: w += gain · g. A variance: w = keep · w + gain · (g - centre²), which is at least 0.
extern "C" __global__ void follow(const Following *rows, const Work *work) {
    const Work mine = work[blockIdx.x];
    const Following &row = rows[mine.row];
    const long long end = mine.start + CHUNK < row.size ? mine.start + CHUNK : row.size;
    for (long long i = mine.start + threadIdx.x; i < end; i += blockDim.x) {
        const REAL mean = row.centre.data ? at(row.centre, i) : REAL(0), moment = at(row.g, i) - mean * mean;
        if (row.centre.data) at(row.w, i) = at(row.w, i) * REAL(row.keep) + (moment < 0 ? REAL(0) : moment) * REAL(row.gain);
        else at(row.w, i) += moment * REAL(row.gain);
    }
}
