#pragma once
// Shared by tests of CUDA alone: there device() is a CUDA device.
#include "nn/transformer.h"
#include "tests/kernels/device.h"

namespace pg::testing {

// Skips a test that needs recorded graphs.
inline void need_graphs() {
  if (!backend(device()).records()) SKIP_TEST("POLICYGRAD_CUDA_SYNC=1 records no graphs");
}

// The mode of the device in which a row has the same bits whatever other rows there are, while it exists.
struct Exact {
  explicit Exact(bool on) { backend(device()).set_exact(on); }
  ~Exact() { backend(device()).set_exact(false); }
};

// A GPT-2 with 29 tokens, on the CPU.
inline Transformer small_model(DType dtype = f32, int64_t block_size = 12, uint64_t seed = 3) {
  Generator init(seed);
  return Transformer(
      {.vocab_size = 29, .block_size = block_size, .n_layer = 2, .n_head = 2, .n_embd = 32, .dtype = dtype}, init);
}

}  // namespace pg::testing
