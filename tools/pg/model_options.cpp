// Options that pg train and the commands for text tasks share.
#include "tools/pg/model_options.h"

#include <string>

namespace pg::tools {

std::vector<Field> size_fields(Gpt2Config& model) {
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

}  // namespace pg::tools
