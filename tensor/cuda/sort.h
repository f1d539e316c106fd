#pragma once
// Sorting of ids on the device.
#include <cstdint>

namespace pg::cuda {

// keys = the n ids in ascending order, order[i] = the index of keys[i] in ids; equal ids keep their order. Ids outside
// [0, below) become `below`, so that they come last. n >= 1.
void sort_ids(int32_t* keys, int32_t* order, const int32_t* ids, int64_t n, int32_t below);

}  // namespace pg::cuda
