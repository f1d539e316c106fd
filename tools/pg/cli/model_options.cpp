// Options that pg train and the commands for text tasks share, and checks of memory.
#include "tools/pg/cli/model_options.h"

#include <string>

#include "tensor/backend.h"
#include "tensor/base/cores.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/progress.h"

namespace pg::tools {

std::vector<Field> size_fields(TransformerConfig& model) {
  return titled("Model", {{"layers", &model.n_layer, "transformer blocks", whole_from(1, 100000)},
                          {"heads", &model.n_head, "attention heads", whole_from(1, 1000000)},
                          {"width", &model.n_embd, "channels, a multiple of the heads", whole_from(1, 1000000)}});
}

std::vector<Field> annotated(std::vector<Field> fields, const std::map<std::string, std::string>& notes) {
  for (Field& field : fields) {
    if (const auto note = notes.find(field.name); note != notes.end()) field.about += "; " + note->second;
  }
  return fields;
}

void settle(Schedule& schedule, int64_t steps, const Given& given) {
  // Rounded to 6 significant digits, as a person would write it.
  if (!given.has("min-lr")) schedule.min_lr = std::stod(fmt::format("{:.6g}", schedule.lr / 10));
  schedule.decay_steps = steps;
  check_schedule(given.command(), schedule, steps);
}

void print_memory(std::FILE* out, const RunShape& shape, const Device& device, double held, const std::string& remedy) {
  const RunMemory memory = run_memory(shape);
  const double free =
      device.on_host() ? machine_memory().free : static_cast<double>(backend(device).memory(device.index).free);
  if (out) remark(out, "memory: {}\n", to_text(memory));
  if (memory.total() - held <= free) return;
  remark(stderr, "warning: {} more of memory is needed, and {} is free; take {}\n", bytes_text(memory.total() - held),
         bytes_text(free), remedy);
}

double weight_bytes(Transformer& model) {
  double bytes = 0;
  for (const auto& [name, parameter] : named_parameters(model)) {
    bytes += static_cast<double>(parameter.numel()) * static_cast<double>(size_of(parameter.dtype()));
  }
  return bytes;
}

void check_memory(double bytes, const std::string& what, const std::string& remedy) {
  const double available = machine_memory().limit;
  check(bytes <= available, "{} needs at least {} of memory, this machine has {}; take {}", what, bytes_text(bytes),
        bytes_text(available), remedy);
}

void check_model_memory(const TransformerConfig& c) {
  check_memory(run_memory({.model = c, .trained = 1}).total(),
               fmt::format("a model of {} blocks of width {}", c.n_layer, c.n_embd),
               "fewer --layers or a smaller --width");
}

namespace {
void check_sequences(const TransformerConfig& c, int64_t rows, double bytes_per_token, const std::string& remedy) {
  check_memory(static_cast<double>(rows) * static_cast<double>(c.block_size) * bytes_per_token,
               fmt::format("a batch of {} sequences of {} tokens", rows, c.block_size), remedy);
}
}  // namespace

void check_batch_memory(const TransformerConfig& c, int64_t rows, const std::string& remedy) {
  const double inputs = static_cast<double>(c.n_layer) * static_cast<double>(c.n_embd);
  check_sequences(c, rows, inputs * static_cast<double>(size_of(c.dtype)), remedy);
}

void check_rollout_memory(const TransformerConfig& c, int64_t rows, const std::string& remedy) {
  check_sequences(c, rows, cache_bytes_per_token(c), remedy);
}

}  // namespace pg::tools
