// What is known of every byte of emulated memory, as compute-sanitizer knows it of a GPU's: whether it is anybody's, who
// wrote it last, and who has read it since.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace host {

typedef unsigned Deed;  // a number for what one thread does between two barriers, in the order in which it is done
const Deed NONE = 0, LONG_AGO = 1;

// Of one byte. Of several threads that have read it since it was written, the last two.
struct Cell {
    Deed wrote : 31;
    Deed atomic : 1;  // so was the last write
    Deed read[2];
};

// Who does it: a thread of a launch, up to its next barrier.
struct Doer {
    unsigned block, thread, epoch, clock;  // barriers of the block before it; calls of __syncwarp of the lane
};

enum Access { READ, WRITE, ATOMIC };

inline bool foreign;       // somebody else knows what memory there is: what is in no array is let pass
inline std::mutex lock;  // held by whoever uses memory: launches, and what Python does with arrays

void begin_launch();
Deed begin(const Doer &doer);
bool follows(const Doer &before);  // the running thread comes behind what `before` did: a barrier says so

// The cells of an address of the device; null if no array has it, or not as many bytes.
Cell *cells_at(std::uintptr_t address, std::size_t bytes);

// What is wrong with it, or null; `since`: what was done before never mattered.
const char *wrong(Cell *cells, std::size_t bytes, Access access, Deed me, Deed since, bool any);

}  // namespace host
