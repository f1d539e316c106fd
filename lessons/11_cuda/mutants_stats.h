#pragma once
// What the tables of answers to 11.4 share.
#include <cmath>

#include "lessons/11_cuda/harness.h"
#include "lessons/kit/mutants.h"

namespace pg::lesson11 {
namespace {

template <class Answer>
void stats(Impl& m) {
  m.row_stats = row_stats<Answer>;
  m.softmax = softmax<Answer>;
}

// A lane's largest number, and its sum relative to that; add() is the right step.
struct Seen {
  float top = kLowest, sum = 0;
  __device__ void add(float v) {
    if (v == kLowest) return;
    if (v > top) {
      sum *= ::expf(top - v);
      top = v;
    }
    sum += ::expf(v - top);
  }
  // The right end: all lanes' sums relative to the largest number of all.
  __device__ RowStats together() const {
    const float max = Team::reduce(top, Max{});
    return {max, Team::reduce(sum * ::expf(top - max), Plus{})};
  }
};

}  // namespace
}  // namespace pg::lesson11
