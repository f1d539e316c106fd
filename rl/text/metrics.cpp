// Metrics of a step and its health checks.
#include "rl/text/metrics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "rl/advantages.h"
#include "rl/methods/kl.h"
#include "rl/methods/statistics.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

const std::string kVaried = "groups/varied/";

struct Spread {
  double mean = 0, std = 0, min = 0, max = 0;
};
Spread spread_of(const std::vector<double>& x) {
  if (x.empty()) return {};
  Spread s{0, 0, x[0], x[0]};
  for (const double v : x) {
    s.mean += v / static_cast<double>(x.size());
    s.min = std::min(s.min, v);
    s.max = std::max(s.max, v);
  }
  for (const double v : x) s.std += (v - s.mean) * (v - s.mean) / static_cast<double>(x.size());
  s.std = std::sqrt(s.std);
  return s;
}

// Share of the token trigrams that occurred earlier in the same response.
double repetition(const std::vector<Response>& responses) {
  double triples = 0, again = 0;
  for (const Response& r : responses) {
    std::set<std::array<int32_t, 3>> seen;
    for (size_t t = 2; t < r.tokens.size(); ++t) {
      ++triples;
      again += !seen.insert({r.tokens[t - 2], r.tokens[t - 1], r.tokens[t]}).second;
    }
  }
  return triples == 0 ? 0 : again / triples;
}

// For a reward with several parts: the share of groups in which each part differs, and in which none does.
void add_parts(Metrics& m, const Experience& experience) {
  const auto parts = parts_with_signal(experience);
  if (parts.size() < 2) return;
  std::vector<double> any(experience.responses.size() / static_cast<size_t>(experience.samples));
  const auto groups = static_cast<double>(any.size());
  for (const auto& [name, signal] : parts) {
    const std::vector<double> flags = signal.to_vector();
    m.add(kVaried + name, std::accumulate(flags.begin(), flags.end(), 0.0) / groups);
    for (size_t p = 0; p < any.size(); ++p) any[p] = std::max(any[p], flags[p]);
  }
  m.add("groups/alike_in_all_parts", 1 - std::accumulate(any.begin(), any.end(), 0.0) / groups);
}

// "; parts of it differ: format in 100 % of the groups" if the reward has parts and one does, else nothing.
std::string varied_parts(const Metrics& m) {
  std::string text;
  for (const auto& [name, value] : m.values()) {
    if (!name.starts_with(kVaried) || value == 0) continue;
    text += fmt::format("{}{} in {:.3g} % of the groups", text.empty() ? "; parts of it differ: " : ", ",
                        name.substr(kVaried.size()), 100 * value);
  }
  return text;
}

}  // namespace

bool Metrics::has(std::string_view name) const {
  return std::any_of(values_.begin(), values_.end(), [&](const auto& value) { return value.first == name; });
}

double Metrics::at(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  fail("Metrics: there is no \"{}\"", name);
}

void add_rollout_metrics(Metrics& m, const Experience& experience) {
  const auto& all = experience.responses;
  const auto n = static_cast<double>(all.size());
  std::vector<double> rewards, lengths, finished_lengths;
  std::map<std::string, double> parts;
  double solved = 0, truncated = 0, prompt_length = 0;
  for (const Response& r : all) {
    prompt_length += static_cast<double>(r.prompt.size());
    rewards.push_back(r.score.reward);
    lengths.push_back(static_cast<double>(r.length()));
    if (r.finished) finished_lengths.push_back(lengths.back());
    solved += r.score.solved;
    truncated += !r.finished;
    for (const auto& [name, value] : r.score.parts) parts[name] += value / n;
  }
  const Spread reward = spread_of(rewards), length = spread_of(lengths);
  m.add("reward/mean", reward.mean);
  m.add("reward/std", reward.std);
  m.add("reward/min", reward.min);
  m.add("reward/max", reward.max);
  for (const auto& [name, value] : parts) m.add("reward/" + name, value);
  m.add("solved", solved / n);
  if (!all.empty() && all[0].score.formatted) {
    m.add("format", static_cast<double>(std::ranges::count_if(
                        all, [](const Response& r) { return r.score.formatted.value_or(false); })) /
                        n);
  }
  const size_t g = static_cast<size_t>(experience.samples), groups = all.size() / g;
  const std::vector<double> signal = groups_with_signal(experience).to_vector();
  double any = 0, alike = 0, all_zero = 0;
  for (size_t p = 0; p < groups; ++p) {
    bool one = false, zero = true;
    for (size_t i = p * g; i < (p + 1) * g; ++i) {
      one = one || all[i].score.solved;
      zero = zero && rewards[i] == 0;
    }
    any += one;
    alike += signal[p] == 0;
    all_zero += zero;
  }
  const auto share = [&](double count) { return count / static_cast<double>(groups); };
  if (g > 1) {
    m.add(fmt::format("solved_by_any_of_{}", g), share(any));
    m.add("groups/alike", share(alike));
    m.add("groups/all_zero", share(all_zero));
    add_parts(m, experience);
  }
  m.add("prompt/length", prompt_length / n);
  m.add("length/mean", length.mean);
  m.add("length/min", length.min);
  m.add("length/max", length.max);
  m.add("length/finished_mean", spread_of(finished_lengths).mean);
  m.add("length/truncated", truncated / n);
  m.add("repetition", repetition(all));
}

void add_eval_metrics(Metrics& m, const Experience& experience) {
  check(experience.samples == 1, "add_eval_metrics: {} responses to a problem, expected one", experience.samples);
  Metrics of_rollout;
  add_rollout_metrics(of_rollout, experience);
  const auto solved = std::count_if(experience.responses.begin(), experience.responses.end(),
                                    [](const Response& r) { return r.score.solved; });
  const auto n = std::ssize(experience.responses);
  const Interval interval = n == 0 ? Interval{NAN, NAN} : wilson_interval(solved, n);
  m.add("eval/reward", of_rollout.at("reward/mean"));
  m.add("eval/solved", of_rollout.at("solved"));
  m.add("eval/solved_low", interval.low);
  m.add("eval/solved_high", interval.high);
  if (of_rollout.has("format")) m.add("eval/format", of_rollout.at("format"));
  double entropy = 0, tokens = 0;
  for (const Response& r : experience.responses) {
    entropy += r.entropy;
    tokens += static_cast<double>(r.length());
  }
  m.add("eval/length", of_rollout.at("length/mean"));
  m.add("eval/prompt_length", of_rollout.at("prompt/length"));
  m.add("eval/entropy", tokens == 0 ? 0 : entropy / tokens);
}

void PolicyStats::add(const Algorithm& a, const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& entropy,
                      const Tensor& advantage, const TokenRows& rows) {
  const std::vector<double> now = log_prob.to_vector(), old = old_log_prob.to_vector(), h = entropy.to_vector(),
                            worth = advantage.to_vector(), mask = rows.mask.to_vector();
  const auto columns = static_cast<size_t>(rows.mask.size(1));
  for (size_t begin = 0; begin < mask.size(); begin += columns) {
    double sum = 0, length = 0;
    for (size_t i = begin; i < begin + columns; ++i) {
      if (mask[i] == 0) continue;
      sum += now[i] - old[i];
      ++length;
    }
    for (size_t i = begin; i < begin + columns; ++i) {
      if (mask[i] == 0) continue;
      const double log_ratio = a.ratio.per_sequence ? sum / length : now[i] - old[i];
      const double ratio = std::exp(std::clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio));
      ++tokens_;
      entropy_ += h[i];
      k1_ -= now[i] - old[i];  // of KL(old, now): the samples are from old
      k3_ += k3_value(now[i] - old[i]);
      ratio_ += ratio;
      ratio_min_ = std::min(ratio_min_, ratio);
      ratio_max_ = max_with_nan(ratio_max_, ratio);
      worst_ratio_error_ = max_with_nan(worst_ratio_error_, std::abs(ratio - 1));
      const int stopped = a.surrogate.stopped ? a.surrogate.stopped(log_ratio, worth[i], a) : 0;
      low_ += stopped < 0;
      high_ += stopped > 0;
    }
  }
}

void PolicyStats::report(const Algorithm& a, Metrics& m) const {
  const double n = std::max(1.0, tokens_);
  m.add("entropy", entropy_ / n);
  m.add("old_kl/k1", k1_ / n);
  m.add("old_kl/k3", k3_ / n);
  if (a.surrogate.stopped) {
    m.add("clip/low", low_ / n);
    m.add("clip/high", high_ / n);
  }
  m.add("ratio/min", ratio_min_);
  m.add("ratio/mean", ratio_ / n);
  m.add("ratio/max", ratio_max_);
}

std::vector<HealthCheck> health_checks(const Algorithm& a, const Metrics& m, int64_t step, int64_t vocab_size) {
  std::vector<HealthCheck> all;
  const auto examine = [&](const char* name, const char* metric, auto well, std::string why) {
    if (!m.has(metric)) return;
    const double value = m.at(metric);
    std::string words = why.starts_with("of the ") ? fmt::format("{:.3g} % {}", 100 * value, why)
                        : why.starts_with("nats ") ? fmt::format("{:.3g} {}", value, why)
                                                   : fmt::format("{:.3g}: {}", value, why);
    all.push_back({name, well(value), std::move(words)});
  };
  const auto at_most = [](double bar) { return [bar](double x) { return x <= bar; }; };
  const auto at_least = [](double bar) { return [bar](double x) { return x >= bar; }; };
  examine("ratio 1", "check/first_ratio_error", at_most(0),
          "the first ratio of fresh samples is not 1: sampler and trainer differ");
  examine("log p <= 0", "check/max_log_prob", at_most(0), "a log-probability above 0");
  examine("sum p = 1", "check/probability_sum_error", at_most(1e-4), "probabilities do not add up to 1");
  examine("gradients", "check/parameters_without_gradient", at_most(0), "parameters get no gradient");
  if (step == 1)
    examine("KL 0", "ref_kl/k3", at_most(a.reference.is_policy ? 0 : INFINITY),
            "KL(policy || reference) should be 0 at step 1: the two models differ");
  // The baseline of a reward's parts has a signal where the parts differ, though their sum may be constant.
  const char* alike =
      a.baseline.needs.parts && m.has("groups/alike_in_all_parts") ? "groups/alike_in_all_parts" : "groups/alike";
  examine("groups", alike, at_most(0.9),
          "of the groups have equal rewards and give no learning signal" + varied_parts(m));
  examine(
      "advantages", "advantage/zero", [&](double x) { return a.baseline.sparse ? x < 1 : x <= 0.9; },
      "of the tokens have an advantage of exactly 0: there is no learning signal, as when a group has one response "
      "only");
  examine("rewards", "check/rewards_shuffled", at_most(0),
          "the rewards are shuffled on purpose over the responses: nothing can be learned");
  examine("clip low", "clip/low", at_most(0.3), "of the tokens are clipped from below: smaller steps, or fewer epochs");
  examine("clip high", "clip/high", at_most(0.3),
          "of the tokens are clipped from above: smaller steps, or fewer epochs");
  const double most = std::log(static_cast<double>(vocab_size));
  examine("entropy floor", "entropy", at_least(0.01 * most), "nats of entropy: the policy no longer explores");
  examine("entropy", "entropy", at_most(0.98 * most), "nats of entropy: the policy is all but uniform");
  examine("repetition", "repetition", at_most(0.5), "of the triples of tokens repeat themselves");
  examine("truncation", "length/truncated", at_most(0.5), "of the responses ran into the limit");
  return all;
}

double share_without_advantage(const Batch& batch) {
  const std::vector<double> advantage = batch.advantage.to_vector(), mask = batch.mask.to_vector();
  double tokens = 0, zero = 0;
  for (size_t i = 0; i < mask.size(); ++i) {
    tokens += mask[i];
    zero += mask[i] != 0 && advantage[i] == 0;
  }
  return zero / tokens;
}

double reward_std(const Experience& experience) {
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(experience.responses.size());
  for (const Response& r : experience.responses) sum += r.score.reward;
  for (const Response& r : experience.responses) {
    squares += (r.score.reward - sum / n) * (r.score.reward - sum / n);
  }
  return std::sqrt(squares / n);
}

}  // namespace pg::rl
