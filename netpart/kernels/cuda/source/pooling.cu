// Pooling over 1 to 3 spatial axes; missing axes have extent 1. A thread takes neighbouring channels.
#include "places.cuh"

struct Sliding {
    int inputs[3], outputs[3], kernel[3], stride[3], low[3];
};

struct Spot {
    long long image, channel;
    int at[3];
};

// The spot of the i-th N channels of a tensor with these extents, channels innermost; i fits 32 bits, which divide
// faster.
template <int N> __device__ __forceinline__ Spot spot(unsigned i, long long channels, const int *extents) {
    const unsigned packs = unsigned(channels) / N, image = i / packs;
    Spot found = {image, (i - image * packs) * (long long)N, {}};
    for (int axis = 2; axis >= 0; axis--) {
        const unsigned extent = extents[axis], next = unsigned(found.image) / extent;
        found.at[axis] = unsigned(found.image) - next * extent, found.image = next;
    }
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
__device__ __forceinline__ void channels_of(long long size, long long channels, const int *extents, Body body, const Image<T> &...all) {
    auto walk = [&](auto n) {
        constexpr int N = decltype(n)::value;
        for (long long i = first(); i < size / N; i += step()) body(n, spot<N>(unsigned(i), channels, extents));
    };
    if (channels % FEW == 0 && (all.runs() && ...)) walk(Number<FEW>());
    else walk(Number<1>());
}

// Calls visit(element of the window, spot in x) for all elements of the window of `out` that are not padding, in
// row-major order.
template <class Visit> __device__ __forceinline__ void window(const Sliding &g, const Spot &out, Visit visit) {
    int start[3], first[3], stop[3];
    for (int a = 0; a < 3; a++) {
        start[a] = out.at[a] * g.stride[a] - g.low[a];
        first[a] = max(0, -start[a]), stop[a] = min(g.kernel[a], g.inputs[a] - start[a]);
    }
    for (int i = first[0]; i < stop[0]; i++)
        for (int j = first[1]; j < stop[1]; j++)
            for (int k = first[2]; k < stop[2]; k++) {
                const Spot in = {out.image, out.channel, {start[0] + i, start[1] + j, start[2] + k}};
                visit((i * g.kernel[1] + j) * g.kernel[2] + k, in);
            }
}

// Calls visit(element of the window, spot in y) for the windows that contain `in`, the last window first.
template <class Visit> __device__ __forceinline__ void windows(const Sliding &g, const Spot &in, Visit visit) {
    // `start` is the last window that contains `in`, and `first` the element of that window. In the window before, it
    // is the element a stride further on, up to `last`.
    int first[3], last[3], start[3];
    for (int a = 0; a < 3; a++) {
        const int reach = in.at[a] + g.low[a], whole = reach / g.stride[a];
        start[a] = min(whole, g.outputs[a] - 1);
        first[a] = reach - start[a] * g.stride[a], last[a] = min(g.kernel[a] - 1, reach);
    }
    for (int i = first[0], a = start[0]; i <= last[0]; i += g.stride[0], a--)
        for (int j = first[1], b = start[1]; j <= last[1]; j += g.stride[1], b--)
            for (int k = first[2], c = start[2]; k <= last[2]; k += g.stride[2], c--)
                visit((i * g.kernel[1] + j) * g.kernel[2] + k, Spot{in.image, in.channel, {a, b, c}});
}

// Padding never wins, of equal values the first wins, and a NaN wins over all numbers; a window of padding gives 0.
template <class Arg>
__device__ __forceinline__ void maximum(const Image<const REAL> &x, const Image<REAL> &y, const Image<Arg> &arg, const Sliding &g,
                        long long channels, long long size) {
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
    channels_of(size, channels, g.outputs, one, x, y, arg);
}

// A thread for each element of dx adds up its windows, in the order of the window's elements: without atomic additions.
template <class Arg>
__device__ __forceinline__ void maximum_gradient(const Image<const REAL> &dy, const Image<REAL> &dx, const Image<const Arg> &arg,
                                 const Sliding &g, long long channels, long long size) {
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
    channels_of(size, channels, g.inputs, one, dy, dx, arg);
}

#define MAXIMUM(name, Arg)                                                                                             \
    extern "C" __global__ void maximum_##name(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y,           \
                                              Places at_y, Arg *__restrict__ arg, Places at_arg, Sliding g,            \
                                              long long channels, long long size) {                                    \
        maximum(image(x, at_x), image(y, at_y), image(arg, at_arg), g, channels, size);                                \
    }                                                                                                                  \
    extern "C" __global__ void maximum_gradient_##name(const REAL *__restrict__ dy, Places at_dy,                      \
                                                       REAL *__restrict__ dx, Places at_dx,                            \
                                                       const Arg *__restrict__ arg, Places at_arg, Sliding g,          \
                                                       long long channels, long long size) {                           \
        maximum_gradient(image(dy, at_dy), image(dx, at_dx), image(arg, at_arg), g, channels, size);                   \
    }

MAXIMUM(uint8, unsigned char)
MAXIMUM(int32, int)

// The divisor of a window: `areas`, unless null, has one for each position of y in an image; else it is `area`.
__device__ inline REAL divisor(const REAL *areas, double area, const Sliding &g, const Spot &out) {
    return areas ? areas[(out.at[0] * (long long)g.outputs[1] + out.at[1]) * g.outputs[2] + out.at[2]] : REAL(area);
}

extern "C" __global__ void average(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y, Places at_y,
                                   const REAL *__restrict__ areas, double area, Sliding g, long long channels, long long size) {
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
    channels_of(size, channels, g.outputs, one, image(x, at_x), image(y, at_y));
}

extern "C" __global__ void average_gradient(const REAL *__restrict__ dy, Places at_dy, REAL *__restrict__ dx,
                                            Places at_dx, const REAL *__restrict__ areas, double area, Sliding g,
                                            long long channels, long long size) {
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
    channels_of(size, channels, g.inputs, one, image(dy, at_dy), image(dx, at_dx));
}
