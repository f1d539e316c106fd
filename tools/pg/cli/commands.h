#pragma once
// The commands of pg. Each is defined, with its options, in the file of its name.
#include <string>

#include "tools/pg/cli/options.h"

namespace pg::tools {

Command train_command();
Command sample_command();
Command chat_command();
Command eval_command();
Command info_command();
Command sft_command();
Command rl_command();
Command reward_model_command();
Command dpo_command();
Command expert_iteration_command();
Command env_command();
Command gradcheck_command();
Command golden_command();
Command bench_command();
Command tune_command();
Command tokenize_command();
Command export_command();
Command fetch_command();
Command grade_command();
Command report_command();
Command doctor_command();

// For example "0.1.0".
std::string version();

}  // namespace pg::tools
