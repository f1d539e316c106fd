// The command line of pg: the list of its commands.
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/process.h"

using namespace pg::tools;

int main(int argc, char** argv) {
  return run_process([&] {
    return run_command({{"Train a model",
                         {train_command(), sft_command(), rl_command(), reward_model_command(), dpo_command(),
                          expert_iteration_command(), env_command()}},
                        {"Use a model", {sample_command(), chat_command(), eval_command(), export_command()}},
                        {"See what happened", {info_command(), report_command(), grade_command()}},
                        {"Texts and data", {fetch_command(), tokenize_command()}},
                        {"The engine and this machine",
                         {doctor_command(), tune_command(), bench_command(), gradcheck_command(), golden_command()}}},
                       argc, argv);
  });
}
