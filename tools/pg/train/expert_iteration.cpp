// pg expert-iteration: samples, keeps responses that solve their problem, imitates them, repeats.
#include "nn/files/checkpoint.h"
#include "nn/train/run_steps.h"
#include "rl/text/imitation.h"
#include "rl/text/ranks.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/run/profile_report.h"
#include "tools/pg/run/samples.h"
#include "tools/pg/run/session.h"
#include "tools/pg/train/text_rl.h"

namespace pg::tools {

namespace {

struct ExpertIterationOptions {
  TextRlOptions common;
  RankOptions ranks;
  int64_t iterations = 20, eval_every = 5, eval_problems = 200, save_every = 50;
  rl::ExpertIterationConfig config = {};
  bool profile = false;
};

std::vector<Field> fields(ExpertIterationOptions& o) {
  return joined(
      {fields(o.common),
       fields(o.ranks),
       adapter_fields(o.common),
       {profile_field(o.profile)},
       titled(
           "Training",
           joined({{{"iterations", &o.iterations, "iterations of sampling and imitation", whole_from(1)},
                    {"eval-every", &o.eval_every, "iterations between evaluations; 0: only at the end", whole_from(0)},
                    {"eval-problems", &o.eval_problems, "problems of an evaluation", whole_from(1, 1000000)},
                    {"save-every", &o.save_every, "iterations between checkpoints; 0: only at the end", whole_from(0)}},
                   annotated(rl::fields(o.config), {{"micro-batch", kPartForEachRank}})}))});
}

// The held-out problems, answered and logged: "held-out reward 0.512, solved 48.0 %".
std::string evaluate_on_task(RunSession& session, Transformer& policy, const TextTask& task,
                             const std::vector<Problem>& problems, int64_t iteration) {
  rl::Experience responses;
  const rl::Metrics metrics = rl::evaluate_on_ranks(session.comm(), policy, task, problems, {}, &responses);
  session.log_evaluation(iteration, metrics.values());
  if (session.folder() && session.is_new(iteration)) {
    append_samples(*session.folder(), task, responses, iteration, kHeldOut);
  }
  return fmt::format("held-out reward {:.3f}, solved {:.1f} %", metrics.at("eval/reward"),
                     100 * metrics.at("eval/solved"));
}

void save_policy(RunSession& session, Transformer& policy, const TextTask& task, const TextRlOptions& options,
                 int64_t iteration) {
  if (!session.folder()) return;
  std::map<std::string, std::string> texts = policy_texts(options, task, "expert-iteration");
  texts["model"] = to_json(policy.config);
  save_checkpoint(checkpoint_path(session.path()), policy, nullptr, {iteration, {}, std::move(texts)});
  session.saved();
}

int expert_iteration(const ExpertIterationOptions& o, Comm& comm) {
  RunSession session(comm, o.common.run, "expert-iteration");
  const auto task = make_task(o.common);
  const auto policy = make_policy(o.common, *task, o.config.seed, comm.device());
  const int64_t responses = o.config.problems * o.config.samples, most = o.config.max_rows;
  check_rollout_memory(used_config(*policy, *task), most > 0 ? std::min(most, responses) : responses,
                       "a smaller --max-rows, or fewer --problems or --samples");
  int64_t done = 0;
  if (session.resumed()) {
    const Checkpoint checkpoint = load_checkpoint(session.resumed_checkpoint());
    checkpoint.restore(*policy);
    done = checkpoint.state.step;
  }
  session.begin(done, o.iterations, "expert_iteration_" + task->name());
  remark(stdout, "{}: {}\n{}; {}\n", task->name(), task->about(), parameter_text(*policy, o.common.init),
         session.path());

  rl::ExpertIterationConfig config = o.config;
  config.rates = measured_rates(o.profile, policy->config.dtype, comm.device());
  const ProfileReport profile(o.profile);
  SpeedReport speed;
  std::string held_out;
  const auto iterate = [&] {
    const rl::Metrics metrics =
        rl::expert_iteration(*policy, *task, config, done + 1, &comm, interrupted, session.should_stop());
    if (metrics.values().empty()) return false;
    ++done;
    speed.add(metrics);
    session.log(done, metrics.values());
    session.progress().update(done, fmt::format("solved {:.1f} % of the samples, {} imitated  {}",
                                                100 * metrics.at("solved"), metrics.at("kept"), held_out));
    return true;
  };
  const auto problems = task->held_out(o.eval_problems);
  const auto evaluate = [&](int64_t iteration) {
    held_out = evaluate_on_task(session, *policy, *task, problems, iteration);
    if (iteration == 0) session.progress().print("at the start: " + held_out);
  };
  const auto save = [&](int64_t iteration) { save_policy(session, *policy, *task, o.common, iteration); };
  const bool complete = run_steps({.last = o.iterations,
                                   .eval_interval = o.eval_every,
                                   .checkpoint_interval = o.save_every,
                                   .steps = [&] { return done; },
                                   .step = iterate,
                                   .on_eval = evaluate,
                                   .on_checkpoint = save,
                                   .should_stop = session.should_stop()});
  session.end_progress();
  profile.print(stdout, {});
  speed.print(stdout, config.rates);
  if (!complete) {
    save(done);
    return session.stopped(fmt::format("iteration {}", done));
  }
  session.progress().print(fmt::format("after {} iterations: {}   {}", o.iterations, held_out, session.path()));
  return 0;
}

}  // namespace

Command expert_iteration_command() {
  const auto o = std::make_shared<ExpertIterationOptions>();
  const auto run = [o](Given& given) {
    choose_task(o->common, given);
    // A resumed run has the micro-batches of its beginning: those of an old one are its batches.
    if (o->common.run.resume.empty()) settle_micro_batch(o->config.micro_batch, o->config.batch, o->ranks, given);
    o->common.run.config = given.yaml(joined({fields(*o), o->common.setup.fields}));
    return run_on_ranks(o->ranks, o->common.device, o->common.run,
                        [&](Comm& comm) { return expert_iteration(*o, comm); });
  };
  Command command =
      text_command("expert-iteration", "a GPT-2 imitates those of its own answers that were right", fields(*o), run);
  command.usual = {"config",   "name",    "resume",      "device", "task", "init", "file",      "iterations",
                   "problems", "samples", "temperature", "batch",  "lr",   "seed", "lora-rank", "ranks"};
  return command;
}

}  // namespace pg::tools
