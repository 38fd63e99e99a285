// Running statistics: one launch updates many of them by the moments of a mini-batch.
#include "view.cuh"

// One running statistic: a variance if `centre`, the mean of the mini-batch, is not null, else a mean.
struct Following {
    View w, g, before, centre;
    double keep, gain;
    long long size;
};

// The work of one block: CHUNK elements of a row, from `start` on.
struct Work {
    long long row, start;
};
constexpr long long CHUNK = 4096;

// `before` holds the newest values, w those that forward read; they differ only in a delayed pipeline.
// A mean, where g is the mini-batch's mean minus w: w = before + gain · (w - before + g).
// A variance: w = keep · before + gain · (g - centre²), where the difference is at least 0.
extern "C" __global__ void follow(const Following *rows, const Work *work) {
    const Work mine = work[blockIdx.x];
    const Following &row = rows[mine.row];
    const long long end = mine.start + CHUNK < row.size ? mine.start + CHUNK : row.size;
    for (long long i = mine.start + threadIdx.x; i < end; i += blockDim.x) {
        const REAL mean = row.centre.data ? at(row.centre, i) : REAL(0), moment = at(row.g, i) - mean * mean;
        const REAL before = at(row.before, i);
        if (row.centre.data) at(row.w, i) = before * REAL(row.keep) + (moment < 0 ? REAL(0) : moment) * REAL(row.gain);
        else at(row.w, i) = before + (at(row.w, i) - before + moment) * REAL(row.gain);
    }
}
