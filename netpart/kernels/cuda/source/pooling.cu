// Pooling over 1 to 3 spatial axes; those that a tensor lacks have extent 1. Threads take neighbouring channels.
#include "places.cuh"

struct Sliding {
    int inputs[3], outputs[3], kernel[3], stride[3], low[3];
};

struct Spot {
    long long image, channel;
    int at[3];
};

// The i-th element of a tensor with these extents, channels innermost.
__device__ inline Spot spot(long long i, long long channels, const int *extents) {
    Spot found;
    found.channel = split(i, channels);
    for (int axis = 2; axis >= 0; axis--) found.at[axis] = int(split(i, extents[axis]));
    found.image = i;
    return found;
}

__device__ inline long long offset(const Places &p, const Spot &spot) {
    return spot.image * p.stride[0] + spot.channel * p.step + spot.at[0] * p.stride[1] + spot.at[1] * p.stride[2] +
           spot.at[2] * p.stride[3];
}

// Calls visit(element of the window, spot in x) for all that is not padding in the window of `out`, in row-major order.
template <class Visit> __device__ void window(const Sliding &g, const Spot &out, Visit visit) {
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

// Calls visit(element of the window, spot in y) for the windows that hold `in`, the last of them first.
template <class Visit> __device__ void windows(const Sliding &g, const Spot &in, Visit visit) {
    int first[3], last[3];  // elements of the window: the next one belongs to the window before
    for (int a = 0; a < 3; a++) {
        const int reach = in.at[a] + g.low[a], most = g.outputs[a] - 1;
        first[a] = max(reach % g.stride[a], reach - most * g.stride[a]);
        last[a] = min(g.kernel[a] - 1, reach);
    }
    for (int i = first[0]; i <= last[0]; i += g.stride[0])
        for (int j = first[1]; j <= last[1]; j += g.stride[1])
            for (int k = first[2]; k <= last[2]; k += g.stride[2]) {
                const Spot out = {in.image, in.channel,
                                  {(in.at[0] + g.low[0] - i) / g.stride[0], (in.at[1] + g.low[1] - j) / g.stride[1],
                                   (in.at[2] + g.low[2] - k) / g.stride[2]}};
                visit((i * g.kernel[1] + j) * g.kernel[2] + k, out);
            }
}

// Padding never wins, the first of equals does, and so does what is not a number; a window of padding gives 0.
template <class Number>
__device__ void maximum(const REAL *__restrict__ x, const Places &at_x, REAL *__restrict__ y, const Places &at_y,
                        Number *__restrict__ arg, const Places &at_arg, const Sliding &g, long long channels,
                        long long size) {
    for (long long i = first(); i < size; i += step()) {
        const Spot out = spot(i, channels, g.outputs);
        REAL best = 0;
        int winner = -1;
        window(g, out, [&](int element, const Spot &in) {
            const REAL value = x[offset(at_x, in)];
            if (winner < 0 || value > best || (isnan(value) && !isnan(best))) best = value, winner = element;
        });
        y[offset(at_y, out)] = best;
        if (arg) arg[offset(at_arg, out)] = Number(max(winner, 0));
    }
}

// Adds in the order of the window's elements.
template <class Number>
__device__ void maximum_gradient(const REAL *__restrict__ dy, const Places &at_dy, REAL *__restrict__ dx,
                                 const Places &at_dx, const Number *__restrict__ arg, const Places &at_arg,
                                 const Sliding &g, long long channels, long long size) {
    for (long long i = first(); i < size; i += step()) {
        const Spot in = spot(i, channels, g.inputs);
        REAL sum = 0;
        windows(g, in, [&](int element, const Spot &out) {
            if (int(arg[offset(at_arg, out)]) == element) sum += dy[offset(at_dy, out)];
        });
        dx[offset(at_dx, in)] = sum;
    }
}

#define MAXIMUM(name, Number)                                                                                          \
    extern "C" __global__ void maximum_##name(const REAL *x, Places at_x, REAL *y, Places at_y, Number *arg,           \
                                              Places at_arg, Sliding g, long long channels, long long size) {          \
        maximum(x, at_x, y, at_y, arg, at_arg, g, channels, size);                                                     \
    }                                                                                                                  \
    extern "C" __global__ void maximum_gradient_##name(const REAL *dy, Places at_dy, REAL *dx, Places at_dx,           \
                                                       const Number *arg, Places at_arg, Sliding g,                    \
                                                       long long channels, long long size) {                           \
        maximum_gradient(dy, at_dy, dx, at_dx, arg, at_arg, g, channels, size);                                        \
    }

MAXIMUM(uint8, unsigned char)
MAXIMUM(int32, int)

// `areas`, where there are any, has one divisor for each place of y in an image.
__device__ inline REAL divisor(const REAL *areas, double area, const Sliding &g, const Spot &out) {
    return areas ? areas[(out.at[0] * (long long)g.outputs[1] + out.at[1]) * g.outputs[2] + out.at[2]] : REAL(area);
}

extern "C" __global__ void average(const REAL *__restrict__ x, Places at_x, REAL *__restrict__ y, Places at_y,
                                   const REAL *areas, double area, Sliding g, long long channels, long long size) {
    for (long long i = first(); i < size; i += step()) {
        const Spot out = spot(i, channels, g.outputs);
        REAL sum = 0;
        window(g, out, [&](int element, const Spot &in) { sum += x[offset(at_x, in)]; });
        y[offset(at_y, out)] = sum / divisor(areas, area, g, out);
    }
}

extern "C" __global__ void average_gradient(const REAL *__restrict__ dy, Places at_dy, REAL *__restrict__ dx,
                                            Places at_dx, const REAL *areas, double area, Sliding g, long long channels,
                                            long long size) {
    for (long long i = first(); i < size; i += step()) {
        const Spot in = spot(i, channels, g.inputs);
        REAL sum = 0;
        windows(g, in, [&](int element, const Spot &out) { sum += dy[offset(at_dy, out)] / divisor(areas, area, g, out); });
        dx[offset(at_dx, in)] = sum;
    }
}
