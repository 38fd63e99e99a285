// What CUDA C knows without an include: vector types, atomics and mathematical functions.
#pragma once
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

// Of float too, as CUDA has them: C's names are for double alone.
using std::abs, std::cbrt, std::ceil, std::copysign, std::cos, std::erf, std::erfc, std::exp, std::exp2, std::expm1;
using std::fabs, std::floor, std::fma, std::fmax, std::fmin, std::fmod, std::isfinite, std::isinf, std::isnan, std::log;
using std::log10, std::log1p, std::log2, std::nearbyint, std::pow, std::rint, std::round, std::sin, std::sinh, std::size_t;
using std::sqrt, std::tan, std::tanh, std::trunc;

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#define VECTORS(type, name, align)                                                                                     \
    struct alignas(align * 2) name##2 { type x, y; };                                                                  \
    struct name##3 { type x, y, z; };                                                                                  \
    struct alignas(align * 4 > 16 ? 16 : align * 4) name##4 { type x, y, z, w; };                                      \
    inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                                   \
    inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                                        \
    inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
VECTORS(float, float, 4)
VECTORS(double, double, 8)
VECTORS(int, int, 4)
VECTORS(unsigned, uint, 4)
VECTORS(short, short, 2)
VECTORS(unsigned short, ushort, 2)
VECTORS(signed char, char, 1)
VECTORS(unsigned char, uchar, 1)
VECTORS(long long, longlong, 8)
VECTORS(unsigned long long, ulonglong, 8)
#undef VECTORS

template <class A, class B> constexpr std::common_type_t<A, B> min(A a, B b) {
    using T = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point_v<T>) return std::fmin(T(a), T(b));
    else return T(b) < T(a) ? T(b) : T(a);
}
template <class A, class B> constexpr std::common_type_t<A, B> max(A a, B b) {
    using T = std::common_type_t<A, B>;
    if constexpr (std::is_floating_point_v<T>) return std::fmax(T(a), T(b));
    else return T(a) < T(b) ? T(b) : T(a);
}

inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
inline float normcdff(float x) { return std::erfc(-x * 0.70710678f) / 2; }
inline double normcdf(double x) { return std::erfc(-x * 0.70710678118654752) / 2; }

#define ROUNDED(name, type, expression) inline type name(type a, type b) { return expression; }
ROUNDED(__fadd_rn, float, a + b)
ROUNDED(__fsub_rn, float, a - b)
ROUNDED(__fmul_rn, float, a *b)
ROUNDED(__fdiv_rn, float, a / b)
ROUNDED(__dadd_rn, double, a + b)
ROUNDED(__dsub_rn, double, a - b)
ROUNDED(__dmul_rn, double, a *b)
ROUNDED(__ddiv_rn, double, a / b)
#undef ROUNDED
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline float __frcp_rn(float a) { return 1 / a; }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}

template <class To, class From> To bits_as(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To found;
    std::memcpy(&found, &value, sizeof(To));
    return found;
}
inline int __float_as_int(float x) { return bits_as<int>(x); }
inline unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
inline float __int_as_float(int x) { return bits_as<float>(x); }
inline float __uint_as_float(unsigned x) { return bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return bits_as<double>(x); }
inline int __float2int_rn(float x) { return int(std::nearbyint(x)); }

template <class T> T __ldg(const T *p) { return *p; }
template <class T> T __ldcs(const T *p) { return *p; }
template <class T> T __ldca(const T *p) { return *p; }
template <class T> void __stcs(T *p, T value) { *p = value; }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

// What the checks of memory do not look at.
#define UNWATCHED __attribute__((no_sanitize("thread", "undefined")))

namespace host {
void atomic(const volatile void *address, std::size_t bytes);  // tells them what is done there
}

// A fiber is never interrupted, so that what it does to memory is atomic.
template <class T, class F> UNWATCHED T exchange(T *p, F change) {
    host::atomic(p, sizeof(T));
    T old = *p;
    *p = T(change(old));
    return old;
}
#define ATOMIC(name, changed)                                                                                          \
    template <class T> UNWATCHED T name(T *p, std::common_type_t<T> v) {                                               \
        return exchange(p, [=](T old) UNWATCHED { return changed; });                                                  \
    }
ATOMIC(atomicAdd, old + v)
ATOMIC(atomicSub, old - v)
ATOMIC(atomicMax, old < v ? v : old)
ATOMIC(atomicMin, v < old ? v : old)
ATOMIC(atomicOr, old | v)
ATOMIC(atomicAnd, old & v)
ATOMIC(atomicExch, v)
#undef ATOMIC
template <class T> UNWATCHED T atomicCAS(T *p, std::common_type_t<T> wanted, std::common_type_t<T> v) {
    return exchange(p, [=](T old) UNWATCHED { return old == wanted ? v : old; });
}
// Wraps to 0 after `last`.
UNWATCHED inline unsigned atomicInc(unsigned *p, unsigned last) {
    return exchange(p, [=](unsigned old) UNWATCHED { return old >= last ? 0 : old + 1; });
}
