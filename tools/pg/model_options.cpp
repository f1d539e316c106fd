// Options that pg train and the commands for text tasks share, and checks of memory.
#include "tools/pg/model_options.h"

#include <unistd.h>

#include <string>

#include "tensor/base/error.h"

namespace pg::tools {

namespace {

std::string readable(double bytes) {
  const char* const units[] = {"MB", "GB", "TB", "PB", "EB"};
  size_t unit = 0;
  for (bytes /= 1e6; bytes >= 1000 && unit + 1 < std::size(units); bytes /= 1000) ++unit;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

}  // namespace

std::vector<Field> size_fields(TransformerConfig& model) {
  return {{"layers", &model.n_layer, "transformer blocks", whole_from(1, 100000)},
          {"heads", &model.n_head, "attention heads", whole_from(1, 1000000)},
          {"width", &model.n_embd, "channels, a multiple of the heads", whole_from(1, 1000000)}};
}

std::vector<Field> annotated(std::vector<Field> fields, const std::string& name, const std::string& note) {
  for (Field& field : fields) {
    if (field.name == name) field.about += "; " + note;
  }
  return fields;
}

void settle(Schedule& schedule, int64_t steps, const Given& given) {
  // Rounded to 6 significant digits, as a person would write it.
  if (!given.has("min-lr")) schedule.min_lr = std::stod(fmt::format("{:.6g}", schedule.lr / 10));
  schedule.decay_steps = steps;
  check_schedule(given.command(), schedule, steps);
}

void check_memory(double bytes, const std::string& what, const std::string& remedy) {
  const double available = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  check(bytes <= available, "{} needs at least {} of memory, this machine has {}; take {}", what, readable(bytes),
        readable(available), remedy);
}

void check_model_memory(const TransformerConfig& c) {
  // f32: weights, gradients and two moments. bf16: two of these in 16 bits, and an f32 master copy of the weights.
  check_memory(16 * least_parameters(c), fmt::format("a model of {} blocks of width {}", c.n_layer, c.n_embd),
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
