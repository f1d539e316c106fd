// The folder, the log and the end of a run.
#include "tools/pg/run/session.h"

#include "tools/pg/cli/process.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/profile_report.h"

namespace pg::tools {

RunSession::RunSession(Comm& comm, const RunOptions& options, std::string command)
    : comm_(comm), options_(options), command_(std::move(command)), opened_(open_run(comm, options.resume)) {
  start_threads(options.threads, comm);
}

void RunSession::begin(int64_t done, int64_t total, const std::string& name, int zero) {
  done_ = done;
  total_ = total;
  const std::string& chosen = options_.name.empty() ? name : options_.name;
  if (auto made = start_run(comm_, std::move(opened_.folder), done, options_.out, chosen)) {
    folder_.emplace(std::move(*made));
  }
  path_ = path_on_ranks(comm_, folder_, zero);
  if (folder_) folder_->save_config(options_.config);
  catch_interrupt();
  progress_.emplace(done, total);
}

void RunSession::log(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  if (folder_) folder_->log(step, values);
}

void RunSession::log_evaluation(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  if (is_new(step) && !values.empty()) log(step, values);
}

void RunSession::saved() {
  if (folder_) note_saved(*folder_);
}

int RunSession::stopped(const std::string& after) {
  if (folder_) {
    progress_->print(
        fmt::format("stopped after {}; continue with:  pg {} --resume {}", after, command_, shell_word(path_)));
  }
  return interrupt_status();
}

bool run_trainer(RunSession& session, Trainer& trainer, TrainHooks hooks, bool profile, std::FILE* out) {
  if (!hooks.should_stop) hooks.should_stop = session.should_stop();
  const ProfileReport report(profile);
  const bool complete = trainer.run(hooks);
  session.end_progress();
  report.print(out, trainer.memory());
  if (!complete) hooks.on_checkpoint(trainer.steps());
  return complete;
}

}  // namespace pg::tools
