// Options that a choice of rows does not use, and what explain() says of the rows that are chosen.
#include "rl/text/trainer.h"
#include "tests/catch.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::rl;
using testing::contains;
using testing::Doubles;

namespace {

std::vector<std::string> names_of_unused(const Algorithm& a) {
  std::vector<std::string> names;
  for (const UnusedField& unused : unused_fields(a)) names.push_back(unused.name);
  return names;
}

std::string why_unused(const RlConfig& config, std::string_view name) {
  for (const UnusedField& unused : unused_fields(config)) {
    if (unused.name == name) return unused.why;
  }
  return "";
}

// Two groups of three responses with two tokens each, in which every number differs.
Batch some_batch() {
  const std::vector<int32_t> prompt = {1}, tokens = {2, 3};
  const std::vector<uint8_t> chosen = {1, 1};
  const std::vector<Sequence> sequences(6, {prompt, tokens, chosen});
  Batch b;
  static_cast<TokenRows&>(b) = token_rows(sequences);
  b.samples = 3;
  Generator g(4);
  const Shape shape = b.mask.shape();
  const auto draw = [&](double mean) { return Tensor::normal(shape, mean, 0.7, g, f64); };
  b.reward = draw(1);
  b.value = draw(1);
  b.old_log_prob = draw(-2);
  b.sampler_log_prob = b.old_log_prob + 0.3 * draw(0);
  b.ref_log_prob = draw(-2);
  b.entropy = abs(draw(1));
  b.greedy = Tensor::from<double>({0.5, 1.5}, {2, 1});
  b.parts = {contiguous(draw(1).view_slice(1, 0, 1)), contiguous(draw(2).view_slice(1, 0, 1))};
  b.part_names = {"exact", "format"};
  return b;
}

// What an update computes from a rollout: the advantages, the loss of the tokens and the KL.
Doubles outcome(const Algorithm& a) {
  Batch b = some_batch();
  KlControl control(a.kl_control);
  MovingBaseline moving(a.baseline_decay, 2, 1.5);
  moving.advantage(b.reward);
  if (a.kl.in_reward)
    b.reward = a.kl.subtract(b.reward, {b.old_log_prob, b.ref_log_prob, b.old_log_prob, {}, b.mask}, control.beta());
  b.advantage = advantages(a, b, moving);
  Generator g(3);
  if (a.tokens.select) b.selected = a.tokens.select(b, a, g);
  const Tensor now = b.old_log_prob + 0.6 * b.value;
  const Denominators total = denominators(b.mask, 3);
  Doubles all = b.advantage.to_vector();
  all.push_back(a.aggregation.aggregate(token_losses(a, now, b), b.mask, total).item());
  if (a.kl.in_loss) {
    const Tensor kl = a.kl_estimator.estimate({now, b.ref_log_prob, b.old_log_prob, {}, b.mask});
    all.push_back(control.beta() * a.aggregation.aggregate(kl, b.mask, total).item());
  }
  return all;
}

}  // namespace

TEST_CASE("defect: an option that no chosen row uses is accepted", "[rl][defects]") {
  using Names = std::vector<std::string>;
  const Names kl = {"kl-estimator", "kl-schedule", "beta", "kl-warmup-tokens", "kl-target", "kl-horizon"};
  const auto list = [](std::initializer_list<Names> lists) {
    Names all;
    for (const Names& names : lists) all.insert(all.end(), names.begin(), names.end());
    return all;
  };
  const Names of_ratio = {"clip-low", "clip-high", "dual-clip", "delta", "tau-positive", "tau-negative"};
  const Names of_tokens = {"token-share", "covariance-low", "covariance-high", "covariance-coef"};
  const Names moving = {"reference-interval", "reference-decay"}, critic = {"value-coef", "value-clip"};
  CHECK(names_of_unused(algorithm("reinforce")) == list({{"baseline-decay", "lambda", "ddof", "eps", "best-of"},
                                                         of_ratio,
                                                         {"weight-floor"},
                                                         of_tokens,
                                                         kl,
                                                         moving,
                                                         critic}));
  CHECK(names_of_unused(algorithm("ppo")) ==
        list({{"baseline-decay", "eps", "best-of"},
              {"dual-clip", "delta", "tau-positive", "tau-negative", "weight-floor"},
              of_tokens,
              {"kl-warmup-tokens", "kl-target", "kl-horizon"},
              moving}));
  CHECK(names_of_unused(algorithm("kl_cov")) == list({{"baseline-decay", "gamma", "lambda", "best-of"},
                                                      of_ratio,
                                                      {"weight-floor", "covariance-low", "covariance-high"},
                                                      kl,
                                                      moving,
                                                      critic}));
  Algorithm a = algorithm("grpo");
  a.kl = "none";
  a.reference = "ema";
  const Names of_ema = names_of_unused(a);
  for (const char* name : {"reference", "reference-decay", "beta"})
    CHECK(std::count(of_ema.begin(), of_ema.end(), name) == 1);
  a.kl = "loss";
  a.kl_control.schedule = "adaptive";
  for (const char* name : {"reference", "reference-decay", "beta", "kl-target", "kl-horizon"}) {
    const Names unused = names_of_unused(a);
    CHECK(std::count(unused.begin(), unused.end(), name) == 0);
  }

  // The reason names the rows that have the option, the chosen one, and the options that these rows have.
  RlConfig config;
  config.algorithm = algorithm("rloo");
  const std::string clip = why_unused(config, "clip-low"), target = why_unused(config, "kl-target");
  CHECK(contains(clip,
                 "an option of surrogate clip, dual_clip, two_sided_clip, gmpo, cispo; here is surrogate log_prob"));
  CHECK(contains(clip, "The options of rloo's rows are weight-cap, kl-estimator, kl-schedule, beta, reference"));
  CHECK(contains(target, "an option of kl-schedule adaptive, stepped; here is kl-schedule fixed"));
  CHECK(contains(why_unused(config, "ddof"), "whiten true; here is baseline leave_one_out, whiten false"));
  config.algorithm = algorithm("dr_grpo");
  CHECK(contains(why_unused(config, "beta"), "it is for a KL to a reference (kl reward or loss), and kl is none"));
  CHECK(contains(why_unused(config, "critic-lr"), "for a critic, and the baseline is group_mean"));
  CHECK(contains(why_unused(config, "lowest-temperature"), "target-std is 0"));
  config.algorithm = algorithm("ppo");
  config.adaptive_temperature.target_std = 0.4;
  for (const char* name : {"critic-lr", "shared-critic", "lowest-temperature", "value-clip", "lambda"})
    CHECK(why_unused(config, name) == "");
}

TEST_CASE("an option that counts as unused changes no bit of an update", "[rl]") {
  size_t tried = 0;
  for (const Algorithm& row : algorithms()) {
    Algorithm a = row;
    a.token_share = 0.5;
    a.covariance_low = -5;
    a.best_of = 2;
    const Doubles before = outcome(a);
    for (const UnusedField& unused : unused_fields(a)) {
      Algorithm changed = a;
      const Field field = find_field(fields(changed), a.name, unused.name);
      if (std::holds_alternative<NamedValue>(field.value)) continue;
      for (const char* value : {"0.7", "1.3", "1", "0", "3"}) {
        if (!field.refusal(value).empty() || field.text() == value) continue;
        field.set(value);
        INFO(a.name << ", " << unused.name << " " << value);
        CHECK(outcome(changed) == before);
        ++tried;
      }
    }
  }
  CHECK(tried > 500);
}

TEST_CASE("defect: explain does not say that tokens are selected once per rollout", "[rl][defects]") {
  for (const char* name : {"clip_cov", "kl_cov", "high_entropy"}) {
    INFO(name);
    CHECK(contains(explain(algorithm(name), {}), "once per rollout"));
  }
  Algorithm a = algorithm("high_entropy");
  a.entropy_bonus = 0.02;
  CHECK(contains(explain(a, {}), "loss -= 0.02 entropy of all tokens"));
}

TEST_CASE("defect: explain names the wrong authors of the best-only estimator", "[rl][defects]") {
  const std::string best = explain(algorithm("pass_at_k"), {}), pkpo = explain(algorithm("pkpo"), {});
  CHECK(contains(best, "Tang, Zheng, Synnaeve and Munos 2025, arXiv:2503.19595"));
  CHECK(!contains(best, "Walder"));
  CHECK(contains(pkpo, "Walder and Karkhanis 2025, arXiv:2505.15201"));
  CHECK(contains(pkpo, "n / C(n, 4) sum over the sets of 4 of the group's n responses"));
  Algorithm many = algorithm("pkpo");
  many.best_of = 9;
  CHECK(contains(testing::error_of([&] { check_algorithm(many, {.samples = 8}); }), "take more samples, or a smaller"));
}

TEST_CASE("defect: explain gives the paper of a row that was changed", "[rl][defects]") {
  const auto first_line = [](const Algorithm& a) {
    const std::string text = explain(a, {});
    return text.substr(0, text.find('\n'));
  };
  Algorithm a = algorithm("grpo");
  CHECK(first_line(a) == "grpo  (Shao et al. 2024, arXiv:2402.03300)");
  a.baseline = "group_mean";
  a.kl_control.beta = 0.5;
  CHECK(first_line(a) == "grpo  (Shao et al. 2024, arXiv:2402.03300; changed: baseline group_mean, beta 0.5)");
  a.name = "mine";  // a row of one's own, begun as a copy
  CHECK(first_line(a) ==
        "mine  (from grpo, Shao et al. 2024, arXiv:2402.03300; changed: baseline group_mean, beta 0.5)");
  a.source = "a new paper";
  CHECK(first_line(a) == "mine  (a new paper)");
}
