#pragma once
// Memory checks: settings that need more memory than the machine has are rejected before any work.
#include <cstdint>
#include <string>

#include "nn/gpt2.h"

namespace pg::tools {

// Throws Error if `bytes` is more than the machine's memory, with `what` and `remedy`: "--width 1000000: the weights
// need at least 12 TB, this machine has 8 GB; take a smaller --width".
void check_memory(double bytes, const std::string& what, const std::string& remedy);
// check_memory() for training a model: its weights, gradients and AdamW's two moments.
void check_model_memory(const Gpt2Config& config);
// check_memory() for `rows` sequences in one forward and backward pass. It counts only the inputs of the blocks.
void check_batch_memory(const Gpt2Config& config, int64_t rows, const std::string& remedy);

}  // namespace pg::tools
