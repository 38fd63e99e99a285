// Moves and sums of whole arrays and of strided views of them.
#include "view.cuh"

extern "C" __global__ void zero(View dst, long long size) {
    for (long long i = first(); i < size; i += step()) at(dst, i) = 0;
}
