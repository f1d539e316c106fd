#pragma once
// Requests that no machine can serve are refused before any work, with what to change.
#include <cstdint>
#include <string>

#include "nn/gpt2.h"

namespace pg::tools {

// Error when `bytes` are more than the machine's memory: "--width 1000000: the weights need at least 12 TB, this
// machine has 8 GB; take a smaller --width".
void check_memory(double bytes, const std::string& what, const std::string& remedy);
// The same for training a model: its weights, gradients and AdamW's two moments.
void check_model_memory(const Gpt2Config& config);
// The same for `rows` sequences in one forward and backward pass, by the inputs of the blocks alone.
void check_batch_memory(const Gpt2Config& config, int64_t rows, const std::string& remedy);

}  // namespace pg::tools
