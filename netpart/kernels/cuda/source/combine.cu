// Sums, products and maxima of several arrays; an axis on which an array is broadcast has stride 0 in its view.
#include "several.cuh"

extern "C" __global__ void multiply(View y, Several xs, long long count, long long size) {
    auto join = [](real a, real b) { return a * b; };
    if (count == 2) each(size, [](real& y, real a, real b) { y = a * b; }, out(y), in(xs.view[0]), in(xs.view[1]));
    else each(size, [](real& y, real x) { y = x; }, out(y), Joined<decltype(join)>(xs, count, join));
}

// The index of the first of `xs` is `base`; if that is not 0, y and arg hold the result of the arrays before.
extern "C" __global__ void maximum(
    View y, Strided<unsigned char> arg, Several xs, long long count, long long base, long long size
) {
    for (long long i = first(); i < size; i += step()) {
        real most = at(base ? y : xs.view[0], i);
        int winner = base ? at(arg, i) : 0;
        for (int k = 0; k < count; ++k) {
            const real value = at(xs.view[k], i);
            if (value > most) winner = (int)base + k;
            if (value > most || value != value) most = value;
        }
        at(y, i) = most;
        at(arg, i) = (unsigned char)winner;
    }
}

template <class T> __device__ __forceinline__ long long offset(const Strided<T>& view, long long i) {
    return &at(view, i) - view.data;
}

// An element of an operand that is summed over some axes: number j on these axes, number i on the other axes, `kept`.
template <class T> __device__ __forceinline__ T read(const Strided<T>& kept, const Strided<T>& summed, long long i, long long j) {
    return (&at(kept, i))[offset(summed, j)];
}

struct Product {
    const Several &kept, &summed;
    int count;
    __device__ __forceinline__ real operator()(long long i, long long j) const {
        real found = read(kept.view[0], summed.view[0], i, j);
        for (int k = 1; k < count; ++k) found *= read(kept.view[k], summed.view[k], i, j);
        return found;
    }
};

struct Won {
    const Strided<unsigned char> &arg_kept, &arg_summed;
    const View &dy_kept, &dy_summed;
    int k;
    __device__ __forceinline__ real operator()(long long i, long long j) const {
        return read(arg_kept, arg_summed, i, j) == k ? read(dy_kept, dy_summed, i, j) : 0;
    }
};

// threadIdx.x numbers kept elements, threadIdx.y summed elements, blockIdx.y the parts that the sums are divided into.
// With several parts their sums are written to `parts` (parts, kept), and fold_parts adds them up.
template <class Operand>
__device__ __forceinline__ void fold(const Operand& operand, const View& dst, real* parts, long long kept, long long summed) {
    __shared__ real sums[1024];
    const int t = threadIdx.y * blockDim.x + threadIdx.x;
    for (long long base = (long long)blockIdx.x * blockDim.x; base < kept; base += step()) {
        const long long i = base + threadIdx.x, stride = (long long)gridDim.y * blockDim.y;
        real found = 0;
        if (i < kept)
            for (long long j = (long long)blockIdx.y * blockDim.y + threadIdx.y; j < summed; j += stride)
                found += operand(i, j);
        sums[t] = found;
        __syncthreads();
        for (int half = blockDim.y / 2; half > 0; half /= 2) {
            if (threadIdx.y < half) sums[t] += sums[t + half * blockDim.x];
            __syncthreads();
        }
        if (threadIdx.y == 0 && i < kept) {
            if (gridDim.y > 1) parts[blockIdx.y * kept + i] = sums[t];
            else at(dst, i) = sums[t];
        }
        __syncthreads();
    }
}

extern "C" __global__ void fold_product(
    View dst, real* parts, Several kept, Several summed, long long count, long long outer, long long inner
) {
    fold(Product{kept, summed, (int)count}, dst, parts, outer, inner);
}

extern "C" __global__ void fold_won(
    View dst, real* parts, Strided<unsigned char> arg_kept, Strided<unsigned char> arg_summed, View dy_kept, View dy_summed,
    long long k, long long outer, long long inner
) {
    fold(Won{arg_kept, arg_summed, dy_kept, dy_summed, (int)k}, dst, parts, outer, inner);
}

extern "C" __global__ void fold_parts(View dst, const real* parts, long long count, long long kept) {
    for (long long i = first(); i < kept; i += step()) {
        real found = 0;
        for (long long part = 0; part < count; ++part) found += parts[part * kept + i];
        at(dst, i) = found;
    }
}
