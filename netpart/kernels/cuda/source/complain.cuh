// Complaints about the data: a number that a kernel leaves for the host, see complaints.py.
#pragma once

// Of several numbers the largest stays, in any order of the threads; as unsigned, so that negative numbers outweigh 0.
__device__ __forceinline__ void complain(int* wrong, int number) { atomicMax((unsigned*)wrong, (unsigned)number); }
