// The demonstration of lesson 8: the effects of the stages on a small GPT, measured over several seeds.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "lessons/08_rlhf/show.h"
#include "lessons/kit/plot.h"

namespace pg::lesson08 {
namespace {

constexpr int64_t kSteps = 100, kDpoSteps = 120, kPairs = 600;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Statistics of 256 responses of a policy.
struct Writing {
  double human = 0, sentences = 0, proxy = 0, kl = 0;
  std::string sample;
};
Writing measure(const Impl& impl, Transformer& policy, Transformer& reference, const TextTask& task,
                const rl::Judge& judge) {
  NoGrad no_grad;
  rl::Experience experience = write(policy, task, 256, 1, 77);
  Writing w;
  for (const Response& r : experience.responses) {
    w.human += r.score.reward / 256;
    w.sentences += 100 * r.score.parts[0].second / 256;
  }
  const auto view = pointers(experience.responses);
  w.kl = mean(impl.sequence_log_probs(policy, view) - impl.sequence_log_probs(reference, view)).item();
  judge(experience.responses);
  for (const Response& r : experience.responses) w.proxy += r.score.reward / 256;
  const Response& shown = experience.responses[2];
  w.sample = task.text(shown.prompt) + " | " + task.text(shown.tokens);
  return w;
}

// All results of one seed, from the preferences on.
struct Run {
  double labels_right, accuracy;
  Curve without, with;
  DpoCurve dpo, dpo_free;
  Writing before, after_without, after_with, after_dpo, after_dpo_free;
  std::unique_ptr<Transformer> policy;  // trained by PPO with the KL
  std::unique_ptr<rl::ScalarModel> reward_model;
};
Run run(kit::Demo& demo, const Impl& impl, Transformer& sft, const TextTask& task, uint64_t seed) {
  Run r;
  const auto status = [&](const char* what) { demo.status(fmt::format("seed {}: {} ...", seed, what)); };
  status("preferences");
  Generator labels(seed);
  rl::Experience drawn = write(sft, task, 2600, 2, 100 + seed);
  const std::vector<rl::Preference> all = rl::label_pairs(drawn, 0.3, labels);
  const std::vector<rl::Preference> pairs(all.begin(), all.begin() + kPairs), held_out(all.begin() + kPairs, all.end());
  status("reward model");
  Generator head(200 + seed);
  r.reward_model = std::make_unique<rl::ScalarModel>(sft, 1 / std::sqrt(sft.config.n_embd + 1.0), head);
  learn_preferences(impl, *r.reward_model, pairs, 200, seed);
  r.accuracy = accuracy(*r.reward_model, held_out);
  r.labels_right = share_right(task, held_out);
  rl::Experience usual = write(sft, task, 256, 1, 300 + seed);
  const rl::RewardModelJudge pays(*r.reward_model, usual.responses);
  const rl::Judge judge = [&](std::vector<Response>& responses) { pays(responses); };
  r.before = measure(impl, sft, sft, task, judge);

  const auto ppo = [&](double beta, Curve& curve) {
    auto policy = copy_of(sft.config, sft);
    curve =
        improve(impl, *policy, task, judge, {.beta = beta, .lr = demo.setting("lr"), .steps = kSteps, .seed = seed});
    return policy;
  };
  status("PPO without KL");
  r.after_without = measure(impl, *ppo(0, r.without), sft, task, judge);
  status("PPO with KL");
  r.policy = ppo(demo.setting("beta"), r.with);
  r.after_with = measure(impl, *r.policy, sft, task, judge);
  const auto dpo = [&](double beta, DpoCurve& curve) {
    auto policy = copy_of(sft.config, sft);
    curve = prefer(impl, *policy, pairs, beta, kDpoSteps, seed);
    return measure(impl, *policy, sft, task, judge);
  };
  status("DPO");
  r.after_dpo = dpo(1, r.dpo);
  r.after_dpo_free = dpo(demo.setting("dpo_beta"), r.dpo_free);
  return r;
}

// Means over five steps each; over the seeds, a line with a band from the smallest to the largest value.
kit::Series band(const std::string& name, const std::vector<Run>& runs, Curve Run::*of,
                 std::vector<double> Curve::*what) {
  kit::Series series{.name = name, .y = {}};
  for (int64_t step = 0; step < kSteps; step += 5) {
    std::vector<double> points;
    for (const Run& r : runs) {
      const auto begin = (r.*of.*what).begin() + step;
      points.push_back(mean_of({begin, begin + 5}));
    }
    series.x.push_back(static_cast<double>(step) + 2.5);
    series.y.push_back(mean_of(points));
    series.low.push_back(*std::min_element(points.begin(), points.end()));
    series.high.push_back(*std::max_element(points.begin(), points.end()));
  }
  return series;
}

double mean_of(const std::vector<Run>& runs, Writing Run::*of, double Writing::*what) {
  std::vector<double> values;
  for (const Run& r : runs) values.push_back(r.*of.*what);
  return mean_of(values);
}

void print(kit::Demo& demo, const std::string& name, const std::vector<Run>& runs, Writing Run::*of) {
  double low = 2, high = 0;
  for (const Run& r : runs) {
    low = std::min(low, (r.*of).human);
    high = std::max(high, (r.*of).human);
  }
  demo.line("{:<18}{:>7.2f} ({:.2f} to {:.2f}){:>10.0f} %{:>11.2f}{:>9.1f}", name, mean_of(runs, of, &Writing::human),
            low, high, mean_of(runs, of, &Writing::sentences), mean_of(runs, of, &Writing::proxy),
            mean_of(runs, of, &Writing::kl));
  demo.line("    \"{}\"", (runs[0].*of).sample);
}

void show_over_optimisation(kit::Demo& demo, const std::vector<Run>& runs) {
  demo.heading("Stage 3: PPO, without and with the KL");
  demo.say(
      "The policy writes 64 responses a step and is paid by the reward model (0 is what stage 1 earned, 1 a standard "
      "deviation more). The human is not asked any more; we only look at what they would have said, 0 to 2. First with "
      "β = 0:");
  const auto plot = [&](Curve Run::*of, const std::string& how) {
    demo.show(kit::line_plot({demo.on_band(band("reward model" + how, runs, of, &Curve::proxy)),
                              demo.on_band(band("human" + how, runs, of, &Curve::human))},
                             {.x_label = "step", .y_label = "reward", .height = 11}));
    demo.gap();
  };
  plot(&Run::without, " without KL");
  const double beta = demo.setting("beta");
  demo.say("The same with β = {0:g}: each token pays {0:g}·(log π - log reference).", beta);
  plot(&Run::with, " with KL");
}

void claims(kit::Demo& demo, const std::vector<Run>& runs) {
  const auto gap = [&](double Writing::*what) {
    return mean_of(runs, &Run::after_without, what) - mean_of(runs, &Run::after_with, what);
  };
  std::vector<double> first;
  for (const Run& r : runs) first.push_back(std::abs(r.dpo.loss[0] - std::numbers::ln2));
  demo.claim("human, PPO with KL", mean_of(runs, &Run::after_with, &Writing::human), "", kit::at_least(1.5));
  demo.claim("human, PPO without KL minus with", gap(&Writing::human), "", kit::at_most(-0.3));
  demo.claim("reward model, PPO without KL minus with", gap(&Writing::proxy), "", kit::at_least(0.05));
  demo.claim("DPO's first loss from ln 2, worst seed", *std::max_element(first.begin(), first.end()), "",
             kit::at_most(1e-6));
  const double before = mean_of(runs, &Run::before, &Writing::human);
  demo.claim("human, DPO with beta 1, above SFT", mean_of(runs, &Run::after_dpo, &Writing::human) - before, "",
             kit::at_least(0.05));
}

}  // namespace

void demo(kit::Demo& demo, const Impl& impl) {
  const FinishTheSentence task;
  Generator init(8);
  Transformer sft(config(task), init);
  show_imitation(demo, impl, sft, task);

  std::vector<Run> runs;
  for (const uint64_t seed : demo.seeds(demo.full() ? 10 : 3)) runs.push_back(run(demo, impl, sft, task, seed));

  std::vector<double> accuracies, right;
  for (const Run& r : runs) {
    accuracies.push_back(r.accuracy);
    right.push_back(r.labels_right);
  }
  demo.heading("Stage 2: a reward model from choices");
  demo.say(
      "The human gives 0 to nonsense, 1 to a sentence, 2 to a sentence with just one moon, but says only which of two "
      "responses is better, and is sometimes wrong: {:.1f} % of the held-out labels are right. A copy of the policy "
      "with "
      "one output reads {} pairs. (From here on: {} seeds.)",
      100 * mean_of(right), kPairs, runs.size());
  demo.claim("held-out pairs that the reward model orders as labelled", 100 * mean_of(accuracies), "%",
             kit::at_least(75));

  show_models(demo, sft, *runs[0].reward_model);
  show_over_optimisation(demo, runs);
  rl::Experience usual = write(sft, task, 256, 1, 301);
  const rl::RewardModelJudge pays(*runs[0].reward_model, usual.responses);
  const rl::Judge judge = [&](std::vector<Response>& responses) { pays(responses); };
  show_tokens(demo, impl, *runs[0].policy, sft, task, judge, demo.setting("beta"));

  demo.heading("Stage 3 again: DPO on the same pairs");
  const auto& d = runs[0].dpo;
  const auto& f = runs[0].dpo_free;
  demo.say(
      "No reward model, no critic, no sampling: two models and the {} pairs. The margin chosen - rejected grows, but "
      "how? Nats from the reference, the first seed: with β = 1 the chosen ones {:+.1f}, the rejected ones {:+.1f}; "
      "with β = "
      "{:g} {:+.1f} and {:+.1f}. Where both fall, the probability goes to responses that nobody has judged.",
      kPairs, d.chosen.back(), d.rejected.back(), demo.setting("dpo_beta"), f.chosen.back(), f.rejected.back());
  demo.line("{:<18}{:>22}{:>12}{:>11}{:>9}", "256 responses", "human (seeds)", "sentences", "proxy", "KL");
  print(demo, "SFT", runs, &Run::before);
  print(demo, "PPO, beta 0", runs, &Run::after_without);
  print(demo, fmt::format("PPO, beta {:g}", demo.setting("beta")), runs, &Run::after_with);
  print(demo, fmt::format("DPO, beta {:g}", demo.setting("dpo_beta")), runs, &Run::after_dpo_free);
  print(demo, "DPO, beta 1", runs, &Run::after_dpo);
  demo.gap();
  claims(demo, runs);
}

}  // namespace pg::lesson08

int main(int argc, char** argv) {
  using namespace pg::lesson08;
  return pg::kit::run_lesson(
      pg::kit::Lesson<Impl>{.number = "8",
                            .folder = "lessons/08_rlhf",
                            .title = "RLHF",
                            .reference = reference(),
                            .checks = checks(),
                            .demo = demo,
                            .settings = {pg::kit::seed_setting(),
                                         {"beta", 0.2, 0, 5, "weight of the KL in PPO's reward"},
                                         {"lr", 0.002, 0.0001, 0.1, "learning rate of PPO"},
                                         {"dpo_beta", 0.1, 0.001, 10, "beta of the second DPO; the first has 1"}}},
      argc, argv);
}
