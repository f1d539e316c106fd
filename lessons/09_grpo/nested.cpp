// The demonstration of lesson 9, fourth part: what is inside of what in one step, counted.
#include <cmath>

#include "lessons/09_grpo/loop.h"
#include "lessons/kit/drawing.h"

namespace pg::lesson09 {
namespace {

// What one step did.
struct Counted {
  int64_t prompts = 0, samples = 0, responses = 0;
  std::vector<std::vector<int64_t>> passes{{}};  // responses of each forward pass, for each update
  std::vector<double> norms;                     // of the gradient of each update
};

Counted count_step(const Impl& impl, Transformer& start, const TextTask& task, int64_t micro_batch) {
  Counted counted;
  rl::Algorithm a = with_functions(impl, "grpo");
  const auto aggregate = a.aggregation.aggregate;  // called once in each pass
  a.aggregation.aggregate = [&](const Tensor& loss, const Tensor& mask, const Denominators& total) {
    counted.passes.back().push_back(loss.size(0));
    return aggregate(loss, mask, total);
  };
  rl::RlHooks hooks;
  hooks.on_samples = [&](int64_t, const rl::Experience& experience, const rl::Batch&) {
    counted.responses = std::ssize(experience.responses);
    counted.samples = experience.samples;
    counted.prompts = counted.responses / counted.samples;
  };
  hooks.on_update = [&](const rl::UpdateReport& report) {
    counted.norms.push_back(report.grad_norm);
    counted.passes.emplace_back();
  };
  Student student(start, a, {.task = task, .micro_batch = micro_batch});
  student.step(hooks);
  counted.passes.pop_back();
  return counted;
}

int64_t sum_of(const std::vector<int64_t>& passes) {
  int64_t sum = 0;
  for (const int64_t rows : passes) sum += rows;
  return sum;
}

std::string passes_text(const std::vector<int64_t>& passes) {
  return passes.size() == 1 ? fmt::format("{} responses in one pass", passes[0])
                            : fmt::format("{} responses in each of {} passes", passes[0], passes.size());
}

std::string text_of(const Counted& whole, const Counted& halves) {
  std::string text = fmt::format("{:<17}1 rollout, {} updates\n{:<17}{} prompts x {} samples = {} responses\n", "step",
                                 whole.passes.size(), "  rollout", whole.prompts, whole.samples, whole.responses);
  for (size_t i = 0; i < whole.passes.size(); ++i) {
    text += fmt::format("{:<17}{} responses, then update {} of the weights\n{:<17}{}; or {}\n",
                        fmt::format("  mini-batch {}", i + 1), sum_of(whole.passes[i]), i + 1, "    micro-batch",
                        passes_text(whole.passes[i]), passes_text(halves.passes[i]));
  }
  return text;
}

// The boxes inside each other: the step alone, then with its rollout, its mini-batches, its micro-batches.
kit::DrawnFrame frame(const Counted& c, int depth, const std::string& caption) {
  constexpr double kLeft = 14, kWide = kit::kDrawingWidth - 2 * kLeft, kTop = 106, kPass = 46;
  kit::DrawnFrame frame{caption};
  const std::string updates = fmt::format("1 rollout, {} updates", c.passes.size());
  frame.boxes.push_back({2, 2, kit::kDrawingWidth - 4, 316, {"step", updates}, depth == 0, true});
  if (depth == 0) return frame;
  frame.boxes.push_back({kLeft,
                         42,
                         kWide,
                         42,
                         {fmt::format("rollout: {} responses", c.responses),
                          fmt::format("{} prompts × {} samples", c.prompts, c.samples)},
                         depth == 1});
  const auto n = static_cast<double>(c.passes.size());
  const double width = (kWide - 12 * (n - 1)) / n;
  for (size_t i = 0; depth > 1 && i < c.passes.size(); ++i) {
    const double x = kLeft + static_cast<double>(i) * (width + 12), middle = x + width / 2;
    frame.boxes.push_back({x,
                           kTop,
                           width,
                           144,
                           {fmt::format("mini-batch {}", i + 1), fmt::format("{} responses", sum_of(c.passes[i]))},
                           depth == 2,
                           true});
    frame.boxes.push_back({x, 276, width, 34, {fmt::format("update {} of the weights", i + 1)}, depth == 2});
    frame.arrows.push_back({middle, 85, middle, kTop - 1, "", depth == 2});
    frame.arrows.push_back({middle, kTop + 145, middle, 275, "", depth == 2});
    for (size_t k = 0; depth > 2 && k < c.passes[i].size(); ++k) {
      const std::string rows = fmt::format("{} responses", c.passes[i][k]);
      frame.boxes.push_back({x + 8,
                             kTop + 42 + static_cast<double>(k) * (kPass + 4),
                             width - 16,
                             kPass,
                             {fmt::format("micro-batch {}", k + 1), rows},
                             true});
    }
  }
  return frame;
}

}  // namespace

void show_nesting(kit::Demo& demo, const Impl& impl) {
  demo.heading("Four words, one inside the other");
  const auto task = digits();
  const auto start = warm_start(*task, {}, 1);
  const Counted whole = count_step(impl, *start, *task, 64), halves = count_step(impl, *start, *task, 32);
  demo.say(
      "One step of GRPO as the next part makes them, counted: responses when they were drawn, passes when one "
      "number was made of their losses. Then the same step with a micro-batch of 32:");
  kit::Drawing drawing{"Step, rollout, mini-batch, micro-batch", kit::kDrawingWidth, 320, {}, text_of(whole, halves)};
  drawing.frames = {
      frame(whole, 0, "A step is one rollout and all its updates."),
      frame(whole, 1, "A rollout is the responses drawn before a round of updates."),
      frame(whole, 2, "A mini-batch is the responses for one update of the weights."),
      frame(whole, 3, "A micro-batch is the responses in one pass: here the whole mini-batch."),
      frame(halves, 3, "A smaller micro-batch: more passes, whose gradients are added, and less memory.")};
  demo.show(kit::drawn(drawing));
  demo.gap();
  int64_t updated = 0;
  double difference = 0;
  for (size_t i = 0; i < whole.passes.size(); ++i) {
    updated += sum_of(halves.passes[i]);
    difference = std::max(difference, std::abs(halves.norms[i] / whole.norms[i] - 1));
  }
  demo.claim("responses in all mini-batches less those drawn", static_cast<double>(updated - halves.responses), "",
             kit::equals(0));
  demo.claim("gradient norm with micro-batches of 32, from that with 64", 100 * difference, "%", kit::at_most(0.1));
}

}  // namespace pg::lesson09
