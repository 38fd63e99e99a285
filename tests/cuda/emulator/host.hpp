// CUDA C on a CPU, for tests: every thread of a block is a fiber, and blocks run one after the other.
//
// What races on a GPU shows here: shared memory starts as rubbish, every second launch runs blocks and threads
// backwards, and it is an error if threads meet at different barriers, if one reads a lane that has gone, or if the end
// of dynamic shared memory is overwritten.
#pragma once
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <ucontext.h>
#include <utility>
#include <vector>

#include "intrinsics.hpp"

namespace host {

struct Failure {
    std::string what;
};

struct Fiber {
    ucontext_t first;
    jmp_buf place;
    bool started = false;
    std::unique_ptr<char[]> stack;
};

enum State { FRESH, READY, AT_BLOCK, AT_WARP, DONE };

struct Thread {
    dim3 place;
    unsigned number = 0, mask = 0;
    State state = FRESH;
    int line = 0;
    Fiber *fiber = nullptr;
    unsigned char deposit[16];
};

const unsigned WARP = 32, STACK = 1 << 17, GUARD = 64;
const unsigned char RUBBISH = 0xff;  // as floating point: not a number

inline dim3 grid, block, where;  // one launch at a time: a lock keeps the others out
inline std::vector<Thread> threads;
inline std::vector<std::unique_ptr<Fiber>> fibers;
inline std::vector<Fiber *> idle;
inline std::vector<Thread *> ready;
inline Thread *self;
inline unsigned fresh, living, waiting, launches;
inline std::string failure;
inline jmp_buf scheduler;
inline std::vector<unsigned char> dynamic_memory;
inline void (*body)(void *);
inline void *arguments;

inline bool backwards() { return launches & 1; }

[[noreturn]] inline void fail(const std::string &what) { throw Failure{what}; }

inline std::string line_of(const Thread &thread) { return "line " + std::to_string(thread.line); }

// Leaves the fiber; its thread goes on after somebody has put it among the ready ones.
inline void leave(Fiber *fiber) {
    if (!_setjmp(fiber->place)) _longjmp(scheduler, 1);
}

inline void release(Thread &thread) {
    thread.state = READY;
    ready.push_back(&thread);
}

inline void settle_block() {
    if (!waiting || waiting < living) return;
    int line = 0;
    for (Thread &thread : threads) {
        if (thread.state != AT_BLOCK) continue;
        if (line && line != thread.line)
            fail("threads of a block wait at different barriers: line " + std::to_string(line) + " and " + line_of(thread));
        line = thread.line;
        release(thread);
    }
    waiting = 0;
}

inline Thread *lane_of(unsigned warp, unsigned lane) {
    unsigned number = warp * WARP + lane;
    return number < threads.size() && threads[number].state != DONE ? &threads[number] : nullptr;
}

inline void settle_lane(Thread &thread) {
    unsigned warp = thread.number / WARP;
    for (unsigned lane = 0; lane < WARP; lane++) {
        Thread *other = thread.mask >> lane & 1 ? lane_of(warp, lane) : nullptr;
        if (!other) continue;
        if (other->state != AT_WARP) return;
        if (other->line != thread.line || other->mask != thread.mask)
            fail("lanes of a warp wait at different places: " + line_of(thread) + " and " + line_of(*other));
    }
    unsigned mask = thread.mask;
    for (unsigned lane = 0; lane < WARP; lane++)
        if (Thread *other = mask >> lane & 1 ? lane_of(warp, lane) : nullptr) release(*other);
}

inline void settle_warp(unsigned warp) {
    for (unsigned lane = 0; lane < WARP; lane++)
        if (Thread *thread = lane_of(warp, lane); thread && thread->state == AT_WARP) settle_lane(*thread);
}

inline void wait(State state, int line) {
    Thread &me = *self;
    me.state = state, me.line = line;
    if (state == AT_BLOCK) {
        waiting++;
        settle_block();
    } else {
        settle_lane(me);
    }
    leave(me.fiber);
}

inline void block_barrier(int line) { wait(AT_BLOCK, line); }

inline void warp_barrier(int line, unsigned mask = 0xffffffff) {
    if (!(mask >> self->number % WARP & 1)) fail("a lane is not in its own mask: line " + std::to_string(line));
    self->mask = mask;
    wait(AT_WARP, line);
}

template <class T> T deposit_of(const Thread &thread) {
    T value;
    std::memcpy(&value, thread.deposit, sizeof(T));
    return value;
}

template <class T> void deposit(T value) {
    static_assert(sizeof(T) <= sizeof(Thread::deposit));
    std::memcpy(self->deposit, &value, sizeof(T));
}

// Two barriers: nobody overwrites what a slower lane still reads.
template <class T> T shuffle(int line, unsigned mask, T value, int source) {
    deposit(value);
    warp_barrier(line, mask);
    Thread *other = lane_of(self->number / WARP, source);
    if (!other || !(mask >> source & 1)) fail("a shuffle reads lane " + std::to_string(source) + ", which is not there: line " + std::to_string(line));
    T found = deposit_of<T>(*other);
    warp_barrier(line, mask);
    return found;
}

inline int lane() { return self->number % WARP; }

template <class T> T shuffle_index(int line, unsigned mask, T value, int source, int width = WARP) {
    return shuffle(line, mask, value, (lane() & ~(width - 1)) | (source & (width - 1)));
}
template <class T> T shuffle_up(int line, unsigned mask, T value, unsigned delta, int width = WARP) {
    return shuffle(line, mask, value, (lane() & (width - 1)) < int(delta) ? lane() : lane() - int(delta));
}
template <class T> T shuffle_down(int line, unsigned mask, T value, unsigned delta, int width = WARP) {
    return shuffle(line, mask, value, (lane() & (width - 1)) + int(delta) >= width ? lane() : lane() + int(delta));
}
template <class T> T shuffle_xor(int line, unsigned mask, T value, int bits, int width = WARP) {
    int source = lane() ^ bits;
    return shuffle(line, mask, value, source >= (lane() & ~(width - 1)) + width ? lane() : source);
}

inline unsigned ballot(int line, unsigned mask, int predicate) {
    deposit(predicate);
    warp_barrier(line, mask);
    unsigned found = 0;
    for (unsigned i = 0; i < WARP; i++)
        if (Thread *other = mask >> i & 1 ? lane_of(self->number / WARP, i) : nullptr)
            found |= unsigned(deposit_of<int>(*other) != 0) << i;
    warp_barrier(line, mask);
    return found;
}
inline int all(int line, unsigned mask, int predicate) { return !ballot(line, mask, !predicate); }
inline int any(int line, unsigned mask, int predicate) { return ballot(line, mask, predicate) != 0; }

inline int block_count(int line, int predicate) {
    deposit(predicate);
    block_barrier(line);
    int found = 0;
    for (Thread &thread : threads) found += thread.state != DONE && deposit_of<int>(thread) != 0;
    block_barrier(line);
    return found;
}
inline int block_and(int line, int predicate) { return !block_count(line, !predicate); }
inline int block_or(int line, int predicate) { return block_count(line, predicate) != 0; }

inline void begin(Fiber *fiber) {
    unsigned number = fresh++;
    self = &threads[backwards() ? threads.size() - 1 - number : number];
    self->state = READY, self->fiber = fiber;
}

inline void end() {
    self->state = DONE;
    living--;
    settle_block();
    settle_warp(self->number / WARP);
}

// One fiber runs thread after thread; where one waits, another fiber takes over.
inline void work(unsigned high, unsigned low) {
    Fiber *fiber = reinterpret_cast<Fiber *>(std::uintptr_t(high) << 32 | low);
    for (;;) {
        while (failure.empty() && fresh < threads.size()) {
            begin(fiber);
            try {
                body(arguments);
                end();
            } catch (const Failure &found) {
                failure = found.what;
            }
        }
        idle.push_back(fiber);
        leave(fiber);
    }
}

inline void enter(Fiber *fiber) {
    if (_setjmp(scheduler)) return;
    if (fiber->started) _longjmp(fiber->place, 1);
    fiber->started = true;
    setcontext(&fiber->first);
}

inline Fiber *another() {
    if (!idle.empty()) {
        Fiber *fiber = idle.back();
        idle.pop_back();
        return fiber;
    }
    Fiber *fiber = fibers.emplace_back(std::make_unique<Fiber>()).get();
    fiber->stack.reset(new char[STACK]);
    getcontext(&fiber->first);
    fiber->first.uc_stack.ss_sp = fiber->stack.get();
    fiber->first.uc_stack.ss_size = STACK;
    fiber->first.uc_link = nullptr;
    auto address = reinterpret_cast<std::uintptr_t>(fiber);
    makecontext(&fiber->first, reinterpret_cast<void (*)()>(work), 2, unsigned(address >> 32), unsigned(address));
    return fiber;
}

inline std::string stuck() {
    for (Thread &thread : threads)
        if (thread.state == AT_WARP || thread.state == AT_BLOCK)
            return "threads wait for each other for ever: one of them at " + line_of(thread);
    return "threads wait for each other for ever";
}

inline void turn() {
    if (ready.empty()) {
        if (fresh == threads.size()) failure = stuck();
        else enter(another());
        return;
    }
    std::vector<Thread *> now;
    now.swap(ready);
    for (std::size_t i = 0; i < now.size() && failure.empty(); i++) {
        self = now[backwards() ? now.size() - 1 - i : i];
        enter(self->fiber);
    }
}

__attribute__((section("shared_memory"))) inline char first_shared[1];
extern "C" __attribute__((weak, visibility("hidden"))) char __start_shared_memory[], __stop_shared_memory[];

inline void run_block(std::size_t shared) {
    std::memset(__start_shared_memory, RUBBISH, __stop_shared_memory - __start_shared_memory);
    dynamic_memory.assign(shared + GUARD, RUBBISH);
    unsigned count = block.x * block.y * block.z;
    threads.assign(count, Thread());
    for (unsigned i = 0; i < count; i++) {
        threads[i].number = i;
        threads[i].place = dim3(i % block.x, i / block.x % block.y, i / block.x / block.y);
    }
    ready.clear();
    fresh = waiting = 0, living = count;
    while (living && failure.empty()) turn();
    for (unsigned i = 0; i < GUARD && failure.empty(); i++)
        if (dynamic_memory[shared + i] != RUBBISH) failure = "a kernel writes beyond its dynamic shared memory";
}

inline const char *run_grid(std::size_t shared) {
    unsigned count = grid.x * grid.y * grid.z;
    failure.clear();
    for (unsigned i = 0; i < count && failure.empty(); i++) {
        unsigned number = backwards() ? count - 1 - i : i;
        where = dim3(number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y);
        run_block(shared);
    }
    launches++;
    if (failure.empty()) return nullptr;
    idle.clear();
    fibers.clear();
    return failure.c_str();
}

template <class... P> struct Call {
    void (*kernel)(P...);
    void **values;
    template <std::size_t... I> void with(std::index_sequence<I...>) { kernel(*static_cast<P *>(values[I])...); }
    static void run(void *call) { static_cast<Call *>(call)->with(std::index_sequence_for<P...>()); }
};

// Returns what went wrong, or a null pointer. Everything is on the heap or static: fibers leave this frame behind.
template <class... P>
const char *launch(void (*kernel)(P...), const unsigned *dims, std::size_t shared, void **values) {
    static std::mutex lock;
    static std::string kept;
    std::lock_guard<std::mutex> guard(lock);
    Call<P...> call{kernel, values};
    grid = dim3(dims[0], dims[1], dims[2]), block = dim3(dims[3], dims[4], dims[5]);
    body = Call<P...>::run, arguments = &call;
    return run_grid(shared);
}

// As numpy writes a type: f4, i8, b1; p before it for a pointer to it; v for anything else.
template <class T> std::string kind() {
    if constexpr (std::is_pointer_v<T>) {
        using Element = std::remove_cv_t<std::remove_pointer_t<T>>;
        if constexpr (std::is_arithmetic_v<Element>) return "p" + kind<Element>();
        else return "p";
    } else {
        const char *name = std::is_same_v<T, bool> ? "b" : std::is_floating_point_v<T> ? "f"
                         : !std::is_integral_v<T> ? "V" : std::is_signed_v<T> ? "i" : "u";
        return name + std::to_string(sizeof(T));
    }
}

template <class... P> const char *kinds(void (*)(P...)) {
    static const std::string found = ((kind<P>() + " ") + ... + std::string());
    return found.c_str();
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

#define threadIdx (host::self->place)
#define blockIdx (host::where)
#define blockDim (host::block)
#define gridDim (host::grid)
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

#define DYNAMIC_SHARED_MEMORY(type, name) type *name = reinterpret_cast<type *>(host::dynamic_memory.data())
#define ENTRY(name)                                                                                                    \
    extern "C" const char *run_##name(const unsigned *dims, std::size_t shared, void **values) {                       \
        return host::launch(name, dims, shared, values);                                                               \
    }                                                                                                                  \
    extern "C" const char *kinds_##name() { return host::kinds(name); }
