// What a kernel finds wrong with the data: a number that it leaves for the host, see complaints.py.
#pragma once

// Of several numbers the same one stays, whoever comes first.
__device__ __forceinline__ void complain(int* wrong, int number) { atomicMax((unsigned*)wrong, (unsigned)number); }
