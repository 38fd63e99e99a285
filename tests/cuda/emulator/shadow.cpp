// The memory of the emulated device: allocations, and whose turn it was when each byte was used.
//
// Two uses of a byte clash if one of them writes, they are not both atomic, and nothing says which comes first: within a
// block a barrier, between two streams an event that one records and the other waits for, or a host that waits.
#include "shadow.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace host {

const Deed MOST = 1u << 30;

struct Area {
    std::uintptr_t first, last;
    std::shared_ptr<Cell> cells;
};

// The deeds from `first` on are of the work that has this number on this stream.
struct Work {
    Deed first;
    unsigned stream, number;
};

static std::map<std::uintptr_t, Area> areas;
static Area *found[256];  // where addresses were looked up last
static std::vector<Doer> doers;
static std::vector<Work> works = {{NONE, 0, 0}, {LONG_AGO + 1, 0, 0}};
static std::unordered_map<unsigned, unsigned> latest, known;  // by stream: the last work that was done; that comes before
static bool all_known = true;
static Deed base = LONG_AGO + 1, next = LONG_AGO + 1;
static std::string said;

static void changed() { std::fill(std::begin(found), std::end(found), nullptr); }

// Numbers begin again: what was done is long ago.
static void forget() {
    for (auto &[_, area] : areas)
        for (Cell *cell = area.cells.get(); cell != area.cells.get() + (area.last - area.first); cell++)
            *cell = {cell->wrote ? LONG_AGO : NONE, 0, {NONE, NONE}};
    works.resize(1);
    next = LONG_AGO + 1;
}

static void begin_work(unsigned stream, unsigned number) {
    if (next > MOST) forget();
    base = next, doers.clear();
    if (works.back().first == next) works.pop_back();
    works.push_back({next, stream, number});
}

void begin_launch() { begin_work(works.back().stream, works.back().number); }

Deed begin(const Doer &doer) {
    doers.push_back(doer);
    return next++;
}

static bool comes_before(Deed deed) {
    if (all_known || deed == LONG_AGO) return true;
    auto behind = [](Deed deed, const Work &work) { return deed < work.first; };
    const Work &work = *std::prev(std::upper_bound(works.begin(), works.end(), deed, behind));
    if (!latest.count(work.stream)) return true;
    auto seen = known.find(work.stream);
    return seen != known.end() && seen->second >= work.number;
}

static bool clashes(Deed other, Deed me, Deed since) {
    if (other < since || other == me) return false;
    return other < base ? !comes_before(other) : !follows(doers[other - base]);
}

static bool of_one_thread(Deed one, Deed other) {
    if (one < base || other < base) return false;
    const Doer &a = doers[one - base], &b = doers[other - base];
    return a.block == b.block && a.thread == b.thread;
}

static void read_by(Cell &cell, Deed me) {
    if (cell.read[0] == me) return;
    if (!of_one_thread(cell.read[0], me)) cell.read[1] = cell.read[0];
    cell.read[0] = me;
}

static const char *wrong(Cell &cell, Access access, Deed me, Deed since, bool any) {
    if (access == READ && !any && cell.wrote < std::max(since, LONG_AGO)) return "reads what nobody has written";
    const bool together = access == ATOMIC && cell.atomic;
    if (!together && clashes(cell.wrote, me, since))
        return access == READ ? "reads what another has written at the same time" : "writes what another has written at the same time";
    if (access == READ) return read_by(cell, me), nullptr;
    for (Deed reader : cell.read)
        if (clashes(reader, me, since)) return "writes what another has read at the same time";
    cell = {me, access == ATOMIC, {NONE, NONE}};
    return nullptr;
}

const char *wrong(Cell *cells, std::size_t bytes, Access access, Deed me, Deed since, bool any) {
    for (std::size_t i = 0; i < bytes; i++)
        if (const char *what = wrong(cells[i], access, me, since, any)) return what;
    return nullptr;
}

static Area *area_of(std::uintptr_t address) {
    Area *&here = found[address >> 10 & 255];
    if (here && here->first <= address && address < here->last) return here;
    auto behind = areas.upper_bound(address);
    if (behind == areas.begin() || address >= std::prev(behind)->second.last) return nullptr;
    return here = &std::prev(behind)->second;
}

Cell *cells_at(std::uintptr_t address, std::size_t bytes) {
    Area *area = area_of(address);
    return area && bytes <= area->last - address ? area->cells.get() + (address - area->first) : nullptr;
}

// A strided array, used by a library or by the host's side of the emulation.
struct Array {
    std::uintptr_t first;
    std::size_t item;
    int axes;
    const long long *shape, *stride;
    Access access;
    bool any;

    const char *use(std::uintptr_t at, int axis, Deed me) const {
        if (axis < axes && !(axis + 1 == axes && stride[axis] == (long long)item)) {
            for (long long i = 0; i < shape[axis]; i++)
                if (const char *what = use(at + i * stride[axis], axis + 1, me)) return what;
            return nullptr;
        }
        const std::size_t bytes = axis < axes ? shape[axis] * item : item;
        Cell *cells = bytes ? cells_at(at, bytes) : nullptr;
        if (!cells) return bytes ? "is not all in one array of the device" : nullptr;
        return wrong(cells, bytes, access, me, LONG_AGO, any);
    }
};

static void enroll(std::uintptr_t first, std::size_t bytes, std::shared_ptr<Cell> cells) {
    changed();
    areas[first] = {first, first + bytes, cells};
}

}  // namespace host

using namespace host;

extern "C" {

// What the device does from here on is a work of `stream`, behind those of `count` streams as far as `numbers`.
void memory_work(unsigned stream, unsigned number, int count, const unsigned *streams, const unsigned *numbers) {
    std::lock_guard<std::mutex> guard(lock);
    begin_work(stream, number);
    latest[stream] = std::max(latest[stream], number);
    known.clear();
    for (int i = 0; i < count; i++) known[streams[i]] = numbers[i];
    known[stream] = number;
    all_known = true;
    for (auto [other, last] : latest) all_known &= known.count(other) && known[other] >= last;
}

// A stream that is no more: nobody can be beside it.
void memory_forget(unsigned stream) {
    std::lock_guard<std::mutex> guard(lock);
    latest.erase(stream);
}

// Memory that is the device's from here on. All of it was `written` long ago, or nobody has; of a `pool` that gives memory
// in the order of the current stream, whoever uses it comes behind what this stream was told before.
void memory_enroll(std::uintptr_t first, std::size_t bytes, int written, int pool) {
    std::lock_guard<std::mutex> guard(lock);
    std::shared_ptr<Cell> cells(static_cast<Cell *>(std::calloc(bytes, sizeof(Cell))), std::free);
    if (pool && next == base) begin({0, 0, 0, 0});
    const Cell cell = {written ? LONG_AGO : NONE, 0, {pool ? next - 1 : NONE, NONE}};
    std::fill(cells.get(), cells.get() + bytes, cell);
    enroll(first, bytes, cells);
}

// The same memory at another address.
void memory_alias(std::uintptr_t first, std::size_t bytes, std::uintptr_t of) {
    std::lock_guard<std::mutex> guard(lock);
    enroll(first, bytes, area_of(of)->cells);
}

void memory_dismiss(std::uintptr_t first) {
    std::lock_guard<std::mutex> guard(lock);
    changed();
    areas.erase(first);
}

void memory_is_foreign() { foreign = true; }

int memory_has(std::uintptr_t address) {
    std::lock_guard<std::mutex> guard(lock);
    return area_of(address) != nullptr;
}

// What is wrong with a use of an array, or a null pointer; `any`: also of what nobody has written.
const char *memory_use(std::uintptr_t first, std::size_t item, int axes, const long long *shape, const long long *stride,
                       int writes, int any) {
    std::lock_guard<std::mutex> guard(lock);
    const Array array = {first, item, axes, shape, stride, writes ? WRITE : READ, bool(any)};
    if (next == base) begin({0, 0, 0, 0});
    return array.use(first, 0, next - 1);
}
}
