// The demonstration of lesson 9, third and fifth part: one step in detail, and seven algorithms at equal cost.
#include <algorithm>
#include <cmath>

#include "lessons/09_grpo/loop.h"
#include "lessons/kit/plot.h"

namespace pg::lesson09 {
namespace {

struct Row {
  std::string name;
  std::vector<double> after;                // held-out reward, one value per seed
  std::vector<double> first, last;          // reward of the samples, at the start and at the end
  std::vector<std::vector<double>> curves;  // reward of the samples, one value per step
  double solved = 0, silent = 0, clipped = 0, norm = 0, length = 0;
};

double mean_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v / static_cast<double>(x.size());
  return sum;
}
// The mean of the seeds and the band from the smallest to the largest, up to the length of the shortest curve.
kit::Series curve_of(const Row& row) {
  kit::Series s{.name = row.name, .y = {}};
  size_t steps = SIZE_MAX;
  for (const auto& curve : row.curves) steps = std::min(steps, curve.size());
  for (size_t i = 0; i < steps; ++i) {
    std::vector<double> points;
    for (const auto& curve : row.curves) points.push_back(curve[i]);
    s.y.push_back(mean_of(points));
    s.low.push_back(*std::min_element(points.begin(), points.end()));
    s.high.push_back(*std::max_element(points.begin(), points.end()));
  }
  return s;
}
std::string band(const std::vector<double>& x) {
  return fmt::format("{:.2f}  ({:.2f} - {:.2f})", mean_of(x), *std::min_element(x.begin(), x.end()),
                     *std::max_element(x.begin(), x.end()));
}

}  // namespace

void show_first_step(kit::Demo& demo, const Impl& impl) {
  demo.heading("\"Why is my loss 0?\"");
  const auto task = digits();
  const auto start = warm_start(*task, {}, 1);
  const int64_t samples = demo.whole("samples");
  const double lr = demo.setting("lr");
  demo.say(
      "A small GPT has imitated 60 batches of \"412=\" -> \"214.\" and now goes on from rewards: the share of the "
      "answer that is right up to the first mistake. One step: 16 prompts, {} responses each, 2 passes over "
      "all of them. The first pass and the second, at lr {:g}:",
      samples, lr);
  demo.line("{:<8}{:>8}{:>13}{:>10}{:>12}{:>12}{:>12}", "", "reward", "loss (first)", "grad norm", "|ratio - 1|",
            "loss (last)", "|ratio - 1|");
  double grpo_loss = 0, norm = 0, ratio = 0, dapo_loss = 0;
  for (const char* name : {"grpo", "dr_grpo", "dapo", "gpg"}) {
    rl::Algorithm a = with_functions(impl, name);
    a.epochs = 2;
    Student student(*start, a, {.task = *task, .samples = samples, .mini_batches = 1, .lr = lr});
    std::vector<rl::UpdateReport> updates;
    rl::RlHooks hooks;
    hooks.on_update = [&](const rl::UpdateReport& report) { updates.push_back(report); };
    const rl::Metrics m = student.step(hooks);
    const rl::UpdateReport &first = updates.front(), &last = updates.back();
    demo.line("{:<8}{:>8.3f}{:>13.7f}{:>10.3f}{:>12.2g}{:>12.4f}{:>12.3f}", name, m.at("reward/mean"), first.loss,
              first.grad_norm, first.ratio_error, last.loss, last.ratio_error);
    if (std::string(name) == "grpo") grpo_loss = std::abs(first.loss), norm = first.grad_norm;
    if (std::string(name) == "dapo") dapo_loss = std::abs(first.loss);
    ratio = std::max(ratio, first.ratio_error);
  }
  demo.gap();
  demo.say(
      "In the first pass the policy is the one that sampled: every ratio is exactly 1, a token's loss is minus "
      "its response's advantage, and the advantages of a group sum to 0. So GRPO's loss, a mean over responses, is 0 "
      "up to rounding, and says nothing; its gradient is not 0, and learning goes on. With the token mean long "
      "responses weigh more, and the 0 is gone; with -A log π (gpg) the value is something else again. Watch the "
      "reward and the gradient norm, not the loss.");
  demo.claim("largest |ratio - 1| in the first pass", ratio, "", kit::equals(0));
  demo.claim("GRPO's loss in it", grpo_loss, "", kit::at_most(1e-6));
  demo.claim("its gradient norm", norm, "", kit::at_least(0.05));
  demo.claim("the loss as a token mean (dapo)", dapo_loss, "", kit::at_least(1e-4));
}

void show_table(kit::Demo& demo, const Impl& impl) {
  demo.heading("Seven algorithms, one loop");
  const auto task = digits();
  const std::vector<uint64_t> seeds = demo.seeds(demo.full() ? 10 : 3);
  const double budget = demo.full() ? 15360 : 10240, lr = demo.setting("lr");
  const int64_t samples = demo.whole("samples");
  std::vector<std::unique_ptr<Transformer>> starts;
  std::vector<double> before, solved_before;
  for (const uint64_t seed : seeds) {
    starts.push_back(warm_start(*task, {}, seed));
    const Held held = examine(*starts.back(), *task);
    before.push_back(held.reward);
    solved_before.push_back(held.solved);
  }
  std::vector<Row> rows;
  for (const char* name : {"grpo", "gpg", "rloo", "dr_grpo", "dapo", "gspo", "cispo", "shuffled"}) {
    const bool control = std::string(name) == "shuffled";
    const rl::Algorithm a = with_functions(impl, control ? "dr_grpo" : name);
    Row row{.name = name, .after = {}, .first = {}, .last = {}, .curves = {}};
    for (size_t i = 0; i < seeds.size(); ++i) {
      const uint64_t seed = seeds[i];
      demo.status(fmt::format("{}, seed {} of {} ...", name, seed, seeds.size()));
      Student student(*starts[i], a, {.task = *task, .samples = samples, .lr = lr, .seed = seed, .shuffle = control});
      double sampled = 0, steps = 0;
      Row sums;
      std::vector<double> curve, norms;
      while (sampled < budget) {
        const rl::Metrics m = student.step();
        sampled += m.at("sampled/responses");
        ++steps;
        curve.push_back(m.at("sampled/reward"));
        norms.push_back(m.at("grad_norm"));
        sums.silent += m.at("sampled/alike"), sums.norm += m.at("grad_norm"), sums.length += m.at("length/mean");
        if (a.surrogate.is("clip")) sums.clipped += m.at("clip/low") + m.at("clip/high");
      }
      const Held held = examine(student.policy(), *task);
      const double n = static_cast<double>(seeds.size());
      row.after.push_back(held.reward);
      row.first.push_back(curve.front());
      row.last.push_back(mean_of({curve.end() - 10, curve.end()}));
      row.solved += held.solved / n;
      row.silent += 100 * sums.silent / steps / n;
      row.clipped += 100 * sums.clipped / steps / n;
      row.norm += sums.norm / steps / n;
      row.length += sums.length / steps / n;
      row.curves.push_back(curve);
      if (i == 0 && !a.dynamic_sampling) {  // with it the number of steps depends on the seed
        if (row.name != "grpo" && !control) demo.watch(row.name + ": sampled reward", curve);
        if (!control) demo.watch(row.name + ": gradient norm", norms);
      }
    }
    rows.push_back(row);
  }
  demo.say(
      "The same start, the same {:.0f} responses, lr {:g}, no KL; {} seeds. Sampled: reward of the samples, last "
      "ten steps: what is optimised. Held-out: greedy answers to 100 problems never trained on, with the lowest and "
      "highest seed. Silent: groups whose rewards are all alike. Clipped: tokens whose gradient the clip took.",
      budget, lr, seeds.size());
  demo.line("{:<9}{:>8}{:>21}{:>8}{:>8}{:>9}{:>7}{:>8}", "", "sampled", "held-out", "solved", "silent", "clipped",
            "norm", "length");
  demo.line("{:<9}{:>8.2f}{:>21}{:>6.0f} %", "start", mean_of(rows[0].first), band(before), mean_of(solved_before));
  for (const Row& r : rows) {
    demo.line("{:<9}{:>8.2f}{:>21}{:>6.0f} %{:>6.0f} %{:>7.1f} %{:>7.2f}{:>8.2f}", r.name, mean_of(r.last),
              band(r.after), r.solved, r.silent, r.clipped, r.norm, r.length);
  }
  demo.gap();
  demo.say("Sampled reward step by step, mean of the seeds (dapo needs more responses per step, so it makes fewer):");
  for (const Row& r : rows) demo.line("{:<10}{}", r.name, kit::sparkline(kit::thinned(curve_of(r).y, 40)));
  demo.gap();
  demo.show(kit::line_plot({demo.on_band(curve_of(rows[0])), demo.on_band(curve_of(rows.back()))},
                           {.x_label = "steps", .y_label = "sampled reward", .height = 10}));
  demo.gap();
  double least = INFINITY, held_out = 0;
  for (const Row& r : rows) {
    if (r.name == "shuffled") continue;
    least = std::min(least, mean_of(r.last) - mean_of(r.first));
    held_out += (mean_of(r.after) - mean_of(before)) / static_cast<double>(rows.size() - 1);
  }
  const Row &control = rows.back(), &grpo = rows[0], &gspo = rows[5];
  demo.say(
      "All seven learn what they are paid for, the reward of the samples. Greedy answers, which were better to begin "
      "with, gain less; a run seven times as long brings them further (configs/reverse_grpo_quick.yaml, seconds). The "
      "rows differ little more than the seeds do, so one seed does not rank them. What certainly differs is what they "
      "do: {:.0f} of 100 groups are silent on average, which DAPO draws again and pays for; GSPO's clip, 0.0003 wide, "
      "takes {:.0f} % of the tokens where GRPO's takes {:.1f} %. The last row is the control: the same loop with the "
      "rewards dealt out at random. If that row rose, the code would be wrong.",
      grpo.silent, gspo.clipped, grpo.clipped);
  demo.claim("sampled reward gained, the least of seven", least, "", kit::at_least(0.15));
  demo.claim("held-out, mean of seven, over the start", held_out, "", kit::at_least(0.05));
  demo.claim("sampled reward gained with shuffled rewards", mean_of(control.last) - mean_of(control.first), "",
             kit::at_most(0.05));
  demo.claim("tokens clipped by gspo / by grpo", gspo.clipped / std::max(grpo.clipped, 0.01), "x", kit::at_least(5));
}

}  // namespace pg::lesson09
