// Every differentiable function of rl/ compared with finite differences in f64, away from the kinks of clips and
// hinges.
#include "autograd/check/gradcheck.h"
#include "rl/methods/algorithm.h"
#include "rl/methods/kl.h"
#include "rl/methods/other_losses.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::random;
using In = std::span<const Tensor>;

namespace {

void require_gradient(const std::string& name, const std::function<Tensor(In)>& f, const std::vector<Tensor>& inputs,
                      const std::vector<int>& constant = {}) {
  GradcheckOptions options;
  options.op = name;
  options.constant = constant;
  options.tolerance = 1e-8;
  const GradcheckResult result = gradcheck(f, inputs, options);
  INFO(result.message);
  CHECK(result.ok);
}

// Responses of 5, 2 and 1 tokens, and one that is fully masked.
const Tensor kMask =
    Tensor::from<uint8_t>({1, 1, 1, 1, 1, /**/ 1, 1, 0, 0, 0, /**/ 0, 0, 1, 0, 0, /**/ 0, 0, 0, 0, 0}, {4, 5});

// log π - old: ratios below, inside and above the clip range of .2 and above the dual clip of 3, each with advantages
// of either sign. None is nearer than .03 to a kink (log .8 = -.22, log 1.2 = .18, log 3 = 1.1).
const Tensor kLogRatio = Tensor::from<double>(
    {-.5, .1, .7, 1.4, -.1, /**/ .6, -.9, 0, 0, 0, /**/ 0, 0, -.45, 0, 0, /**/ 0, 0, 0, 0, 0}, {4, 5});
const Tensor kTokenAdvantage = Tensor::from<double>(
    {1.5, -2, -.7, -1, .3, /**/ .8, -.6, 0, 0, 0, /**/ 0, 0, 1.2, 0, 0, /**/ 0, 0, 0, 0, 0}, {4, 5});
const Tensor kSequenceAdvantage = Tensor::from<double>({-1.3, .8, .5, 2}, {4, 1});

rl::Algorithm chosen(const rl::Ratio& ratio, const rl::Surrogate& surrogate) {
  rl::Algorithm a;
  a.ratio = ratio;
  a.surrogate = surrogate;
  a.clip_high = 0.28;
  a.delta = 3;
  return a;
}

// The loss of the tokens at log_prob. Factors that the formulas treat as constants are those at `constants`: the value
// of GSPO-token's ratio, and CISPO's weight.
Tensor loss_of(const rl::Algorithm& a, const Tensor& log_prob, const Tensor& constants, const Tensor& old,
               const Tensor& advantage, const Tensor& mask) {
  Tensor ratio;
  if (a.surrogate.is("cispo")) {
    ratio = a.ratio.compute(constants, old, mask);
  } else if (a.ratio.is("sequence_token")) {
    ratio = rl::sequence_ratio(constants, old, mask) * rl::token_ratio(log_prob, constants, mask);
  } else if (a.ratio.compute) {
    ratio = a.ratio.compute(log_prob, old, mask);
  }
  return a.surrogate.loss({log_prob, old, ratio, advantage, mask}, a);
}

// Every pair of rows that goes together.
std::vector<rl::Algorithm> pairs_of_rows() {
  std::vector<rl::Algorithm> all;
  for (const rl::Ratio& ratio : rl::Ratio::table()) {
    for (const rl::Surrogate& surrogate : rl::Surrogate::table()) {
      const bool fits = surrogate.needs_ratio == bool(ratio.compute) && !(surrogate.of_tokens && ratio.per_sequence);
      if (fits) all.push_back(chosen(ratio, surrogate));
    }
  }
  return all;
}

}  // namespace

// A finite difference would vary the factors that GSPO-token and CISPO treat as constants. Here they are computed from
// the unperturbed log-probabilities, and the remaining formula is checked.
TEST_CASE("finite differences agree with every ratio, surrogate and aggregation", "[rl]") {
  const Tensor old = random({4, 5}, 1, -2), log_prob = old + kLogRatio;
  const rl::Denominators total = rl::denominators(kMask, 5);
  const std::vector<rl::Algorithm> all = pairs_of_rows();
  CHECK(all.size() > 10);
  for (const rl::Algorithm& a : all) {
    for (const rl::Aggregation& how : rl::Aggregation::table()) {
      for (const Tensor& each : {kSequenceAdvantage, kTokenAdvantage}) {
        const Tensor advantage = expand(each, kMask.shape());
        const auto loss = [&](In in) {
          return how.aggregate(loss_of(a, in[0], log_prob, old, advantage, kMask), kMask, total);
        };
        const std::string name =
            fmt::format("ratio {}, surrogate {}, aggregation {}", a.ratio.name, a.surrogate.name, how.name);
        require_gradient(name, loss, {log_prob});

        // The gradient is that of the functions as the trainer calls them.
        const auto gradient = [&](auto f) {
          Tensor leaf = log_prob.clone();
          leaf.set_requires_grad();
          backward(f(leaf));
          return leaf.grad().to_vector();
        };
        rl::Batch batch;
        batch.old_log_prob = batch.sampler_log_prob = old;
        batch.advantage = advantage;
        batch.mask = kMask;
        const auto direct = [&](const Tensor& x) { return how.aggregate(rl::token_losses(a, x, batch), kMask, total); };
        const auto stand_in = [&](const Tensor& x) { return loss(std::span(&x, 1)); };
        const std::vector<double> got = gradient(direct), want = gradient(stand_in);
        INFO(name);
        for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - want[i]) <= 1e-14);
      }
    }
  }
}

TEST_CASE("finite differences agree with every weight and every selection of tokens", "[rl]") {
  const Tensor old = random({4, 5}, 1, -2), log_prob = old + kLogRatio;
  rl::Batch batch;
  batch.old_log_prob = old;
  batch.sampler_log_prob = old + 0.3 * random({4, 5}, 2);
  batch.advantage = kTokenAdvantage;
  batch.mask = kMask;
  batch.entropy = random({4, 5}, 3);
  for (const rl::Weight& weight : rl::Weight::table()) {
    for (const rl::TokenSelection& tokens : rl::TokenSelection::table()) {
      rl::Algorithm a;
      a.ratio = "token";
      a.surrogate = "clip";
      a.clip_high = 0.28;
      a.weight = weight;
      a.tokens = tokens;
      a.token_share = 0.5;
      a.covariance_low = -10;
      a.covariance_high = 10;
      Generator generator(4);
      if (tokens.select) batch.selected = tokens.select(batch, a, generator);
      require_gradient(fmt::format("weight {}, tokens {}", weight.name, tokens.name),
                       [&](In in) { return rl::token_losses(a, in[0], batch); }, {log_prob});
    }
  }
}

TEST_CASE("finite differences agree with the losses per token and without a mask", "[rl]") {
  const Tensor old = random({4, 5}, 2, -2), log_prob = old + kLogRatio;
  const Tensor advantage = contiguous(expand(kSequenceAdvantage, kMask.shape()));
  for (const rl::Algorithm& a : pairs_of_rows()) {
    if (a.surrogate.is("cispo")) continue;  // its weight is a constant
    require_gradient(fmt::format("{} {} per token", a.ratio.name, a.surrogate.name),
                     [&](In in) { return loss_of(a, in[0], log_prob, old, advantage, {}); }, {log_prob});
  }
  require_gradient("reinforce", [](In in) { return rl::reinforce_loss(in[0], kTokenAdvantage, kMask); }, {log_prob});
}

TEST_CASE("finite differences agree with the KL estimators", "[rl]") {
  const Tensor log_prob = random({3, 4}, 3, -2), ref = random({3, 4}, 4, -2), old = random({3, 4}, 5, -2);
  const Tensor mask = Tensor::from<uint8_t>({1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0}, {3, 4});
  for (const Tensor& m : {Tensor{}, mask}) {
    require_gradient("k1", [&](In in) { return rl::k1(in[0], in[1], m); }, {log_prob, ref});
    require_gradient("k2", [&](In in) { return rl::k2(in[0], in[1], m); }, {log_prob, ref});
    require_gradient("k3", [&](In in) { return rl::k3(in[0], in[1], m); }, {log_prob, ref});
    require_gradient("weighted_k3", [&](In in) { return rl::weighted_k3(in[0], ref, old, m); }, {log_prob});
  }
  require_gradient("full_kl", [](In in) { return rl::full_kl(in[0], in[1]); },
                   {random({2, 3, 5}, 6), random({2, 3, 5}, 7)});
}

TEST_CASE("finite differences agree with the value loss", "[rl]") {
  // Away from the kinks: the clip at ±.2, and values where both errors are equal.
  const Tensor old = random({3, 4}, 8), returns = random({3, 4}, 9);
  const Tensor values = old + Tensor::from<double>({.5, -.6, .1, -.1, .35, -.3, .05, .15, -.9, .7, 0, -.05}, {3, 4});
  const Tensor mask = Tensor::from<uint8_t>({1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0}, {3, 4});
  for (const Tensor& m : {Tensor{}, mask}) {
    require_gradient("value_loss", [&](In in) { return rl::value_loss(in[0], returns, {}, 0, m); }, {values});
    require_gradient("value_loss with clip", [&](In in) { return rl::value_loss(in[0], returns, old, 0.2, m); },
                     {values});
  }
}

TEST_CASE("finite differences agree with the losses on pairs", "[rl]") {
  const Tensor chosen = random({6}, 10, 0, 2), rejected = random({6}, 11, 0, 2), margin = random({6}, 12);
  for (double centring : {0.0, 0.01}) {
    require_gradient("bradley_terry", [&](In in) { return rl::bradley_terry_loss(in[0], in[1], {}, centring); },
                     {chosen, rejected});
    require_gradient("bradley_terry with margin",
                     [&](In in) { return rl::bradley_terry_loss(in[0], in[1], margin, centring); }, {chosen, rejected});
  }
  // log π - log ref of both responses, chosen so that βΔ is on either side of the hinge at 1.
  const Tensor ref_chosen = random({6}, 13, -9), ref_rejected = random({6}, 14, -9);
  const Tensor c = ref_chosen + Tensor::from<double>({1, -2, 6, .5, -.3, 4}, {6});
  const Tensor r = ref_rejected + Tensor::from<double>({-1, 3, -2, .1, -6, .2}, {6});
  for (rl::DpoKind kind : {rl::DpoKind::sigmoid, rl::DpoKind::robust, rl::DpoKind::hinge, rl::DpoKind::ipo}) {
    for (double smoothing : {0.0, 0.1}) {
      const rl::DpoOptions options{.kind = kind, .beta = 0.4, .label_smoothing = smoothing};
      require_gradient("dpo", [&](In in) { return rl::dpo_loss(in[0], in[1], ref_chosen, ref_rejected, options).loss; },
                       {c, r});
    }
  }
}

// Finite differences accept a clip with swapped branches, so this test states which side has a gradient.
TEST_CASE("a clipped ratio has a gradient only on the side that undoes the step", "[rl]") {
  struct {
    double ratio, advantage, gradient;
  } const cases[] = {
      {0.5, 1, -1}, {0.5, -1, 0},  // too small already: a good action may still grow, a bad one shrinks no further
      {1.5, 1, 0},  {1.5, -1, 1},  // too large already: a good action grows no further, a bad one may still shrink
      {1.1, 2, -2}, {0.9, -2, 2},  // inside: not clipped
      {1.2, 1, -1}, {0.8, -1, 1},  // exactly at the border: not clipped, from the unclipped branch
      {1.2, -1, 1}, {0.8, 1, -1},
  };
  for (DType dtype : {f64, f32}) {
    for (const auto& c : cases) {
      Tensor ratio = Tensor::scalar(c.ratio, dtype).view_reshape({1, 1}).clone();
      ratio.set_requires_grad();
      backward(rl::clip_loss(ratio, Tensor::scalar(c.advantage, dtype).view_reshape({1, 1}), 0.2, 0.2));
      INFO("ratio " << c.ratio << ", advantage " << c.advantage);
      CHECK(ratio.grad().item() == c.gradient);
    }
  }
}
