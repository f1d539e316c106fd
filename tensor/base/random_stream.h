#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "tensor/base/random.h"

namespace pg {

// Independent streams of one seed: stream i is keyed by a Philox block of (seed, i), so that neighbouring seeds and
// streams are unrelated.
inline Generator random_stream(uint64_t seed, uint64_t stream) {
  const auto words = philox4x32(seed, stream, 1);  // the plain stream of a seed has 0 as the last argument
  return Generator((uint64_t{words[0]} << 32) | words[1]);
}

// All orders equally likely (Fisher & Yates).
template <class T>
void shuffle(std::vector<T>& x, Generator& generator) {
  for (size_t i = x.size(); i-- > 1;) {
    std::swap(x[i], x[static_cast<size_t>(generator.integer(static_cast<int64_t>(i) + 1))]);
  }
}

}  // namespace pg
