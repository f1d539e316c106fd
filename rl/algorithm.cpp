// The table of algorithms, and the checks that choices are compatible.
#include "rl/algorithm.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "rl/algorithm_fields.h"
#include "tensor/base/range.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::rl {
namespace {

// Each row says what differs from the defaults of Algorithm.
std::vector<Algorithm> table() {
  std::vector<Algorithm> rows;
  const auto row = [&](const char* name, const char* source, auto... set) {
    Algorithm a;
    a.name = name;
    a.source = source;
    (set(a), ...);
    rows.push_back(std::move(a));
  };
  const auto token_clip = [](Algorithm& a) {
    a.ratio = Ratio::token;
    a.surrogate = Surrogate::clip;
  };
  const auto group_std = [](Algorithm& a) { a.baseline = Baseline::group_std; };
  const auto token_mean = [](Algorithm& a) { a.aggregation = Aggregation::token_mean; };
  const auto sequence_mean = [](Algorithm& a) { a.aggregation = Aggregation::sequence_mean; };
  const auto kl = [](KlPlace place, KlEstimator estimator, double beta) {
    return [=](Algorithm& a) {
      a.kl = place;
      a.kl_estimator = estimator;
      a.kl_control.beta = beta;
      a.reference = ReferenceKind::frozen;
    };
  };
  const auto baseline = [](Baseline b) { return [=](Algorithm& a) { a.baseline = b; }; };

  row("reinforce", "Williams 1992", [](Algorithm& a) { a.credit = Credit::to_go; });
  row("reinforce_baseline", "Williams 1992, with the mean of earlier batches taken off", baseline(Baseline::moving));
  row("rloo", "Ahmadian et al. 2024, arXiv:2402.14740", baseline(Baseline::leave_one_out),
      kl(KlPlace::reward, KlEstimator::k1, 0.05));
  row("remax", "Li et al. 2023, arXiv:2310.10505", baseline(Baseline::remax));
  row("gpg", "Chu et al. 2025, arXiv:2504.02546", baseline(Baseline::gpg), token_mean);
  row("opo", "Hao et al. 2025, arXiv:2505.23585", baseline(Baseline::opo));
  row("maxrl", "arXiv:2602.02710", baseline(Baseline::maxrl));
  row("reinforce_pp", "Hu 2025, arXiv:2501.03262", token_clip, token_mean, kl(KlPlace::reward, KlEstimator::k1, 0.01),
      [](Algorithm& a) {
        a.credit = Credit::to_go;
        a.whiten = true;
      });
  row("reinforce_pp_baseline", "Hu 2025, arXiv:2501.03262, second version", token_clip, token_mean,
      baseline(Baseline::group_mean), kl(KlPlace::loss, KlEstimator::k2, 0.01), [](Algorithm& a) { a.whiten = true; });
  row("ppo", "Schulman et al. 2017, arXiv:1707.06347; for language Ziegler et al. 2019, arXiv:1909.08593", token_clip,
      token_mean, baseline(Baseline::critic), kl(KlPlace::reward, KlEstimator::k1, 0.05), [](Algorithm& a) {
        a.credit = Credit::to_go;
        a.whiten = true;
        a.epochs = 4;
      });
  row("grpo", "Shao et al. 2024, arXiv:2402.03300", token_clip, group_std, sequence_mean,
      kl(KlPlace::loss, KlEstimator::k3, 0.04));
  row("dr_grpo", "Liu et al. 2025, arXiv:2503.20783", token_clip, baseline(Baseline::group_mean),
      [](Algorithm& a) { a.aggregation = Aggregation::constant; });
  row("lite_ppo", "Liu et al. 2025, arXiv:2508.08221", token_clip, baseline(Baseline::batch_std), token_mean);
  row("dapo", "Yu et al. 2025, arXiv:2503.14476", token_clip, group_std, token_mean, [](Algorithm& a) {
    a.clip_high = 0.28;
    a.dynamic_sampling = true;
    a.overlong_cache = 0.2;
  });
  const auto gspo = [](Algorithm& a) {
    a.surrogate = Surrogate::clip;
    a.clip_low = 3e-4;
    a.clip_high = 4e-4;
  };
  row("gspo", "Zheng et al. 2025, arXiv:2507.18071", gspo, group_std, sequence_mean,
      [](Algorithm& a) { a.ratio = Ratio::sequence; });
  row("gspo_token", "Zheng et al. 2025, arXiv:2507.18071, section 4.3", gspo, group_std, sequence_mean,
      [](Algorithm& a) { a.ratio = Ratio::sequence_token; });
  row("cispo", "MiniMax 2025, arXiv:2506.13585; cap of 5 from arXiv:2510.13786", group_std, token_mean,
      [](Algorithm& a) {
        a.ratio = Ratio::token;
        a.surrogate = Surrogate::cispo;
        a.clip_low = 1;
        a.clip_high = 4;
      });
  return rows;
}

// Whether a response is compared with the other responses to its prompt.
bool compares_group(Baseline baseline) {
  switch (baseline) {
    case Baseline::group_mean:
    case Baseline::leave_one_out:
    case Baseline::group_std:
    case Baseline::batch_std:
    case Baseline::opo:
    case Baseline::maxrl:
    case Baseline::gpg:
      return true;
    case Baseline::none:
    case Baseline::moving:
    case Baseline::batch_mean:
    case Baseline::remax:
    case Baseline::critic:
      return false;
  }
  return false;
}

}  // namespace

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> all = table();
  return all;
}

const Algorithm& algorithm(std::string_view name) {
  const auto& all = algorithms();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Algorithm& a) { return a.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Algorithm& a : all) names.push_back(a.name);
  fail("no algorithm \"{}\"{}; there are {}", name, did_you_mean(name, names), fmt::join(names, ", "));
}

void check_algorithm(const Algorithm& a) {
  for (const AlgorithmField& field : algorithm_fields()) field.check(a);
  const bool clips = a.surrogate != Surrogate::log_prob;
  check(clips == (a.ratio != Ratio::none), "{}: surrogate {} and ratio {} do not go together", a.name,
        word(a.surrogate), word(a.ratio));
  check(a.surrogate != Surrogate::cispo || a.ratio == Ratio::token, "{}: cispo weighs tokens; its ratio is token",
        a.name);
  check(a.baseline != Baseline::critic || a.credit == Credit::to_go, "{}: a critic credits to_go", a.name);
  const bool whole = a.baseline == Baseline::opo || a.baseline == Baseline::remax;
  check(!whole || a.credit == Credit::response, "{}: baseline {} compares whole responses", a.name, word(a.baseline));
  check((a.kl == KlPlace::none) || a.reference != ReferenceKind::none, "{}: a KL needs a reference", a.name);
  check(a.kl != KlPlace::reward || a.kl_estimator == KlEstimator::k1, "{}: in the reward the KL is k1, not {}", a.name,
        word(a.kl_estimator));
  check(a.reference != ReferenceKind::moving || a.reference_interval > 0,
        "{}: a moving reference needs a reference_interval", a.name);
  KlControl{a.kl_control};  // throws Error for a schedule without the options it requires
}

void check_algorithm(const Algorithm& a, const BatchShape& b) {
  check_algorithm(a);
  constexpr double kMost = 1 << 24;  // responses per step: each has its own random stream
  const auto in_range = [&](const char* name, int64_t value, double low, double high) {
    check_range(fmt::format("{}: {}", a.name, name), static_cast<double>(value), whole_from(low, high));
  };
  in_range("prompts", b.prompts, 1, kMost);
  in_range("samples", b.samples, 1, kMost);
  const int64_t responses = b.prompts * b.samples;
  in_range("prompts times samples", responses, 1, kMost);
  in_range("micro-batch", b.micro_batch, 0, kMost);
  in_range("mini-batches", b.mini_batches, 1, kMost);
  check(b.mini_batches <= responses, "{}: {} prompts x {} samples cannot make {} mini-batches", a.name, b.prompts,
        b.samples, b.mini_batches);
  check(b.samples > 1 || !compares_group(a.baseline),
        "{}: baseline {} compares the responses to one prompt with each other, and samples is 1: every advantage would "
        "be 0; take 2 samples or more, or baseline moving, batch_mean or remax",
        a.name, word(a.baseline));
  check(
      b.samples > 1 || !a.dynamic_sampling,
      "{}: dynamic-sampling keeps prompts whose responses earn different rewards, and samples is 1: take 2 samples or "
      "more, or dynamic-sampling false",
      a.name);
  check(responses > 1 || a.baseline != Baseline::batch_mean,
        "{}: baseline batch_mean compares responses with each other, and a step has one: take more prompts or samples",
        a.name);
  const KlControlOptions& kl = a.kl_control;
  check(kl.schedule != KlSchedule::adaptive || 0.2 * static_cast<double>(responses) < kl.horizon,
        "{}: kl-horizon must be above a fifth of the {} responses of a step, got {}: beta could become negative",
        a.name, responses, kl.horizon);
}

}  // namespace pg::rl
