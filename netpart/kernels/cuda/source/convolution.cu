// What lies around a convolution: tensors framed with zeros and packed with the channels last, weights likewise, columns.
#include "narrow.cuh"
#include "places.cuh"
#include "view.cuh"

__device__ __forceinline__ bool inside(long long i, long long n) { return i >= 0 && i < n; }

// A place of a tensor (images, a, b, c) with the channels last.
struct Place {
    long long image, a, b, c;
};

__device__ __forceinline__ Place spot(long long i, const long long* extent) {
    Place found;
    found.c = split(i, extent[2]);
    found.b = split(i, extent[1]);
    found.a = split(i, extent[0]);
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

// framed[image, a, b, c, channel] = x[image, channel, a - low, ...], 0 where x has nothing.
template <class T>
__device__ void frame_into(T* framed, const View& x, long long a, long long b, long long c, long long low_a,
                           long long low_b, long long low_c) {
    const long long extent[3] = {a, b, c}, channels = x.shape[1], size = x.shape[0] * a * b * c * channels;
    for (long long at = first(); at < size; at += step()) {
        long long i = at;
        const long long channel = split(i, channels);
        Place p = spot(i, extent);
        p.a -= low_a, p.b -= low_b, p.c -= low_c;
        put(framed + at, within(p, x.shape + 2) ? *element(x, p, channel) : (real)0);
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

// The way back: x[image, channel, a, ...] = framed[image, a + low, ..., channel] + bias[channel], without what the frame
// has not and a bias that is null; relu: then what is negative becomes 0.
template <class T>
__device__ void take_from(const View& x, const T* framed, long long a, long long b, long long c, long long low_a,
                          long long low_b, long long low_c, const real* bias, int relu) {
    const long long extent[3] = {a, b, c}, channels = x.shape[1];
    const long long size = x.shape[0] * x.shape[2] * x.shape[3] * x.shape[4] * channels;
    for (long long at = first(); at < size; at += step()) {
        long long i = at;
        const long long channel = split(i, channels);
        const Place p = spot(i, x.shape + 2);
        const Place q = {p.image, p.a + low_a, p.b + low_b, p.c + low_c};
        const long long from = (((q.image * a + q.a) * b + q.b) * c + q.c) * channels + channel;
        const real value = (within(q, extent) ? get(framed + from) : (real)0) + (bias ? bias[channel] : (real)0);
        *element(x, p, channel) = relu && value < 0 ? (real)0 : value;
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

// to[outer, column, row] = from[outer, row, column]
template <class T, class F>
__device__ void turn_into(T* to, const F* from, long long outer, long long rows, long long columns) {
    for (long long at = first(); at < outer * rows * columns; at += step()) {
        long long i = at;
        const long long row = split(i, rows), column = split(i, columns);
        put(to + at, get(from + (i * rows + row) * columns + column));
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

// What the columns of `images` images know: struct of lowered.py.
struct Taps {
    long long first, images, groups, channels;  // the first image; channels of a group
    long long in[3], out[3], kernel[3], stride[3], dilation[3], low[3];
};

// columns[group, place, tap, channel] = x[place's image, where the tap reads, channel of the group]; x is packed.
extern "C" __global__ void gather(real* columns, const real* x, Taps t) {
    const long long taps = t.kernel[0] * t.kernel[1] * t.kernel[2], places = t.images * t.out[0] * t.out[1] * t.out[2];
    const long long size = t.groups * places * taps * t.channels, all = t.groups * t.channels;
    for (long long at = first(); at < size; at += step()) {
        long long i = at;
        const long long channel = split(i, t.channels);
        const long long kc = split(i, t.kernel[2]), kb = split(i, t.kernel[1]), ka = split(i, t.kernel[0]);
        const long long inner = split(i, places);
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
    if (start < 0 || start % t.stride[axis]) return -1;
    const long long found = start / t.stride[axis];
    return found < t.out[axis] ? found : -1;
}

// dx[i] = the sum of all columns that i was copied to, in the order of the taps.
extern "C" __global__ void scatter(real* dx, const real* columns, Taps t) {
    const long long taps = t.kernel[0] * t.kernel[1] * t.kernel[2], places = t.images * t.out[0] * t.out[1] * t.out[2];
    const long long all = t.groups * t.channels, size = t.images * t.in[0] * t.in[1] * t.in[2] * all;
    for (long long at = first(); at < size; at += step()) {
        long long i = at;
        const long long channel = split(i, t.channels), group = split(i, t.groups);
        const Place p = spot(i, t.in);
        real sum = 0;
        for (long long k = 0; k < taps; ++k) {
            long long rest = k;
            const long long kc = split(rest, t.kernel[2]), kb = split(rest, t.kernel[1]);
            const long long a = reader(t, 0, p.a, rest), b = reader(t, 1, p.b, kb), c = reader(t, 2, p.c, kc);
            if (a < 0 || b < 0 || c < 0) continue;
            const long long row = ((p.image * t.out[0] + a) * t.out[1] + b) * t.out[2] + c;
            sum += columns[((group * places + row) * taps + k) * t.channels + channel];
        }
        dx[t.first * (size / t.images) + at] = sum;
    }
}
