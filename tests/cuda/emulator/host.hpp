// CUDA C on a CPU, for tests: what a kernel sees of it. host.cpp runs kernels, and shadow.cpp knows what they do to memory.
//
// Every thread of a block is a fiber, and blocks run one after the other; each launch has an order of its own. What would
// be wrong on a GPU is an error, also where it would be right by chance: threads that use the same memory with no barrier
// between them, threads that meet at different barriers or wait for a lane that has gone, memory that is not there, that
// nobody has written, or that lies at no multiple of what the type asks for, and what C++ does not define.
#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

#include "intrinsics.hpp"

namespace host {

void block_barrier(int line);
void warp_barrier(int line, unsigned mask = 0xffffffff);
void exchange(int line, unsigned mask, int source, void *value, std::size_t bytes);  // value: that of lane `source`
unsigned ballot(int line, unsigned mask, bool predicate);
int block_count(int line, bool predicate);
void *shared_memory();

// Of the thread that asks: the same whenever it does.
__attribute__((const)) int lane();
__attribute__((const)) dim3 thread_place();
__attribute__((const)) dim3 block_place();
__attribute__((const)) dim3 block_extent();
__attribute__((const)) dim3 grid_extent();

template <class T> T shuffle(int line, unsigned mask, T value, int source) {
    static_assert(sizeof(T) <= 16);
    exchange(line, mask, source, &value, sizeof(T));
    return value;
}

const int WIDTH = 32;

template <class T> T shuffle_index(int line, unsigned mask, T value, int source, int width = WIDTH) {
    return shuffle(line, mask, value, (lane() & ~(width - 1)) | (source & (width - 1)));
}
template <class T> T shuffle_up(int line, unsigned mask, T value, unsigned delta, int width = WIDTH) {
    return shuffle(line, mask, value, (lane() & (width - 1)) < int(delta) ? lane() : lane() - int(delta));
}
template <class T> T shuffle_down(int line, unsigned mask, T value, unsigned delta, int width = WIDTH) {
    return shuffle(line, mask, value, (lane() & (width - 1)) + int(delta) >= width ? lane() : lane() + int(delta));
}
template <class T> T shuffle_xor(int line, unsigned mask, T value, int bits, int width = WIDTH) {
    int source = lane() ^ bits;
    return shuffle(line, mask, value, source >= (lane() & ~(width - 1)) + width ? lane() : source);
}

inline int all(int line, unsigned mask, bool predicate) { return !ballot(line, mask, !predicate); }
inline int any(int line, unsigned mask, bool predicate) { return ballot(line, mask, predicate) != 0; }
inline int block_and(int line, bool predicate) { return !block_count(line, !predicate); }
inline int block_or(int line, bool predicate) { return block_count(line, predicate) != 0; }

struct Launch {
    void (*body)(void **);
    void **values;  // the parameters
    char *shared, *shared_end;
    const char *image, *image_end;  // the module in memory: its code, tables and static shared memory
};

const char *launch(const Launch &launch, const unsigned *dims, std::size_t shared);  // what went wrong, or a null pointer

struct Kind {
    bool pointer;
    char letter;
    int bytes;
};

const char *kinds(const Kind *kinds, int count);

template <class T> constexpr char LETTER = std::is_same_v<T, bool> ? 'b' : std::is_floating_point_v<T> ? 'f'
                                         : !std::is_integral_v<T> ? 'V' : std::is_signed_v<T> ? 'i' : 'u';

template <class T> constexpr Kind kind() {
    using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
    if constexpr (!std::is_pointer_v<T>) return {false, LETTER<T>, sizeof(T)};
    else if constexpr (std::is_arithmetic_v<Element>) return {true, LETTER<Element>, sizeof(Element)};
    else return {true, 0, 0};
}

// Parameters are copied to the stack of the thread, and are no memory of the device.
template <auto kernel> struct Entry;
template <class... P, void (*kernel)(P...)> struct Entry<kernel> {
    template <std::size_t... I> UNWATCHED static void with(void **values, std::index_sequence<I...>) {
        kernel(*static_cast<P *>(values[I])...);
    }
    UNWATCHED static void body(void **values) { with(values, std::index_sequence_for<P...>()); }
    UNWATCHED static const char *kinds() {
        static constexpr Kind found[] = {kind<P>()..., Kind()};
        return host::kinds(found, sizeof...(P));
    }
};

__attribute__((section("shared_memory"))) inline char first_shared[1];
extern "C" __attribute__((weak, visibility("hidden"))) char __start_shared_memory[], __stop_shared_memory[];
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], _end[];

template <auto kernel> UNWATCHED const char *run(const unsigned *dims, std::size_t shared, void **values) {
    const Launch found = {Entry<kernel>::body, values, __start_shared_memory, __stop_shared_memory, __ehdr_start, _end};
    return launch(found, dims, shared);
}

}  // namespace host

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static __attribute__((section("shared_memory")))
#define __launch_bounds__(...)
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __align__(n) alignas(n)
#define __restrict__ __restrict

#define threadIdx (host::thread_place())
#define blockIdx (host::block_place())
#define blockDim (host::block_extent())
#define gridDim (host::grid_extent())
const int warpSize = 32;

#define __syncthreads() host::block_barrier(__LINE__)
#define __syncthreads_count(p) host::block_count(__LINE__, p)
#define __syncthreads_and(p) host::block_and(__LINE__, p)
#define __syncthreads_or(p) host::block_or(__LINE__, p)
#define __syncwarp(...) host::warp_barrier(__LINE__ __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(...) host::shuffle_index(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) host::shuffle_up(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) host::shuffle_down(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) host::shuffle_xor(__LINE__, __VA_ARGS__)
#define __ballot_sync(mask, p) host::ballot(__LINE__, mask, p)
#define __all_sync(mask, p) host::all(__LINE__, mask, p)
#define __any_sync(mask, p) host::any(__LINE__, mask, p)

namespace host {

template <int COUNT> struct Held {
    float at[COUNT];
};

// y += a b, 16 rows by 8 columns, DEPTH deep: of every 8 elements of the depth a lane has 2 of 2 rows of a and of a
// column of b, as fragments of mma.sync lie; PAIR neighbours count as one.
template <int PAIR> void multiply(float (&y)[4], const float (&a)[4 * PAIR], const float (&b)[2 * PAIR]) {
    Held<2 * PAIR> low, high, right;
    for (int i = 0; i < PAIR; i++) {
        low.at[i] = a[i], low.at[PAIR + i] = a[2 * PAIR + i];
        high.at[i] = a[PAIR + i], high.at[PAIR + i] = a[3 * PAIR + i];
        right.at[i] = b[i], right.at[PAIR + i] = b[PAIR + i];
    }
    const int row = lane() / 4, column = lane() % 4 * 2;
    for (int k = 0; k < 4; k++) {
        const auto upper = __shfl_sync(~0u, low, row * 4 + k), lower = __shfl_sync(~0u, high, row * 4 + k);
        const auto left = __shfl_sync(~0u, right, column * 4 + k), next = __shfl_sync(~0u, right, column * 4 + 4 + k);
        for (int i = 0; i < 2 * PAIR; i++) {
            y[0] += upper.at[i] * left.at[i], y[1] += upper.at[i] * next.at[i];
            y[2] += lower.at[i] * left.at[i], y[3] += lower.at[i] * next.at[i];
        }
    }
}

// Of two that are as near, TF32 takes the one that is farther from 0, and bfloat16 the even one.
inline float to_tf32(float x) { return __uint_as_float((__float_as_uint(x) + 0x1000u) & ~0x1fffu); }
inline float to_bf16(float x) {
    const unsigned bits = __float_as_uint(x);
    return __uint_as_float((bits + 0x7fffu + (bits >> 16 & 1)) & 0xffff0000u);
}

}  // namespace host

inline void mma_tf32(float (&y)[4], const float (&a)[4], const float (&b)[2]) {
    float left[4], right[2];
    for (int i = 0; i < 4; i++) left[i] = host::to_tf32(a[i]);
    for (int i = 0; i < 2; i++) right[i] = host::to_tf32(b[i]);
    host::multiply<1>(y, left, right);
}
inline void mma_bf16(float (&y)[4], const float (&a)[8], const float (&b)[4]) {
    float left[8], right[4];
    for (int i = 0; i < 8; i++) left[i] = host::to_bf16(a[i]);
    for (int i = 0; i < 4; i++) right[i] = host::to_bf16(b[i]);
    host::multiply<2>(y, left, right);
}

#define DYNAMIC_SHARED_MEMORY(type, name) type *name = static_cast<type *>(host::shared_memory())
#define ENTRY(name)                                                                                                    \
    extern "C" UNWATCHED const char *run_##name(const unsigned *dims, std::size_t shared, void **values) {             \
        return host::run<name>(dims, shared, values);                                                                  \
    }                                                                                                                  \
    extern "C" UNWATCHED const char *kinds_##name() { return host::Entry<name>::kinds(); }
