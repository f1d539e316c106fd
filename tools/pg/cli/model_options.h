#pragma once
// Options of the models that pg train and the commands for text tasks share, and checks of memory: settings that need
// more memory than the machine has are rejected before any work.
#include <cstdint>
#include <cstdio>
#include <string>

#include "nn/optim.h"
#include "nn/train/run_memory.h"
#include "nn/train/schedule.h"
#include "nn/transformer.h"
#include "tools/pg/cli/options.h"

namespace pg::tools {

// Layers, heads and width of a model.
std::vector<Field> size_fields(TransformerConfig& model);
// The fields, with the notes behind their help: how the command derives a value that is not given.
std::vector<Field> annotated(std::vector<Field> fields, const std::map<std::string, std::string>& notes);
// Completes and checks a schedule of a run of `steps` steps: unless min-lr is given, it is a tenth of lr.
void settle(Schedule& schedule, int64_t steps, const Given& given);

// Prints the estimate of nn/train/run_memory.h before a run starts, and a warning with what lowers it if that is more
// than the device has free: "memory: about 1.3 GB: weights 538 MB, …; take a smaller --batch". `held`: bytes of the
// estimate that are allocated already. Without a stream only the warning is printed.
void print_memory(std::FILE* out, const RunShape& shape, const Device& device, double held, const std::string& remedy);
// The weights of a model, which `held` may be.
double weight_bytes(Transformer& model);

// Throws Error if `bytes` is more than the memory of the machine, or of its control group, with `what` and `remedy`:
// "--width 1000000: the weights need at least 12 TB, this machine has 8 GB; take a smaller --width".
void check_memory(double bytes, const std::string& what, const std::string& remedy);
// check_memory() for training a model: its weights, gradients and AdamW's two moments.
void check_model_memory(const TransformerConfig& config);
// check_memory() for `rows` sequences in one forward and backward pass. It counts only the inputs of the blocks.
void check_batch_memory(const TransformerConfig& config, int64_t rows, const std::string& remedy);
// check_memory() for `rows` sequences that are generated at a time. It counts only their keys and values.
void check_rollout_memory(const TransformerConfig& config, int64_t rows, const std::string& remedy);

}  // namespace pg::tools
