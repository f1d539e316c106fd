// The demonstration of lesson 10, main part: imitation, expert iteration, GRPO; and what each does to pass@k.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <memory>

#include "lessons/10_rlvr/lesson.h"
#include "lessons/kit/plot.h"
#include "rl/text/evaluation.h"
#include "rl/text/imitation.h"
#include "rl/text/trainer.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/parallel.h"

namespace pg::lesson10 {
namespace {

constexpr int64_t kSolutions = 300, kProblems = 100, kSamples = 64, kVote = 8;
constexpr int64_t kKs[] = {1, 2, 4, 8, 16, 32, 64};
constexpr const char* kStages[] = {"imitation", "expert iteration", "GRPO"};

// A model this small is not faster on several cores: its threads would mostly wait for each other.
class OneThread {
 public:
  OneThread() : before_(num_threads()) { set_num_threads(1); }
  ~OneThread() { set_num_threads(before_); }
  OneThread(const OneThread&) = delete;

 private:
  int before_;
};

// Countdown with three numbers, graded by the lesson's function.
class GradedCountdown : public PuzzleTask {
 public:
  explicit GradedCountdown(const Impl& impl) : impl_(impl), engine_(countdown_puzzles()) {}
  std::string name() const override { return engine_->name(); }
  std::string about() const override { return engine_->about(); }
  std::string alphabet() const override { return engine_->alphabet(); }
  std::string answer_form() const override { return engine_->answer_form(); }
  int64_t max_question() const override { return engine_->max_question(); }
  int64_t max_answer() const override { return engine_->max_answer(); }
  int64_t max_request() const override { return engine_->max_request(); }
  Puzzle draw(Generator& generator) const override { return engine_->draw(generator); }
  // puzzle.gold is "3,5,7:22".
  Score grade(const Puzzle& puzzle, std::string_view answer) const override {
    std::vector<int64_t> numbers;
    const char *at = puzzle.gold.data(), *end = at + puzzle.gold.size();
    while (at < end) at = std::from_chars(at, end, numbers.emplace_back()).ptr + 1;
    const int64_t target = numbers.back();
    numbers.pop_back();
    Score score;
    score.reward = impl_.countdown_reward(answer, numbers, target, /*all=*/false, /*near=*/0);
    score.solved = score.reward == 1;
    score.parts = {{"right", score.reward}};
    return score;
  }

 private:
  const Impl& impl_;
  std::unique_ptr<PuzzleTask> engine_;
};

// For each held-out problem, pass@k for each of kKs and the vote of kVote.
struct Exam {
  std::vector<std::vector<double>> pass;  // [kKs][problems]
  std::vector<double> vote;               // [problems]
};
double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

Exam examine(const Impl& impl, Transformer& policy, const TextTask& task) {
  const std::vector<Problem> problems = task.held_out(kProblems);
  const auto responses = rl::evaluate(policy, task, problems, 0, std::ssize(problems), {.samples = kSamples});
  Exam exam;
  exam.pass.resize(std::size(kKs));
  for (size_t p = 0; p < problems.size(); ++p) {
    const auto of = std::span(responses).subspan(p * kSamples, kSamples);
    const int64_t right = std::ranges::count_if(of, &rl::EvalResponse::solved);
    for (size_t i = 0; i < std::size(kKs); ++i) exam.pass[i].push_back(impl.pass_at_k(kSamples, right, kKs[i]));
    double votes = 0;
    for (size_t first = 0; first < kSamples; first += kVote) {
      std::map<std::string, AnswerCount> counts;
      for (const rl::EvalResponse& r : of.subspan(first, kVote)) {
        if (!r.answer) continue;
        AnswerCount& a = counts[*r.answer];
        ++a.count;
        a.right = r.solved;
      }
      std::vector<AnswerCount> answers;
      for (const auto& [text, a] : counts) answers.push_back(a);
      votes += impl.majority_vote(answers) * kVote / kSamples;
    }
    exam.vote.push_back(votes);
  }
  return exam;
}

Transformer new_policy(const TextTask& task, uint64_t seed) {
  Generator init(seed);
  return Transformer({.vocab_size = task.vocab_size(),
                      .block_size = rl::block_size_for(task),
                      .n_layer = 2,
                      .n_head = 4,
                      .n_embd = 64,
                      .in_proj_std = 0.125},
                     init);
}

// Steps on batches of 64 of `kSolutions` problems with the solver's answers.
void imitate(Transformer& policy, const TextTask& task, uint64_t seed) {
  Generator draws = random_stream(seed, 1);
  std::vector<Problem> problems;
  for (int64_t i = 0; i < kSolutions; ++i) problems.push_back(task.sample(draws));
  TrainConfig config;
  config.max_steps = 150;
  config.schedule = {.kind = Schedule::Kind::linear, .lr = 3e-3, .min_lr = 3e-4, .decay_steps = config.max_steps};
  config.adamw = {0.9, 0.99, 1e-8, 0};
  config.eval_interval = config.checkpoint_interval = 0;
  config.seed = seed;
  Trainer trainer(policy, config, [&](Generator& g) {
    std::vector<Problem> batch;
    for (int i = 0; i < 64; ++i) batch.push_back(problems[static_cast<size_t>(g.integer(kSolutions))]);
    return rl::sft_batch(batch);
  });
  trainer.run({});
}

void improve(const kit::Demo& demo, Transformer& policy, const TextTask& task, uint64_t seed) {
  rl::RlConfig config;
  config.algorithm = rl::algorithm("grpo");
  config.algorithm.kl = "none";
  config.algorithm.reference = "none";
  config.algorithm.entropy_bonus = demo.setting("entropy");
  config.batch = {.prompts = 32, .samples = demo.whole("samples"), .micro_batch = 0};
  config.schedule.lr = demo.setting("lr");
  config.seed = seed;
  rl::RlTrainer trainer(policy, task, config);
  for (int step = 0; step < 70; ++step) trainer.step();
}

// The three stages of one seed.
std::vector<Exam> learn(kit::Demo& demo, const Impl& impl, const TextTask& task, uint64_t seed) {
  std::vector<Exam> exams;
  const auto status = [&](size_t stage) { demo.status(fmt::format("seed {}: {} ...", seed, kStages[stage])); };
  Transformer policy = new_policy(task, seed);
  status(0);
  imitate(policy, task, seed);
  exams.push_back(examine(impl, policy, task));
  status(1);
  const rl::ExpertIterationConfig expert{.problems = 512, .samples = 16, .epochs = 3, .lr = 1e-3, .seed = seed};
  for (int64_t round = 1; round <= 2; ++round) rl::expert_iteration(policy, task, expert, round);
  exams.push_back(examine(impl, policy, task));
  status(2);
  improve(demo, policy, task, seed);
  exams.push_back(examine(impl, policy, task));
  return exams;
}

std::string with_interval(const std::vector<double>& values) {
  const rl::Interval i = rl::bootstrap_interval(values);
  return fmt::format("{:.0f} [{:.0f} {:.0f}]", 100 * mean(values), 100 * i.low, 100 * i.high);
}

}  // namespace

void show_stages(kit::Demo& demo, const Impl& impl) {
  demo.heading("Imitate, select, reinforce");
  const OneThread one_thread;
  const auto task = character_task(std::make_unique<GradedCountdown>(impl));
  const std::vector<uint64_t> seeds = demo.seeds(demo.full() ? 10 : 1);
  Transformer untrained = new_policy(*task, 1);
  demo.say(
      "Countdown with two or three numbers up to 20, \"3,5,7:22=\" -> \"3*5+7\". A new GPT reads characters ({} "
      "parameters). It imitates {} solutions. Then twice: it writes 16 responses to each of 512 problems, and imitates "
      "those of its own that were right. Then 70 steps of GRPO with 32 groups of {}. After each stage {} responses to "
      "each of {} held-out problems, none of which was learned from:",
      count_parameters(untrained), kSolutions, demo.whole("samples"), kSamples, kProblems);
  std::vector<std::vector<Exam>> runs;
  for (const uint64_t seed : seeds) runs.push_back(learn(demo, impl, *task, seed));

  demo.line("{:<18}{:>15}{:>15}{:>15}{:>15}", "% of the problems", "pass@1", "maj@8", "pass@8", "pass@64");
  for (size_t stage = 0; stage < 3; ++stage) {
    const Exam& exam = runs[0][stage];
    demo.line("{:<18}{:>15}{:>15}{:>15}{:>15}", kStages[stage], with_interval(exam.pass[0]), with_interval(exam.vote),
              with_interval(exam.pass[3]), with_interval(exam.pass[6]));
  }
  demo.line("seed {}; in brackets the 95 % bootstrap interval over the problems", seeds[0]);
  demo.gap();
  std::vector<kit::Series> curves;
  for (size_t stage = 0; stage < 3; ++stage) {
    kit::Series curve;
    curve.name = kStages[stage];
    for (size_t i = 0; i < std::size(kKs); ++i) {
      std::vector<double> of;
      for (const auto& run : runs) of.push_back(mean(run[stage].pass[i]));
      curve.x.push_back(std::log2(static_cast<double>(kKs[i])));
      curve.y.push_back(mean(of));
      if (seeds.size() == 1) continue;
      curve.low.push_back(std::ranges::min(of));
      curve.high.push_back(std::ranges::max(of));
    }
    curves.push_back(curve);
  }
  demo.show(kit::line_plot(
      curves, {.title = seeds.size() == 1 ? fmt::format("pass@k, seed {}", seeds[0])
                                          : fmt::format("pass@k, means and bands of {} seeds", seeds.size()),
               .x_label = "log2 k",
               .y_label = "pass@k",
               .height = 12}));
  demo.gap();
  const auto change = [&](size_t k) { return 100 * (curves[2].y[k] - curves[0].y[k]); };
  demo.say(
      "pass@1 goes from {:.0f} to {:.0f} %, pass@64 from {:.0f} to {:.0f} %. The reward made likely what the imitator "
      "could write already, if it was given 64 tries, and what was seldom paid is gone; it taught hardly anything new. "
      "So look at both ends of the curve.",
      100 * curves[0].y[0], 100 * curves[2].y[0], 100 * curves[0].y[6], 100 * curves[2].y[6]);
  demo.claim("change of pass@1", change(0), "% points", kit::at_least(8));
  demo.claim("change of pass@64", change(6), "% points", kit::at_most(8));
  demo.claim("pass@1 after GRPO over expert iteration", 100 * (curves[2].y[0] - curves[1].y[0]), "% points",
             kit::at_least(2));
}

}  // namespace pg::lesson10
