// The command line of pg: the list of its commands.
#include "tools/pg/commands.h"
#include "tools/pg/run/process.h"

using namespace pg::tools;

int main(int argc, char** argv) {
  return run_process([&] {
    return run_command(
        {train_command(),    sample_command(),    chat_command(),         eval_command(),  info_command(),
         sft_command(),      rl_command(),        reward_model_command(), dpo_command(),   expert_iteration_command(),
         env_command(),      gradcheck_command(), golden_command(),       bench_command(), tune_command(),
         tokenize_command(), export_command(),    fetch_command(),        grade_command(), report_command(),
         scale_command(),    doctor_command()},
        argc, argv);
  });
}
