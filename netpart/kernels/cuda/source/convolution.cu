// Copies around a convolution: tensors framed with zeros and packed with the channels last, transposed weights, and
// columns.
#include "narrow.cuh"
#include "view.cuh"

__device__ __forceinline__ bool inside(long long i, long long n) { return i >= 0 && i < n; }

// A place of a tensor (images, a, b, c) with the channels last.
struct Place {
    long long image, a, b, c;
};

// Returns the remainder of i / n and leaves the quotient in `i`. Tensors have fewer than 2³² elements: convolution.py
// checks it.
__device__ __forceinline__ unsigned part(unsigned& i, long long n) {
    const unsigned whole = i / unsigned(n), rest = i - whole * unsigned(n);
    i = whole;
    return rest;
}

__device__ __forceinline__ Place spot(unsigned i, const long long* extent) {
    Place found;
    found.c = part(i, extent[2]);
    found.b = part(i, extent[1]);
    found.a = part(i, extent[0]);
    found.image = i;
    return found;
}

// An element of a view with the axes (images, channels, a, b, c).
template <class T> __device__ __forceinline__ T* element(const Strided<T>& v, Place p, long long channel) {
    return v.data + p.image * v.stride[0] + channel * v.stride[1] + p.a * v.stride[2] + p.b * v.stride[3] + p.c * v.stride[4];
}

__device__ __forceinline__ bool within(Place p, const long long* extent) {
    return inside(p.a, extent[0]) && inside(p.b, extent[1]) && inside(p.c, extent[2]);
}

// True if FEW neighbouring channels are contiguous and aligned in x, and aligned in the packed tensor `other`.
template <class T> __device__ __forceinline__ bool runs(const View& x, const T* other) {
    const long long steps = x.stride[0] | x.stride[2] | x.stride[3] | x.stride[4];
    return x.stride[1] == 1 && (x.shape[1] | steps) % FEW == 0 && packed<FEW>(x.data) && packed<FEW>(other);
}

// True if x has the layout of a packed tensor without a frame: element i is the same in both.
__device__ __forceinline__ bool same(const View& x, const long long* extent) {
    bool found = true;
    long long step = x.shape[1];
    for (int axis = 4; axis > 1; --axis) {
        found = found && x.shape[axis] == extent[axis - 2] && (x.shape[axis] == 1 || x.stride[axis] == step);
        step *= x.shape[axis];
    }
    return found && (x.shape[0] == 1 || x.stride[0] == step);
}

// framed[image, a, b, c, channel] = x[image, channel, a - low, ...], 0 outside of x.
template <int N, class T>
__device__ __forceinline__ void frame_few(T* framed, const View& x, const long long* extent, const long long* low) {
    const unsigned size = x.shape[0] * extent[0] * extent[1] * extent[2] * x.shape[1] / N;
    for (long long at = first(); at < size; at += step()) {
        unsigned i = at;
        const long long channel = part(i, x.shape[1] / N) * (long long)N;
        Place p = spot(i, extent);
        p.a -= low[0], p.b -= low[1], p.c -= low[2];
        real held[N] = {};
        if (within(p, x.shape + 2)) load<real, N>(element(x, p, channel), held);
        put<N>(framed + at * N, held);
    }
}

template <class T>
__device__ void frame_into(T* framed, const View& x, long long a, long long b, long long c, long long low_a,
                           long long low_b, long long low_c) {
    const long long extent[3] = {a, b, c}, low[3] = {low_a, low_b, low_c};
    if (!runs(x, framed)) return frame_few<1>(framed, x, extent, low);
    if (!same(x, extent)) return frame_few<FEW>(framed, x, extent, low);
    const long long size = x.shape[0] * x.shape[1] * a * b * c;
    for (long long i = first() * FEW; i < size; i += step() * FEW) {
        real held[FEW];
        load<real, FEW>(x.data + i, held), put<FEW>(framed + i, held);
    }
}

extern "C" __global__ void frame(real* framed, View x, long long a, long long b, long long c, long long low_a,
                                 long long low_b, long long low_c) {
    frame_into(framed, x, a, b, c, low_a, low_b, low_c);
}

extern "C" __global__ void frame_narrow(bfloat16* framed, View x, long long a, long long b, long long c,
                                        long long low_a, long long low_b, long long low_c) {
    frame_into(framed, x, a, b, c, low_a, low_b, low_c);
}

// The inverse: x[image, channel, a, ...] = framed[image, a + low, ..., channel] + bias[channel]. Outside of the frame
// `framed` counts as 0, and so does a null bias; with relu, negative results become 0.
template <int N, class T>
__device__ __forceinline__ void take_few(const View& x, const T* framed, const long long* extent, const long long* low,
                                         const real* bias, int relu) {
    const unsigned size = x.shape[0] * x.shape[2] * x.shape[3] * x.shape[4] * x.shape[1] / N;
    for (long long at = first(); at < size; at += step()) {
        unsigned i = at;
        const long long channel = part(i, x.shape[1] / N) * (long long)N;
        const Place p = spot(i, x.shape + 2), q = {p.image, p.a + low[0], p.b + low[1], p.c + low[2]};
        const long long from = ((q.image * extent[0] + q.a) * extent[1] + q.b) * extent[2] + q.c;
        real held[N] = {};
        if (within(q, extent)) get<N>(framed + from * x.shape[1] + channel, held);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            held[k] += bias ? bias[channel + k] : (real)0;
            if (relu && held[k] < 0) held[k] = 0;
        }
        store<real, N>(element(x, p, channel), held);
    }
}

template <class T>
__device__ void take_from(const View& x, const T* framed, long long a, long long b, long long c, long long low_a,
                          long long low_b, long long low_c, const real* bias, int relu) {
    const long long extent[3] = {a, b, c}, low[3] = {low_a, low_b, low_c};
    if (!runs(x, framed)) return take_few<1>(x, framed, extent, low, bias, relu);
    if (bias || relu || !same(x, extent)) return take_few<FEW>(x, framed, extent, low, bias, relu);
    const long long size = x.shape[0] * x.shape[1] * a * b * c;
    for (long long i = first() * FEW; i < size; i += step() * FEW) {
        real held[FEW];
        get<FEW>(framed + i, held), store<real, FEW>(x.data + i, held);
    }
}

extern "C" __global__ void unframe(View x, const real* framed, long long a, long long b, long long c, long long low_a,
                                   long long low_b, long long low_c, const real* bias, int relu) {
    take_from(x, framed, a, b, c, low_a, low_b, low_c, bias, relu);
}

extern "C" __global__ void unframe_narrow(View x, const bfloat16* framed, long long a, long long b, long long c, long long low_a,
                                          long long low_b, long long low_c, const real* bias, int relu) {
    take_from(x, framed, a, b, c, low_a, low_b, low_c, bias, relu);
}

// to[outer, column, row] = from[outer, row, column]. A block takes ROWS rows by at most ACROSS columns at a time, reads
// and writes them in their order in memory, and transposes them in shared memory.
template <class T, class F>
__device__ void turn_into(T* to, const F* from, long long outer, long long rows, long long columns) {
    constexpr int ROWS = 64, ACROSS = 32;
    __shared__ real tile[ROWS * (ACROSS + 1)];
    const int across = columns < ACROSS ? columns : ACROSS, pitch = across | 1;  // odd: a column is in different banks
    const unsigned down = (rows + ROWS - 1) / ROWS, along = (columns + across - 1) / across;
    for (unsigned work = blockIdx.x; work < outer * down * along; work += gridDim.x) {
        unsigned i = work;
        const long long column = part(i, along) * (long long)across, row = part(i, down) * (long long)ROWS, base = i * rows * columns;
        const int wide = columns - column < across ? columns - column : across, high = rows - row < ROWS ? rows - row : ROWS;
        for (int t = threadIdx.x; t < wide * high; t += blockDim.x) {
            const int r = t / wide, c = t - r * wide;
            get<1>(from + base + (row + r) * columns + column + c, tile + r * pitch + c);
        }
        __syncthreads();
        for (int t = threadIdx.x; t < wide * high; t += blockDim.x) {
            const int c = t / high, r = t - c * high;
            put<1>(to + base + (column + c) * rows + row + r, tile + r * pitch + c);
        }
        __syncthreads();
    }
}

extern "C" __global__ void turn(real* to, const real* from, long long outer, long long rows, long long columns) {
    turn_into(to, from, outer, rows, columns);
}

extern "C" __global__ void turn_narrow(bfloat16* to, const real* from, long long outer, long long rows,
                                       long long columns) {
    turn_into(to, from, outer, rows, columns);
}

extern "C" __global__ void turn_wide(real* to, const bfloat16* from, long long outer, long long rows,
                                     long long columns) {
    turn_into(to, from, outer, rows, columns);
}

// The geometry of the columns of `images` images: struct TAPS of lowered.py.
struct Taps {
    long long first, images, groups, channels;  // the first image; channels of a group
    long long in[3], out[3], kernel[3], stride[3], dilation[3], low[3];
};

// columns[group, place, tap, channel] = x[image of the place, position that the tap reads, channel of the group]; x is
// packed.
extern "C" __global__ void gather(real* columns, const real* x, Taps t) {
    const long long taps = t.kernel[0] * t.kernel[1] * t.kernel[2], places = t.images * t.out[0] * t.out[1] * t.out[2];
    const long long size = t.groups * places * taps * t.channels, all = t.groups * t.channels;
    for (long long at = first(); at < size; at += step()) {
        unsigned i = at;
        const long long channel = part(i, t.channels);
        const long long kc = part(i, t.kernel[2]), kb = part(i, t.kernel[1]), ka = part(i, t.kernel[0]);
        const unsigned inner = part(i, places);
        Place p = spot(inner, t.out);
        p.a = p.a * t.stride[0] + ka * t.dilation[0] - t.low[0];
        p.b = p.b * t.stride[1] + kb * t.dilation[1] - t.low[1];
        p.c = p.c * t.stride[2] + kc * t.dilation[2] - t.low[2];
        const long long from = ((((t.first + p.image) * t.in[0] + p.a) * t.in[1] + p.b) * t.in[2] + p.c) * all + i * t.channels;
        columns[at] = within(p, t.in) ? x[from + channel] : (real)0;
    }
}

// The output that reads input i at tap k of one axis; -1 if none does.
__device__ __forceinline__ long long reader(const Taps& t, int axis, long long i, long long k) {
    const long long start = i + t.low[axis] - k * t.dilation[axis];
    if (start < 0) return -1;
    unsigned found = start;
    return part(found, t.stride[axis]) == 0 && found < t.out[axis] ? (long long)found : -1;
}

// dx[i] = the sum of all elements of the columns that x[i] is copied to, in the order of the taps. A thread for each i,
// so that no atomic additions are needed.
extern "C" __global__ void scatter(real* dx, const real* columns, Taps t) {
    const long long taps = t.kernel[0] * t.kernel[1] * t.kernel[2], places = t.images * t.out[0] * t.out[1] * t.out[2];
    const long long all = t.groups * t.channels, size = t.images * t.in[0] * t.in[1] * t.in[2] * all;
    for (long long at = first(); at < size; at += step()) {
        unsigned i = at;
        const long long channel = part(i, t.channels), group = part(i, t.groups);
        const Place p = spot(i, t.in);
        real sum = 0;
        for (long long k = 0; k < taps; ++k) {
            unsigned rest = k;
            const long long kc = part(rest, t.kernel[2]), kb = part(rest, t.kernel[1]);
            const long long a = reader(t, 0, p.a, rest), b = reader(t, 1, p.b, kb), c = reader(t, 2, p.c, kc);
            if (a < 0 || b < 0 || c < 0) continue;
            const long long row = ((p.image * t.out[0] + a) * t.out[1] + b) * t.out[2] + c;
            sum += columns[((group * places + row) * taps + k) * t.channels + channel];
        }
        dx[t.first * (size / t.images) + at] = sum;
    }
}
