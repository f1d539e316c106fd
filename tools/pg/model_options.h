#pragma once
// Options of the configurations that pg train and the commands for text tasks share.
#include "nn/gpt2.h"
#include "nn/schedule.h"
#include "tools/pg/options.h"

namespace pg::tools {

// Layers, heads and width of a model.
std::vector<Field> size_fields(Gpt2Config& model);
// The fields, with what follows the help of one of them: how the command derives its value if it is not given.
std::vector<Field> annotated(std::vector<Field> fields, const std::string& name, const std::string& note);
// Completes and checks a schedule of a run of `steps` steps: unless min-lr is given, it is a tenth of lr.
void settle(Schedule& schedule, int64_t steps, const Given& given);

}  // namespace pg::tools
