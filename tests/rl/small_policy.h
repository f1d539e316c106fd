#pragma once
// A policy for the tests of trainers.
#include "nn/transformer.h"
#include "rl/text/rollout.h"

namespace pg::testing {

// One block with two heads, the same weights at every call. `in_proj_std` as in TransformerConfig.
inline Transformer small_policy(const TextTask& task, int64_t n_embd = 16, double in_proj_std = 0.25) {
  Generator g(5);
  return Transformer({.vocab_size = task.vocab_size(),
                      .block_size = rl::block_size_for(task),
                      .n_layer = 1,
                      .n_head = 2,
                      .n_embd = n_embd,
                      .in_proj_std = in_proj_std},
                     g);
}

}  // namespace pg::testing
