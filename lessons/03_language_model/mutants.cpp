// Wrong answers to lesson 3. The checks must call each WRONG and say why; everything else must
// stay ok. The last rows are right answers.
#include "lessons/kit/mutants.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/03_language_model/answers.h"
#include "lessons/03_language_model/checks.h"

namespace pg::lesson03 {
namespace {

// ---- wrong answers for which kit/diagnose.h, kit/contract.h or code of a check finds the words

Tensor backward_half(const Tensor& logits, const Tensor& targets) {
  return cross_entropy_backward(logits, targets) / 2;
}

void adamw_keeps_m(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                   const AdamWArgs& a) {
  static std::vector<double> kept;
  if (kept.size() != p.size()) kept.assign(m.begin(), m.end());
  std::copy(kept.begin(), kept.end(), m.begin());
  adamw(p, g, m, v, a);
  kept.assign(m.begin(), m.end());
}

std::vector<double> filter_one_token_nan(std::span<const double> logits, const SampleOptions& o) {
  return logits.size() == 1 ? std::vector<double>{NAN} : pg::filtered_probs(logits, o);
}

template <kit::Name mistake>
int32_t wrong_draw(std::span<const double> probs, double u) {
  const size_t n = probs.size();
  if (mistake == "most_probable")
    return static_cast<int32_t>(std::max_element(probs.begin(), probs.end()) - probs.begin());
  double sum = 0;
  float narrow = 0;
  size_t last = 0;
  for (size_t r = 0; r < n; ++r) {
    const size_t i = mistake == "reversed" ? n - 1 - r : r;
    if (probs[i] == 0 && mistake != "zeros_count") continue;
    sum += probs[i], narrow += static_cast<float>(probs[i]);
    last = i;
    const bool here = mistake == "at_most" || mistake == "zeros_count" ? u <= sum
                      : mistake == "in_float"                          ? u < narrow
                                                                       : u < sum;
    if (here) return static_cast<int32_t>(mistake == "one_later" ? std::min(n - 1, i + 1) : i);
  }
  if (mistake == "rounds") return -1;
  return static_cast<int32_t>(mistake == "returns_0"  ? 0
                              : mistake == "last_id"  ? n - 1
                              : mistake == "one_past" ? n
                                                      : last);
}

// ---- right but unusual answers: the checks must accept them

Tensor right_softmax(const Tensor& x) { return exp(x - logsumexp(x, {-1}, true)); }

// The maximum without a gradient: the gradient through it is 0.
Tensor right_detached_maximum(const Tensor& x) {
  const Tensor e = exp(x - amax(x.detach(), {-1}, true));
  return e * (1.0 / sum(e, {-1}, true));
}

Tensor right_cross_entropy(const Tensor& logits, const Tensor& targets) {
  const double share = 1 / static_cast<double>(logits.size(0));
  return exp(log_softmax(logits)) * share - one_hot(targets, logits.size(1), logits.dtype()) * share;
}

// The corrections as one step size, as in the first paper; eps is scaled to match.
void right_adamw(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
                 const AdamWArgs& a) {
  const double root = std::sqrt(a.bias_correction2), rate = a.lr * root / a.bias_correction1;
  for (size_t i = 0; i < p.size(); ++i) {
    const double d = g[i] * a.grad_scale;
    m[i] += (1 - a.beta1) * (d - m[i]);
    v[i] += (1 - a.beta2) * (d * d - v[i]);
    p[i] = p[i] * (1 - a.lr * a.weight_decay) - rate * m[i] / (std::sqrt(v[i]) + a.eps * root);
  }
}

// Ranked pairs of logit and id.
std::vector<double> right_filter(std::span<const double> logits, const SampleOptions& o) {
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t i = 0; i < logits.size(); ++i) ranked.emplace_back(-logits[i], i);
  std::sort(ranked.begin(), ranked.end());
  size_t kept = ranked.size();
  if (o.top_k > 0 && static_cast<size_t>(o.top_k) < kept) {
    kept = static_cast<size_t>(o.top_k);
    while (kept < ranked.size() && ranked[kept].first == ranked[kept - 1].first) ++kept;
  }
  const auto weight = [&](size_t r) { return std::exp((ranked[0].first - ranked[r].first) / o.temperature); };
  double total = 0, mass = 0;
  for (size_t r = 0; r < kept; ++r) total += weight(r);
  std::vector<double> p(logits.size());
  for (size_t r = 0; r < kept; ++r) {
    if (o.top_p < 1 && mass / total >= o.top_p) break;
    p[ranked[r].second] = weight(r);
    mass += weight(r);
  }
  for (double& x : p) x /= mass;
  return p;
}

// Binary search in the partial sums.
int32_t right_draw(std::span<const double> probs, double u) {
  std::vector<double> sums(probs.size());
  std::partial_sum(probs.begin(), probs.end(), sums.begin());
  auto at = std::upper_bound(sums.begin(), sums.end(), u);
  if (at == sums.end()) at = std::lower_bound(sums.begin(), sums.end(), sums.back());
  return static_cast<int32_t>(at - sums.begin());
}

}  // namespace

const kit::Mutants<Impl> of_gradient(&Impl::softmax, softmax_gradient_mistakes());
const kit::Mutants<Impl> of_adamw(&Impl::adamw, adamw_mistakes(),
                                  {{"adamw_keeps_m", "03.3", "between calls", adamw_keeps_m},
                                   {"right_adamw", "03.3", "ok", right_adamw}});
const kit::Mutants<Impl> of_cross_entropy_backward(&Impl::cross_entropy_backward, cross_entropy_mistakes(),
                                                   {{"backward_half", "03.2", "half of expected", backward_half},
                                                    {"right_cross_entropy", "03.2", "ok", right_cross_entropy}});
const kit::Mutants<Impl> of_filtered_probs(&Impl::filtered_probs, filter_mistakes(),
                                           {{"filter_one_token_nan", "03.4", "inf or nan", filter_one_token_nan},
                                            {"right_filter", "03.4", "ok", right_filter}});
const kit::Mutants<Impl> of_sample_token(&Impl::sample_token,
                                         {{"sample_at_most", "03.5", "compare with <", wrong_draw<"at_most">},
                                          {"sample_returns_0", "03.5", "must catch the rest", wrong_draw<"returns_0">},
                                          {"sample_zeros_count", "03.5", "probability 0", wrong_draw<"zeros_count">},
                                          {"sample_last_id", "03.5", "a token of probability 0", wrong_draw<"last_id">},
                                          {"sample_one_past", "03.5", "no such token", wrong_draw<"one_past">},
                                          {"sample_in_float", "03.5", "added up in float", wrong_draw<"in_float">},
                                          {"sample_most_probable", "03.5", "whatever u is",
                                           wrong_draw<"most_probable">},
                                          {"sample_one_later", "03.5", "probability 0", wrong_draw<"one_later">},
                                          {"sample_reversed", "03.5", "from token 0 on", wrong_draw<"reversed">},
                                          {"sample_rounds", "03.5", "no such token", wrong_draw<"rounds">},
                                          {"right_draw", "03.5", "ok", right_draw}});
const kit::Mutants<Impl> of_softmax(&Impl::softmax, softmax_mistakes(),
                                    {{"right_softmax", "03.1", "ok", right_softmax},
                                     {"right_detached_maximum", "03.1", "ok", right_detached_maximum}});

}  // namespace pg::lesson03
