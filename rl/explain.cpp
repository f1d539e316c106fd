// explain(): an algorithm as words and formulas.
#include "rl/algorithm.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

std::string credit_text(const Algorithm& a) {
  switch (a.credit) {
    case Credit::response:
      return "R = sum of the response's rewards, equal for each of its tokens";
    case Credit::to_go:
      return fmt::format("R_t = sum over t' >= t of {}r_t'", a.gamma == 1 ? "" : fmt::format("{:g}^(t'-t) ", a.gamma));
    case Credit::token:
      return "R_t = r_t, the token's own reward";
  }
  return "";
}

std::string advantage_text(const Algorithm& a) {
  const char* n = a.ddof == 1 ? "n-1" : "n";
  switch (a.baseline) {
    case Baseline::none:
      return "A = R";
    case Baseline::moving:
      return fmt::format("A = R - b, b the mean of earlier batches (decay {:g}); this batch is not in it",
                         a.baseline_decay);
    case Baseline::batch_mean:
      return "A = R - mean over the batch";
    case Baseline::group_mean:
      return "A = R - mean over the group";
    case Baseline::leave_one_out:
      return "A = R - mean over the others of the group = G/(G-1) (R - mean)";
    case Baseline::group_std:
      return fmt::format("A = (R - mean) / (std + {:g}) over the group, variance divided by {}; equal rewards: A = 0",
                         a.eps, n);
    case Baseline::batch_std:
      return fmt::format("A = (R - group mean) / (batch std + {:g}), variance divided by {}", a.eps, n);
    case Baseline::opo:
      return "A = R - sum(len R) / sum(len) over the group";
    case Baseline::remax:
      return "A = R - R of the greedy response";
    case Baseline::maxrl:
      return "A = (R - mean) / mean over the group, 0 where the mean is 0";
    case Baseline::gpg:
      return "A = alpha (R - group mean), alpha = responses / responses in groups with different rewards";
    case Baseline::critic:
      return fmt::format("delta_t = r_t + {}V_t+1 - V_t;  A_t = delta_t + {:g} A_t+1;  nothing follows the last token",
                         a.gamma == 1 ? "" : fmt::format("{:g} ", a.gamma), a.gamma * a.lambda);
  }
  return "";
}

std::string ratio_text(const Algorithm& a) {
  switch (a.ratio) {
    case Ratio::none:
      return "none: the samples are the policy's own";
    case Ratio::token:
      return "rho_t = pi(token) / old(token)";
    case Ratio::sequence:
      return "s = exp(mean over the response of log pi - log old), one for all its tokens";
    case Ratio::sequence_token:
      return "s as a constant, times pi / sg(pi) for each token's gradient";
  }
  return "";
}

std::string surrogate_text(const Algorithm& a) {
  const std::string r = a.ratio == Ratio::sequence || a.ratio == Ratio::sequence_token ? "s" : "rho";
  const std::string clip = fmt::format("clip({}, {:g}, {:g})", r, 1 - a.clip_low, 1 + a.clip_high);
  switch (a.surrogate) {
    case Surrogate::log_prob:
      return "l = -A log pi";
    case Surrogate::ratio:
      return fmt::format("l = -{} A", r);
    case Surrogate::clip:
      return fmt::format("l = -min({0} A, {1} A)", r, clip);
    case Surrogate::dual_clip:
      return fmt::format("l = -min({0} A, {1} A), at most {2:g} |A| where A < 0", r, clip, a.dual_clip);
    case Surrogate::cispo:
      return fmt::format("l = -sg({}) A log pi", clip);
  }
  return "";
}

std::string aggregation_text(Aggregation how) {
  switch (how) {
    case Aggregation::token_mean:
      return "sum of l over all tokens / number of tokens in the mini-batch";
    case Aggregation::sequence_mean:
      return "mean over the mini-batch's responses of (mean of l over the response's tokens)";
    case Aggregation::constant:
      return "sum of l over all tokens / (responses in the mini-batch times the longest possible length)";
    case Aggregation::sequence_sum:
      return "mean over the mini-batch's responses of (sum of l over the response's tokens)";
  }
  return "";
}

std::string kl_text(const Algorithm& a) {
  if (a.kl == KlPlace::none) return "none";
  std::string text;
  switch (a.kl_estimator) {
    case KlEstimator::k1:
      text = "k1, k1 = log pi - log ref";
      break;
    case KlEstimator::k2:
      text = "k2, k2 = (log pi - log ref)^2 / 2";
      break;
    case KlEstimator::k3:
      text = "k3, k3 = ref/pi - 1 - log(ref/pi)";
      break;
    case KlEstimator::weighted_k3:
      text = "rho k3, k3 = ref/pi - 1 - log(ref/pi), rho with its gradient";
      break;
    case KlEstimator::full:
      text = "KL, KL = sum over the vocabulary of pi (log pi - log ref)";
      break;
  }
  const KlControlOptions& c = a.kl_control;
  std::string beta = fmt::format("{:g}", c.beta);
  if (c.schedule == KlSchedule::warmup) beta += fmt::format(", reached after {:g} tokens", c.warmup_tokens);
  if (c.schedule == KlSchedule::adaptive)
    beta += fmt::format(" at first, then held near {:g} nats a response (horizon {:g})", c.target, c.horizon);
  if (c.schedule == KlSchedule::stepped)
    beta += fmt::format(" at first, then stepped to hold {:g} nats a response, the mean of ten updates", c.target);
  return a.kl == KlPlace::reward ? fmt::format("r_t -= beta {}, a constant; beta = {}", text, beta)
                                 : fmt::format("loss += beta {}, aggregated like l; beta = {}", text, beta);
}

std::string reference_text(const Algorithm& a) {
  switch (a.reference) {
    case ReferenceKind::none:
      return "none";
    case ReferenceKind::frozen:
      return "the policy as it was at the start";
    case ReferenceKind::moving:
      return fmt::format("the policy as it was up to {} steps ago", a.reference_interval);
    case ReferenceKind::random:
      return "a model that has learned nothing";
    case ReferenceKind::bigram:
      return "counts of neighbours in the text, one added to each";
    case ReferenceKind::given:
      return "a given model, which stays as it is";
  }
  return "";
}

}  // namespace

std::string explain(const Algorithm& a, const BatchShape& b) {
  check_algorithm(a, b);
  std::string text = fmt::format("{}  ({})\n\n", a.name, a.source);
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<13}{}\n", name, value);
  };
  line("credit", credit_text(a));
  line("advantage", advantage_text(a));
  if (a.whiten) {
    line("", fmt::format("then (A - mean) / sqrt(var + 1e-8) over all tokens of the batch, variance divided by {},",
                         a.ddof == 1 ? "n-1" : "n"));
    line("", "once per rollout, before it is cut into mini-batches");
  }
  line("ratio", ratio_text(a));
  line("surrogate", surrogate_text(a));
  if (a.weight_cap > 0) {
    line("weight", fmt::format("l times the constant min(old / sampler, {:g}), by token; on the CPU it is exactly 1",
                               a.weight_cap));
  }
  line("aggregation", aggregation_text(a.aggregation));
  line("KL", kl_text(a));
  line("reference", reference_text(a));
  if (a.entropy_bonus != 0) line("entropy", fmt::format("loss -= {:g} entropy, aggregated like l", a.entropy_bonus));
  if (a.baseline == Baseline::critic) {
    line("critic", fmt::format("loss += {:g} max((V - R)^2, (V clipped to old V +- {:g} - R)^2) / 2, mean over tokens; "
                               "R = A + V before whitening",
                               a.value_coef, a.value_clip));
  }
  if (a.dynamic_sampling) line("sampling", "prompts whose responses all earn the same are replaced by others");
  if (a.overlong_cache > 0)
    line("length",
         fmt::format("reward falls by up to 1 over the last {:.0f} % of the longest length", 100 * a.overlong_cache));

  const int64_t responses = b.prompts * b.samples, mini = responses / b.mini_batches;
  const int64_t micro = b.micro_batch == 0 ? mini : b.micro_batch;
  text += fmt::format(
      "\n  one step     {} prompts x {} samples = {} responses\n"
      "               {} epoch{} x {} mini-batch{} = {} optimizer step{}, each over {} responses\n"
      "               each of {} micro-batch{} of at most {}, whose gradients add up to that of the whole\n",
      b.prompts, b.samples, responses, a.epochs, a.epochs == 1 ? "" : "s", b.mini_batches,
      b.mini_batches == 1 ? "" : "es", a.epochs * b.mini_batches, a.epochs * b.mini_batches == 1 ? "" : "s", mini,
      (mini + micro - 1) / micro, (mini + micro - 1) / micro == 1 ? "" : "es", micro);
  if (a.ratio != Ratio::none && a.epochs * b.mini_batches == 1)
    text += "               a single optimizer step: every ratio is exactly 1 and the clip never acts\n";
  text +=
      "\n  mask: 1 on tokens the policy chose, up to and including the end of sequence; log-probabilities at the\n"
      "  sampling temperature; gradients clipped by their global norm; all randomness from one seed\n";
  return text;
}

}  // namespace pg::rl
