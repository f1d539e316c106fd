// The demonstration of lesson 9, second part: each character gets its own reward, and a KL penalty keeps the policy
// near a bigram model.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/09_grpo/loop.h"
#include "lessons/kit/plot.h"
#include "rl/text/references.h"
#include "tasks/text/text_task.h"

namespace pg::lesson09 {
namespace {

constexpr int64_t kHorizon = 3, kContext = 8, kPrompts = 16;

struct Recipe {
  std::string name;
  double beta = 0;            // weight of the KL to the bigram
  double warmup = 0;          // number of characters over which beta rises from 0
  bool negative = false;      // -1 for a wrong character instead of 0
  double partial_credit = 0;  // times log π(character), added to its reward
};

// The fraction of characters that were right, by position.
struct Matches {
  std::vector<double> by_place = std::vector<double>(kHorizon, 0.0);
  double mean() const {
    double sum = 0;
    for (const double m : by_place) sum += m / static_cast<double>(kHorizon);
    return sum;
  }
};
Matches matches(const std::vector<rl::Response>& responses) {
  Matches m;
  for (const rl::Response& r : responses) {
    for (size_t t = 0; t < r.tokens.size(); ++t) {
      m.by_place[t] += (r.score.per_token[t] > 0) / static_cast<double>(responses.size());
    }
  }
  return m;
}
Matches write(Transformer& policy, const TextTask& task, bool greedy) {
  return matches(rl::rollout(policy, task, task.held_out(300), {.samples = greedy ? 1 : 4, .greedy = greedy, .seed = 9})
                     .responses);
}
// The responses of the bigram model to the same problems.
Matches write(const rl::BigramReference& bigram, const TextTask& task, bool greedy) {
  const auto table = bigram.log_probs().to_vector();
  const auto v = static_cast<size_t>(task.vocab_size());
  Generator random(9);
  std::vector<rl::Response> written;
  for (const Problem& problem : task.held_out(300)) {
    for (int sample = 0; sample < 4; ++sample) {
      rl::Response r;
      auto last = static_cast<size_t>(problem.prompt.back());
      for (int64_t t = 0; t < kHorizon; ++t) {
        const auto row = table.begin() + static_cast<int64_t>(last * v);
        auto next = static_cast<size_t>(std::max_element(row, row + static_cast<int64_t>(v)) - row);
        if (!greedy) {
          next = 0;
          for (double u = random.uniform() - std::exp(row[0]); u >= 0 && next + 1 < v;) {
            u -= std::exp(row[static_cast<int64_t>(++next)]);
          }
        }
        r.tokens.push_back(static_cast<int32_t>(last = next));
      }
      r.score = task.score(problem, r.tokens);
      written.push_back(std::move(r));
    }
  }
  return matches(written);
}

struct Run {
  std::vector<double> match;   // one value per step
  double kl = 0, entropy = 0;  // per character, at the end
  Matches sampled, greedy;
};
Run learn(const Impl& impl, const Recipe& recipe, const TextTask& task, int64_t samples, int64_t steps, uint64_t seed) {
  Generator init(seed);
  Transformer fresh({.vocab_size = task.vocab_size(),
                     .block_size = rl::block_size_for(task),
                     .n_layer = 1,
                     .n_head = 2,
                     .n_embd = 32,
                     .in_proj_std = 1 / std::sqrt(32.0)},
                    init);
  // The task pays 1/kHorizon for a right character, so the KL and the partial credit are scaled like it.
  const double scale = 1.0 / static_cast<double>(kHorizon);
  rl::RlConfig config;
  rl::Algorithm& a = config.algorithm = with_functions(impl, "dapo");
  a.dynamic_sampling = false;
  a.clip_high = 0.2;
  a.credit = "token";  // each character is compared with those at the same position of its group
  a.baseline = "group_mean";
  a.baseline.advantage =
      rl::compared([&impl](const rl::Groups& g, const rl::Algorithm&) { return impl.group_mean_advantage(g.credit); });
  a.kl = "loss";
  a.kl_estimator = "full";
  a.kl_control = {
      .schedule = recipe.warmup > 0 ? "warmup" : "fixed", .beta = recipe.beta * scale, .warmup_tokens = recipe.warmup};
  a.reference = "bigram";
  config.batch = {.prompts = kPrompts, .samples = samples, .micro_batch = 0};
  config.schedule.lr = 5e-3;
  config.adamw = {0.9, 0.95, 1e-8, 0};
  config.log_prob_credit = recipe.partial_credit * scale;
  config.seed = seed;
  rl::RlTrainer trainer(fresh, task, config);
  Run run;
  rl::RlHooks hooks;
  hooks.on_samples = [&](int64_t, const rl::Experience& experience, const rl::Batch&) {
    run.match.push_back(matches(experience.responses).mean());
  };
  for (int64_t step = 0; step < steps; ++step) {
    const rl::Metrics m = trainer.step(hooks);
    run.kl = m.at("kl_loss");
    run.entropy = m.at("entropy");
  }
  run.sampled = write(fresh, task, false);
  run.greedy = write(fresh, task, true);
  return run;
}

// Means over the seeds, and the curve with the band from the smallest to the largest seed.
struct Result {
  kit::Series curve;
  double kl = 0, entropy = 0;
  Matches sampled, greedy;
};
Result summary(const std::string& name, const std::vector<Run>& runs) {
  Result r;
  r.curve.name = name;
  const auto n = static_cast<double>(runs.size());
  for (const Run& run : runs) {
    r.kl += run.kl / n;
    r.entropy += run.entropy / n;
    for (size_t t = 0; t < kHorizon; ++t) {
      r.sampled.by_place[t] += run.sampled.by_place[t] / n;
      r.greedy.by_place[t] += run.greedy.by_place[t] / n;
    }
  }
  for (size_t i = 0; i + 8 <= runs[0].match.size(); i += 4) {  // means of eight steps, to make the curve readable
    std::vector<double> points;
    for (const Run& run : runs) {
      double sum = 0;
      for (size_t k = 0; k < 8; ++k) sum += run.match[i + k] / 8;
      points.push_back(sum);
    }
    r.curve.x.push_back(static_cast<double>(i) + 4);
    r.curve.y.push_back(std::accumulate(points.begin(), points.end(), 0.0) / n);
    r.curve.low.push_back(*std::min_element(points.begin(), points.end()));
    r.curve.high.push_back(*std::max_element(points.begin(), points.end()));
  }
  return r;
}

}  // namespace

void show_characters(kit::Demo& demo, const Impl& impl) {
  demo.heading("Characters, each paid for itself");
  const auto task = imitate_task({.length = kHorizon, .context = kContext, .corpus = "stories"});
  const auto signs = imitate_task({.length = kHorizon, .context = kContext, .negative = true, .corpus = "stories"});
  const rl::BigramReference bigram(task->corpus(), task->vocab_size());
  const int64_t steps = demo.full() ? 480 : 160;
  const std::vector<uint64_t> seeds = demo.seeds(demo.full() ? 10 : 3);
  const Matches by_bigram = write(bigram, *task, false);
  const double bigram_greedy = 100 * write(bigram, *task, true).by_place[0];
  const int64_t samples = demo.whole("samples");
  const double warmup = static_cast<double>(steps * kPrompts * samples * kHorizon) / 4;
  const double beta = demo.setting("beta"), partial = demo.setting("partial");
  const Recipe recipes[] = {
      {.name = "matches alone"},
      {.name = "and KL", .beta = beta, .warmup = warmup},
      {.name = "the same, -1 for wrong", .beta = beta, .warmup = warmup, .negative = true},
      {.name = "KL and partial credit", .beta = beta, .warmup = warmup, .partial_credit = partial}};
  demo.say(
      "A new GPT reads {} characters of the built-in stories and writes {}. Each earns 1 if it is the right one, and "
      "is compared with what the {} others of its group wrote at that position. The reference counts neighbours: "
      "P(next "
      "| last). Its KL enters with weight {:g}, which rises from 0 over the first quarter of {} steps. Partial credit "
      "adds {:g} log pi(character). Means of {} seeds:",
      kContext, kHorizon, samples - 1, beta, steps, partial, seeds.size());
  const auto line = [&](const std::string& name, const Matches& m, const std::string& rest) {
    demo.line("{:<24}{:>6.1f}{:>6.1f}{:>6.1f}{}", name, 100 * m.by_place[0], 100 * m.by_place[1], 100 * m.by_place[2],
              rest);
  };
  demo.line("{:<24}{:>6}{:>6}{:>6}{:>12}{:>11}{:>9}", "% right at place", 1, 2, 3, "1, greedy", "KL/char", "entropy");
  line("the bigram", by_bigram, fmt::format("{:>12.1f}{:>11.2f}", bigram_greedy, 0.0));
  std::vector<Result> results;
  for (const Recipe& recipe : recipes) {
    std::vector<Run> runs;
    for (const uint64_t seed : seeds) {
      demo.status(fmt::format("{}, seed {} of {} ...", recipe.name, seed, seeds.size()));
      runs.push_back(learn(impl, recipe, recipe.negative ? *signs : *task, samples, steps, seed));
    }
    results.push_back(summary(recipe.name, runs));
    const Result& r = results.back();
    line(recipe.name, r.sampled,
         fmt::format("{:>12.1f}{:>11.2f}{:>9.2f}", 100 * r.greedy.by_place[0], r.kl, r.entropy));
  }
  demo.gap();
  demo.show(kit::line_plot({demo.on_band(results[0].curve), demo.on_band(results[1].curve)},
                           {.x_label = "steps", .y_label = "share right", .height = 10}));
  demo.gap();
  demo.say(
      "Paid for matches alone it found the one character that is most often right, a space, and writes nothing else: "
      "entropy 0, all groups silent, no gradient. The reward did not forbid it. With the KL from the bigram it keeps "
      "trying, and its samples are right more often than the bigram's. Greedy, it is right {:.1f} times of 100, the "
      "bigram {:.1f}: a reward of 0 or 1 says little, counting a million characters says much. -1 for a wrong one "
      "changes little: subtracting the group's mean removes the shift, and the advantages are the same times 2, which "
      "halves the KL's share. Partial credit, log pi, pays for being sure: an entropy bonus with the wrong sign.",
      100 * results[1].greedy.by_place[0], bigram_greedy);
  demo.claim("entropy after matches alone", results[0].entropy, "nats", kit::at_most(0.3));
  demo.claim("its KL from the bigram", results[0].kl, "nats", kit::at_least(3));
  demo.claim("right, with KL, over the bigram's", 100 * (results[1].sampled.mean() - by_bigram.mean()), "% points",
             kit::at_least(0.5));
  demo.claim("entropy with KL", results[1].entropy, "nats", kit::at_least(0.8));
  demo.claim("KL from the bigram with KL", results[1].kl, "nats", kit::at_most(1.5));
}

}  // namespace pg::lesson09
