// The arithmetic type of a source, float or double by -DREAL, and the loop that all kernels share.
#pragma once

typedef REAL real;

// Each thread takes elements first(), first() + step(), ...: right for any grid.
__device__ __forceinline__ long long first() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }

__device__ __forceinline__ long long step() { return (long long)gridDim.x * blockDim.x; }
