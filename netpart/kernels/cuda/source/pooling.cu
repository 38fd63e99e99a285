// Pooling over 1 to 3 spatial axes; missing axes have extent 1. A thread takes neighbouring channels.
#include "places.cuh"

// Divides any 32-bit number by `value` in a few instructions (Granlund and Montgomery, 1994, figure 4.1).
struct Divisor {
    unsigned value, magic, first, rest;

    __device__ __forceinline__ unsigned quotient(unsigned n) const {
        const unsigned high = unsigned((unsigned long long)magic * n >> 32);
        return (high + ((n - high) >> first)) >> rest;
    }
};

// `packs`: FEW channels each.
struct Sliding {
    Divisor inputs[3], outputs[3], channels, packs;
    int kernel[3], stride[3], low[3];
};

// Windows of most nets have one extent and one stride on their last AXES axes, which are defined: then the loops over a
// window have no branches, and its strides divide by a shift.
#ifdef AXES
__device__ __forceinline__ constexpr int kernel_of(const Sliding &, int axis) { return axis < 3 - AXES ? 1 : KERNEL; }
__device__ __forceinline__ constexpr int stride_of(const Sliding &, int axis) { return axis < 3 - AXES ? 1 : STRIDE; }
#else
__device__ __forceinline__ int kernel_of(const Sliding &g, int axis) { return g.kernel[axis]; }
__device__ __forceinline__ int stride_of(const Sliding &g, int axis) { return g.stride[axis]; }
#endif

struct Spot {
    long long image, channel;
    int at[3];
};

// The spot of the i-th N channels of a tensor with these extents, channels innermost.
template <int N> __device__ __forceinline__ Spot spot(unsigned i, const Sliding &g, const Divisor *extents) {
    const Divisor &packs = N == 1 ? g.channels : g.packs;
    unsigned left = packs.quotient(i);
    Spot found = {0, (i - left * packs.value) * (long long)N, {}};
#pragma unroll
    for (int axis = 2; axis >= 0; axis--) {
        const unsigned next = extents[axis].quotient(left);
        found.at[axis] = left - next * extents[axis].value, left = next;
    }
    found.image = left;
    return found;
}

__device__ __forceinline__ long long offset(const Places &p, const Spot &spot) {
    return spot.image * p.stride[0] + spot.channel * p.step + spot.at[0] * p.stride[1] + spot.at[1] * p.stride[2] +
           spot.at[2] * p.stride[3];
}

// A tensor that is read and written N channels at a time.
template <class T> struct Image {
    T *data;
    const Places &at;

    __device__ __forceinline__ bool runs() const {
        if (!data) return true;
        return at.step == 1 && (at.stride[0] | at.stride[1] | at.stride[2] | at.stride[3]) % FEW == 0 && packed<FEW>(data);
    }
    template <int N, class Held> __device__ __forceinline__ void get(const Spot &spot, Held *held) const {
        load<Held, N>(data + offset(at, spot), held);
    }
    template <int N> __device__ __forceinline__ void put(const Spot &spot, const T *held) const {
        store<T, N>(data + offset(at, spot), held);
    }
};

template <class T> __device__ __forceinline__ Image<T> image(T *data, const Places &at) { return {data, at}; }

template <int N> struct Number {
    static constexpr int value = N;
};

// Calls body(Number<N>, spot) for all of `size` elements, N channels at a time: FEW if all tensors allow it, else 1.
template <class Body, class... T>
__device__ __forceinline__ void channels_of(long long size, const Sliding &g, const Divisor *extents, Body body, const Image<T> &...all) {
    auto walk = [&](auto n) {
        constexpr int N = decltype(n)::value;
        for (long long i = first(); i < size / N; i += step()) body(n, spot<N>(unsigned(i), g, extents));
    };
    if (g.channels.value % FEW == 0 && (all.runs() && ...)) walk(Number<FEW>());
    else walk(Number<1>());
}

// Calls visit(element of the window, spot in x) for all elements of the window of `out` that are not padding, in
// row-major order.
template <class Visit> __device__ __forceinline__ void window(const Sliding &g, const Spot &out, Visit visit) {
    int start[3];
#pragma unroll
    for (int a = 0; a < 3; a++) start[a] = out.at[a] * stride_of(g, a) - g.low[a];
    auto inside = [&](int axis, int i) { return unsigned(start[axis] + i) < g.inputs[axis].value; };
    for (int i = 0; i < kernel_of(g, 0); i++)
        for (int j = 0; j < kernel_of(g, 1); j++)
            for (int k = 0; k < kernel_of(g, 2); k++)
                if (inside(0, i) && inside(1, j) && inside(2, k))
                    visit((i * kernel_of(g, 1) + j) * kernel_of(g, 2) + k,
                          Spot{out.image, out.channel, {start[0] + i, start[1] + j, start[2] + k}});
}

// Calls visit(element of the window, spot in y) for the windows that contain `in`, the last window first.
template <class Visit> __device__ __forceinline__ void windows(const Sliding &g, const Spot &in, Visit visit) {
    // `start` is the last window that contains `in`, and `first` the element of that window. In the window before, it
    // is the element a stride further on, up to `last`. No more than `most` windows contain an element.
    int first[3], last[3], start[3], most[3];
#pragma unroll
    for (int a = 0; a < 3; a++) {
        const int reach = in.at[a] + g.low[a], whole = unsigned(reach) / unsigned(stride_of(g, a));
        start[a] = min(whole, int(g.outputs[a].value) - 1);
        first[a] = reach - start[a] * stride_of(g, a), last[a] = min(kernel_of(g, a) - 1, reach);
        most[a] = (kernel_of(g, a) + stride_of(g, a) - 1) / stride_of(g, a);
    }
    for (int i = 0; i < most[0]; i++)
        for (int j = 0; j < most[1]; j++)
            for (int k = 0; k < most[2]; k++) {
                const int x = first[0] + i * stride_of(g, 0), y = first[1] + j * stride_of(g, 1),
                          z = first[2] + k * stride_of(g, 2);
                if (x <= last[0] && y <= last[1] && z <= last[2])
                    visit((x * kernel_of(g, 1) + y) * kernel_of(g, 2) + z,
                          Spot{in.image, in.channel, {start[0] - i, start[1] - j, start[2] - k}});
            }
}

// Padding never wins, of equal values the first wins, and a NaN wins over all numbers; a window of padding gives 0.
template <class Arg>
__device__ __forceinline__ void maximum(const Image<const REAL> &x, const Image<REAL> &y, const Image<Arg> &arg, const Sliding &g,
                        long long size) {
    auto one = [&](auto n, const Spot &out) {
        constexpr int N = decltype(n)::value;
        REAL best[N] = {}, value[N];
        Arg winner[N] = {};
        bool begun = false;
        window(g, out, [&](int element, const Spot &in) {
            x.template get<N>(in, value);
#pragma unroll
            for (int k = 0; k < N; k++)
                if (!begun || value[k] > best[k] || (isnan(value[k]) && !isnan(best[k]))) best[k] = value[k], winner[k] = element;
            begun = true;
        });
        y.template put<N>(out, best);
        if (arg.data) arg.template put<N>(out, winner);
    };
    channels_of(size, g, g.outputs, one, x, y, arg);
}

// A thread for each element of dx adds up its windows, in the order of the window's elements: without atomic additions.
template <class Arg>
__device__ __forceinline__ void maximum_gradient(const Image<const REAL> &dy, const Image<REAL> &dx, const Image<const Arg> &arg,
                                 const Sliding &g, long long size) {
    auto one = [&](auto n, const Spot &in) {
        constexpr int N = decltype(n)::value;
        REAL sum[N] = {}, upper[N];
        Arg winner[N];
        windows(g, in, [&](int element, const Spot &out) {
            arg.template get<N>(out, winner), dy.template get<N>(out, upper);
#pragma unroll
            for (int k = 0; k < N; k++)
                if (int(winner[k]) == element) sum[k] += upper[k];
        });
        dx.template put<N>(in, sum);
    };
    channels_of(size, g, g.inputs, one, dy, dx, arg);
}

#define MAXIMUM(name, Arg)                                                                                             \
    extern "C" __global__ void maximum_##name(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y,           \
                                              Places at_y, Arg *__restrict__ arg, Places at_arg, Sliding g,            \
                                              long long size) {                                    \
        maximum(image(x, at_x), image(y, at_y), image(arg, at_arg), g, size);                                \
    }                                                                                                                  \
    extern "C" __global__ void maximum_gradient_##name(const REAL *__restrict__ dy, Places at_dy,                      \
                                                       REAL *__restrict__ dx, Places at_dx,                            \
                                                       const Arg *__restrict__ arg, Places at_arg, Sliding g,          \
                                                       long long size) {                           \
        maximum_gradient(image(dy, at_dy), image(dx, at_dx), image(arg, at_arg), g, size);                   \
    }

MAXIMUM(uint8, unsigned char)
MAXIMUM(int32, int)

// The divisor of a window: `areas`, unless null, has one for each position of y in an image; else it is `area`.
__device__ inline REAL divisor(const REAL *areas, double area, const Sliding &g, const Spot &out) {
    return areas ? areas[(out.at[0] * (long long)g.outputs[1].value + out.at[1]) * g.outputs[2].value + out.at[2]] : REAL(area);
}

extern "C" __global__ void average(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y, Places at_y,
                                   const REAL *__restrict__ areas, double area, Sliding g, long long size) {
    auto one = [&](auto n, const Spot &out) {
        constexpr int N = decltype(n)::value;
        REAL sum[N] = {}, value[N];
        window(g, out, [&](int element, const Spot &in) {
            image(x, at_x).template get<N>(in, value);
#pragma unroll
            for (int k = 0; k < N; k++) sum[k] += value[k];
        });
#pragma unroll
        for (int k = 0; k < N; k++) sum[k] /= divisor(areas, area, g, out);
        image(y, at_y).template put<N>(out, sum);
    };
    channels_of(size, g, g.outputs, one, image(x, at_x), image(y, at_y));
}

extern "C" __global__ void average_gradient(const REAL *__restrict__ dy, Places at_dy, REAL *__restrict__ dx,
                                            Places at_dx, const REAL *__restrict__ areas, double area, Sliding g,
                                            long long size) {
    auto one = [&](auto n, const Spot &in) {
        constexpr int N = decltype(n)::value;
        REAL sum[N] = {}, upper[N];
        windows(g, in, [&](int element, const Spot &out) {
            image(dy, at_dy).template get<N>(out, upper);
            const REAL area_here = divisor(areas, area, g, out);
#pragma unroll
            for (int k = 0; k < N; k++) sum[k] += upper[k] / area_here;
        });
        image(dx, at_dx).template put<N>(in, sum);
    };
    channels_of(size, g, g.inputs, one, image(dy, at_dy), image(dx, at_dx));
}
