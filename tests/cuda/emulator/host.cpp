// Runs the kernels of a module: every thread of a block is a fiber, and blocks run one after the other.
#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <ucontext.h>
#include <vector>

#include "shadow.hpp"
#include "host.hpp"  // last: its macros are words of CUDA C

namespace host {

const unsigned WARP = 32, STACK = 1 << 17, GUARD = 64;
const unsigned char RUBBISH = 0xff;  // as floating point: not a number

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
    bool orders = false;  // waits at __syncwarp: other calls of a warp say nothing about memory
    Fiber *fiber = nullptr;
    Deed deed = NONE;
    unsigned clock[WARP] = {};  // how much of what each lane of the warp did comes before
    unsigned char deposit[16];
};

static dim3 grid, block, where;
static unsigned here;  // the number of the block
static std::vector<Thread> threads;
static std::vector<std::unique_ptr<Fiber>> fibers;
static std::vector<Fiber *> idle;
static std::vector<Thread *> ready;
static std::vector<unsigned> begins;  // which thread is the next to begin
static Thread *self;
static unsigned fresh, living, waiting, launches, epoch;
static std::string failure;
static jmp_buf scheduler;
static std::vector<unsigned char> dynamic_memory;
static std::vector<Cell> shared_cells;  // of static memory, then of dynamic
static Deed block_began;
static const Launch *launched;

// --- Orders: of blocks, and of threads that may run. Each launch has another: forward, backward, or at random.

static unsigned random_state;
static enum { FORWARD, BACKWARD, RANDOM, AS_RANDOM } manner;

// Neighbouring launches differ, and so do those of another EMULATED_ORDER.
static void choose_order() {
    static const char *given = std::getenv("EMULATED_ORDER");
    random_state = (launches++ + (given ? std::atoi(given) : 0)) * 0x9e3779b9u;
    manner = decltype(manner)(random_state >> 30);
}

static bool at_random() { return manner >= RANDOM; }

static unsigned some(unsigned count) {
    random_state = random_state * 1664525u + 1013904223u;
    return unsigned((unsigned long long)random_state * count >> 32);
}

template <class T> static void arrange(std::vector<T> &items) {
    if (manner == BACKWARD) std::reverse(items.begin(), items.end());
    for (unsigned i = items.size(); at_random() && i > 1; i--) std::swap(items[i - 1], items[some(i)]);
}

static std::vector<unsigned> numbers(unsigned count) {
    std::vector<unsigned> found(count);
    for (unsigned i = 0; i < count; i++) found[i] = i;
    arrange(found);
    return found;
}

// --- Failures end the launch: the fiber never goes on.

[[noreturn]] static void fail(const std::string &what) {
    failure = what;
    _longjmp(scheduler, 1);
}

static std::string line_of(const Thread &thread) { return "line " + std::to_string(thread.line); }

static std::string thread_of(const Thread &thread) {
    return "thread " + std::to_string(thread.number) + " of block " + std::to_string(here);
}

// --- Threads wait for each other.

// Leaves the fiber; its thread goes on after somebody has put it among the ready ones.
static void leave(Fiber *fiber) {
    if (!_setjmp(fiber->place)) _longjmp(scheduler, 1);
}

static void release(Thread &thread) {
    thread.state = READY;
    ready.push_back(&thread);
}

static void settle_block() {
    if (!waiting || waiting < living) return;
    int line = 0;
    for (Thread &thread : threads) {
        if (thread.state != AT_BLOCK) continue;
        if (line && line != thread.line)
            fail("threads of a block wait at different barriers: line " + std::to_string(line) + " and " + line_of(thread));
        line = thread.line, thread.deed = NONE;
        release(thread);
    }
    waiting = 0, epoch++;
}

static Thread *lane_of(unsigned warp, unsigned lane) {
    unsigned number = warp * WARP + lane;
    return number < threads.size() && threads[number].state != DONE ? &threads[number] : nullptr;
}

// All lanes of the mask come behind what each of them did.
static void order(const std::vector<Thread *> &lanes) {
    unsigned latest[WARP] = {};
    for (Thread *lane : lanes) {
        lane->clock[lane->number % WARP]++, lane->deed = NONE;
        for (unsigned i = 0; i < WARP; i++) latest[i] = std::max(latest[i], lane->clock[i]);
    }
    for (Thread *lane : lanes) std::copy(latest, latest + WARP, lane->clock);
}

static void settle_lane(Thread &thread) {
    const unsigned warp = thread.number / WARP;
    std::vector<Thread *> lanes;
    for (unsigned lane = 0; lane < WARP; lane++) {
        if (!(thread.mask >> lane & 1)) continue;
        Thread *other = lane_of(warp, lane);
        if (!other)
            fail(line_of(thread) + ": " + thread_of(thread) + " waits for lane " + std::to_string(lane) +
                 ", which is not there");
        if (other->state != AT_WARP) return;
        const bool elsewhere = other->line != thread.line || other->mask != thread.mask;
        if (elsewhere && !(other->mask >> thread.number % WARP & 1)) return;  // it does not wait for this one
        if (elsewhere)
            fail("lanes of a warp wait at different places: " + line_of(thread) + " and " + line_of(*other));
        lanes.push_back(other);
    }
    if (thread.orders) order(lanes);
    for (Thread *lane : lanes) release(*lane);
}

static void settle_warp(unsigned warp) {
    for (unsigned lane = 0; lane < WARP; lane++)
        if (Thread *thread = lane_of(warp, lane); thread && thread->state == AT_WARP) settle_lane(*thread);
}

static void wait(State state, int line) {
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

static void wait_for_warp(int line, unsigned mask, bool orders) {
    if (!(mask >> self->number % WARP & 1)) fail("a lane is not in its own mask: line " + std::to_string(line));
    self->mask = mask, self->orders = orders;
    wait(AT_WARP, line);
}

void block_barrier(int line) { wait(AT_BLOCK, line); }

void warp_barrier(int line, unsigned mask) { wait_for_warp(line, mask, true); }

// Two barriers: nobody overwrites what a slower lane still reads.
void exchange(int line, unsigned mask, int source, void *value, std::size_t bytes) {
    std::memcpy(self->deposit, value, bytes);
    wait_for_warp(line, mask, false);
    Thread *other = lane_of(self->number / WARP, source);
    if (!other || !(mask >> source & 1))
        fail("a shuffle reads lane " + std::to_string(source) + ", which is not there: line " + std::to_string(line));
    std::memcpy(value, other->deposit, bytes);
    wait_for_warp(line, mask, false);
}

unsigned ballot(int line, unsigned mask, bool predicate) {
    self->deposit[0] = predicate;
    wait_for_warp(line, mask, false);
    unsigned found = 0;
    for (unsigned i = 0; i < WARP; i++)
        if (Thread *other = mask >> i & 1 ? lane_of(self->number / WARP, i) : nullptr)
            found |= unsigned(other->deposit[0]) << i;
    wait_for_warp(line, mask, false);
    return found;
}

int block_count(int line, bool predicate) {
    self->deposit[0] = predicate;
    block_barrier(line);
    int found = 0;
    for (Thread &thread : threads) found += thread.state != DONE && thread.deposit[0];
    block_barrier(line);
    return found;
}

int lane() { return self->number % WARP; }
dim3 thread_place() { return self->place; }
dim3 block_place() { return where; }
dim3 block_extent() { return block; }
dim3 grid_extent() { return grid; }
void *shared_memory() { return dynamic_memory.data(); }

// --- Memory: what threads do to it, asked before they do.

bool follows(const Doer &before) {
    if (!self || before.block != here) return false;
    if (before.thread == self->number || before.epoch < epoch) return true;
    return before.thread / WARP == self->number / WARP && self->clock[before.thread % WARP] > before.clock;
}

static std::size_t static_bytes() { return launched->shared_end - launched->shared; }

static Deed deed() {
    if (self->deed == NONE) self->deed = begin({here, self->number, epoch, self->clock[self->number % WARP]});
    return self->deed;
}

// Where it is in the code: host.py makes a line of it.
[[noreturn]] static void fail_at(const char *code, const std::string &what) {
    char text[32];
    std::snprintf(text, sizeof text, "@%zx: ", std::size_t(code - launched->image - 1));
    fail(text + thread_of(*self) + " " + what);
}

static void use(std::uintptr_t address, std::size_t bytes, Access access, const char *code) {
    if (!self) return;
    auto in = [&](const void *first, std::size_t size) { return address - std::uintptr_t(first) < size; };
    if (in(self->fiber->stack.get(), STACK)) return;
    Cell *cells = nullptr;
    const std::size_t statics = static_bytes(), dynamics = dynamic_memory.size() - GUARD;
    if (in(launched->shared, statics)) cells = &shared_cells[address - std::uintptr_t(launched->shared)];
    else if (in(dynamic_memory.data(), dynamics + GUARD)) {
        const std::size_t at = address - std::uintptr_t(dynamic_memory.data());
        if (at + bytes > dynamics) fail_at(code, "is beyond its dynamic shared memory");
        cells = &shared_cells[statics + at];
    } else if (in(launched->image, launched->image_end - launched->image)) return;
    const bool shared = cells;
    if (!shared) cells = cells_at(address, bytes);
    if (!cells && foreign) return;
    if (!cells) fail_at(code, "uses " + std::to_string(bytes) + " bytes that are in no array");
    if (const char *what = wrong(cells, bytes, access, deed(), shared ? block_began : LONG_AGO, false))
        fail_at(code, what + std::string(shared ? " in shared memory" : ""));
}

void atomic(const volatile void *address, std::size_t bytes) {
    use(std::uintptr_t(address), bytes, ATOMIC, static_cast<char *>(__builtin_return_address(0)));
}

// --- Fibers.

static void begin_thread(Fiber *fiber) {
    self = &threads[begins[fresh++]];
    self->state = READY, self->fiber = fiber;
}

static void end() {
    self->state = DONE;
    living--;
    settle_block();
    settle_warp(self->number / WARP);
}

// One fiber runs thread after thread; where one waits, another fiber takes over.
static void work(unsigned high, unsigned low) {
    Fiber *fiber = reinterpret_cast<Fiber *>(std::uintptr_t(high) << 32 | low);
    for (;;) {
        while (fresh < threads.size()) {
            begin_thread(fiber);
            launched->body(launched->values);
            end();
        }
        idle.push_back(fiber);
        leave(fiber);
    }
}

static void enter(Fiber *fiber) {
    if (_setjmp(scheduler)) return;
    if (fiber->started) _longjmp(fiber->place, 1);
    fiber->started = true;
    setcontext(&fiber->first);
}

static Fiber *another() {
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

static std::string stuck() {
    for (Thread &thread : threads)
        if (thread.state == AT_WARP || thread.state == AT_BLOCK)
            return "threads wait for each other for ever: one of them at " + line_of(thread);
    return "threads wait for each other for ever";
}

static void turn() {
    const bool fresher = fresh < threads.size();
    if (ready.empty() && !fresher) {
        failure = stuck();
    } else if (ready.empty() || (fresher && at_random() && some(2))) {
        enter(another());
    } else {
        std::vector<Thread *> now;
        now.swap(ready);
        arrange(now);
        for (std::size_t i = 0; i < now.size() && failure.empty(); i++) {
            self = now[i];
            enter(self->fiber);
        }
    }
}

// --- Launches.

static void run_block(std::size_t shared) {
    std::memset(launched->shared, RUBBISH, static_bytes());
    dynamic_memory.assign(shared + GUARD, RUBBISH);
    shared_cells.resize(std::max(shared_cells.size(), static_bytes() + shared));
    const unsigned count = block.x * block.y * block.z;
    threads.assign(count, Thread());
    for (unsigned i = 0; i < count; i++) {
        threads[i].number = i;
        threads[i].place = dim3(i % block.x, i / block.x % block.y, i / block.x / block.y);
    }
    ready.clear();
    begins = numbers(count);
    fresh = waiting = epoch = 0, living = count;
    block_began = begin({here, ~0u, 0, 0});
    while (living && failure.empty()) turn();
    self = nullptr;
}

static void run_grid(std::size_t shared) {
    choose_order();
    failure.clear();
    begin_launch();
    for (unsigned number : numbers(grid.x * grid.y * grid.z)) {
        here = number;
        where = dim3(number % grid.x, number / grid.x % grid.y, number / grid.x / grid.y);
        run_block(shared);
        if (!failure.empty()) break;
    }
}

const char *launch(const Launch &launch, const unsigned *dims, std::size_t shared) {
    static std::string kept;
    std::lock_guard<std::mutex> guard(lock);
    launched = &launch;
    grid = dim3(dims[0], dims[1], dims[2]), block = dim3(dims[3], dims[4], dims[5]);
    run_grid(shared);
    if (failure.empty()) return nullptr;
    idle.clear(), fibers.clear();
    kept = failure;
    return kept.c_str();
}

// As numpy writes a type: f4, i8, b1; p before it for a pointer to it; v for anything else.
const char *kinds(const Kind *kinds, int count) {
    static std::vector<std::unique_ptr<std::string>> kept;
    std::lock_guard<std::mutex> guard(lock);
    std::string found;
    for (const Kind *kind = kinds; kind != kinds + count; kind++) {
        if (kind->pointer) found += "p";
        if (kind->letter) found += kind->letter + std::to_string(kind->bytes);
        found += " ";
    }
    return kept.emplace_back(std::make_unique<std::string>(found))->c_str();
}

}  // namespace host

// What g++ calls in kernels: before each use of memory, and where something is not defined.
using namespace host;
#define CODE static_cast<const char *>(__builtin_return_address(0))
#define USE(bytes)                                                                                                     \
    void __tsan_read##bytes(std::uintptr_t at) { use(at, bytes, READ, CODE); }                                         \
    void __tsan_write##bytes(std::uintptr_t at) { use(at, bytes, WRITE, CODE); }
#define UNALIGNED(bytes)                                                                                               \
    void __tsan_unaligned_read##bytes(std::uintptr_t at) { use(at, bytes, READ, CODE); }                               \
    void __tsan_unaligned_write##bytes(std::uintptr_t at) { use(at, bytes, WRITE, CODE); }
#define UNDEFINED(name, what)                                                                                          \
    void __ubsan_handle_##name() {                                                                                     \
        if (self) fail_at(CODE, what);                                                                                 \
    }
extern "C" {
void __tsan_init() {}
USE(1) USE(2) USE(4) USE(8) USE(16)
UNALIGNED(2) UNALIGNED(4) UNALIGNED(8) UNALIGNED(16)
void __tsan_read_range(std::uintptr_t at, std::size_t bytes) { use(at, bytes, READ, CODE); }
void __tsan_write_range(std::uintptr_t at, std::size_t bytes) { use(at, bytes, WRITE, CODE); }
UNDEFINED(type_mismatch_v1, "uses an address that is no multiple of what the type asks for")
UNDEFINED(out_of_bounds, "takes an element that an array has not")
UNDEFINED(shift_out_of_bounds, "shifts by more bits than there are, or by less than none")
UNDEFINED(add_overflow, "adds up to more than the type holds")
UNDEFINED(sub_overflow, "subtracts more than the type holds")
UNDEFINED(mul_overflow, "multiplies to more than the type holds")
UNDEFINED(negate_overflow, "negates what the type does not hold")
UNDEFINED(divrem_overflow, "divides by zero")
UNDEFINED(float_cast_overflow, "makes an integer of what none is")
UNDEFINED(load_invalid_value, "reads a bool that is neither")
}
