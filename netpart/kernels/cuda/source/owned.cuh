// Elements that this part differentiates.
#pragma once

// A row has one mark in `owned`, or one for each column. Without marks every element is ours.
__device__ __forceinline__ bool ours(const bool* owned, long long marks, long long row, long long column) {
    return !owned || owned[row * marks + (marks > 1 ? column : 0)];
}
