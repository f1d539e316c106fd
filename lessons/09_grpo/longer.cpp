// The demonstration of lesson 9, last part: one policy, trained until it can do the task.
#include <algorithm>

#include "lessons/09_grpo/loop.h"
#include "lessons/kit/plot.h"

namespace pg::lesson09 {
namespace {

constexpr int64_t kMost = 600, kEvery = 25, kProblems = 200;
constexpr double kEntropy = 0.03;
constexpr double kEnough = 90;  // % of the held-out problems

// The longest of ten held-out problems with the greedy answer, as text.
std::string answer(Transformer& policy, const TextTask& task) {
  const auto all = rl::rollout(policy, task, task.held_out(10), {.samples = 1, .greedy = true}).responses;
  const auto& r = *std::max_element(all.begin(), all.end(),
                                    [](const auto& a, const auto& b) { return a.prompt.size() < b.prompt.size(); });
  return task.text(r.prompt) + task.text(r.tokens);
}

}  // namespace

void show_longer(kit::Demo& demo, const Impl& impl) {
  demo.heading("Until it can do it");
  const auto task = digits();
  const uint64_t seed = demo.seeds(1)[0];
  const auto start = warm_start(*task, {.layers = 2, .heads = 4, .width = 64}, seed);
  rl::Algorithm grpo = with_functions(impl, "grpo");
  grpo.entropy_bonus = kEntropy;
  const double lr = demo.setting("lr") / 2;
  Student student(*start, grpo,
                  {.task = *task, .prompts = 64, .samples = demo.whole("samples"), .lr = lr, .seed = seed});
  demo.say(
      "The same task, a policy of two layers and 64 channels, 64 prompts a step, lr {:g}, and an entropy bonus of {}, "
      "so that it goes on trying. Every {} steps it answers {} held-out problems greedily. It stops when {:g} % of "
      "them "
      "are solved.",
      lr, kEntropy, kEvery, kProblems, kEnough);
  kit::Series sampled{.name = "sampled", .y = {}}, held_out{.name = "held-out", .y = {}, .x = {}};
  demo.line("{:>6}{:>12}{:>12}  {}", "steps", "held-out", "solved", "one of them");
  Held held;
  for (int64_t step = 0;; ++step) {
    if (step % kEvery == 0) {
      held = examine(student.policy(), *task, kProblems);
      held_out.x.push_back(static_cast<double>(step));
      held_out.y.push_back(held.reward);
      demo.line("{:>6}{:>12.2f}{:>10.0f} %  {}", step, held.reward, held.solved, answer(student.policy(), *task));
      if ((step > 0 && held.solved >= kEnough) || step == kMost) break;
    }
    sampled.y.push_back(student.step().at("sampled/reward"));
    demo.status(fmt::format("step {}: sampled reward {:.2f} ...", step, sampled.y.back()));
  }
  demo.gap();
  demo.show(kit::line_plot({sampled, held_out}, {.x_label = "steps", .y_label = "reward", .height = 10}));
  demo.claim("held-out problems solved", held.solved, "%", kit::at_least(kEnough));
}

}  // namespace pg::lesson09
