// Masked entries must have no effect: infinity and NaN in masked slots, padding, micro-batches, log-ratios so large
// that their exponential is infinite.
#include "rl/methods/algorithm.h"
#include "rl/methods/kl.h"
#include "rl/methods/other_losses.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

// log π, old, advantage, mask → loss per token. Every function of rl/ that takes a mask.
using Loss =
    std::function<Tensor(const Tensor& log_prob, const Tensor& old, const Tensor& advantage, const Tensor& mask)>;
struct Named {
  const char* name;
  Loss loss;
};

// The loss of an algorithm as the trainer computes it. Every other column is selected by `tokens`; log π is what a
// sampler that differs from old gave.
Tensor trained(const rl::Algorithm& a, const Tensor& log_prob, const Tensor& old, const Tensor& advantage,
               const Tensor& mask) {
  rl::Batch batch;
  batch.old_log_prob = old;
  batch.sampler_log_prob = log_prob.detach();
  batch.advantage = expand(advantage, log_prob.shape());
  batch.mask = mask;
  std::vector<uint8_t> selected;
  for (int64_t i = 0; i < mask.numel(); ++i) selected.push_back(i % mask.size(1) % 2 == 0);
  batch.selected = Tensor::from(selected, mask.shape());
  return rl::token_losses(a, log_prob, batch);
}

std::vector<Named> all_losses() {
  using T = const Tensor&;
  std::vector<Named> all = {
      {"log_prob", [](T lp, T, T a, T m) { return rl::log_prob_loss(lp, a, m); }},
      {"ratio", [](T lp, T old, T a, T m) { return rl::ratio_loss(rl::token_ratio(lp, old, m), a); }},
      {"ppo", [](T lp, T old, T a, T m) { return rl::clip_loss(rl::token_ratio(lp, old, m), a); }},
      {"dual clip", [](T lp, T old, T a, T m) { return rl::dual_clip_loss(rl::token_ratio(lp, old, m), a); }},
      {"gspo", [](T lp, T old, T a, T m) { return rl::clip_loss(rl::sequence_ratio(lp, old, m), a); }},
      {"gspo ratio", [](T lp, T old, T a, T m) { return rl::ratio_loss(rl::sequence_ratio(lp, old, m), a); }},
      {"gspo token", [](T lp, T old, T a, T m) { return rl::clip_loss(rl::sequence_token_ratio(lp, old, m), a); }},
      {"gspo token ratio",
       [](T lp, T old, T a, T m) { return rl::ratio_loss(rl::sequence_token_ratio(lp, old, m), a); }},
      {"cispo", [](T lp, T old, T a, T m) { return rl::cispo_loss(lp, rl::token_ratio(lp, old, m), a, .2, .2, m); }},
      {"corrected",
       [](T lp, T old, T a, T m) { return rl::truncated_weight(old, lp, 2, m) * rl::log_prob_loss(lp, a, m); }},
      {"two-sided clip", [](T lp, T old, T a, T m) { return rl::two_sided_clip_loss(rl::token_ratio(lp, old, m), a); }},
      {"sapo", [](T lp, T old, T a, T m) { return rl::sapo_loss(rl::token_ratio(lp, old, m), a); }},
      {"gmpo", [](T lp, T old, T a, T m) { return rl::gmpo_loss(lp, old, a, .2, .3, m); }},
      {"k1", [](T lp, T ref, T, T m) { return rl::k1(lp, ref, m); }},
      {"k2", [](T lp, T ref, T, T m) { return rl::k2(lp, ref, m); }},
      {"k3", [](T lp, T ref, T, T m) { return rl::k3(lp, ref, m); }},
      {"weighted k3", [](T lp, T ref, T, T m) { return rl::weighted_k3(lp, ref, ref * 0.9, m); }},
      {"value", [](T v, T returns, T, T m) { return rl::value_loss(v, returns, {}, 0, m); }},
      {"clipped value", [](T v, T returns, T, T m) { return rl::value_loss(v, returns, returns + 0.3, 0.2, m); }},
  };
  rl::Algorithm a;
  a.ratio = "token";
  a.surrogate = "clip";
  for (const rl::Weight& row : rl::Weight::table()) {
    a.weight = row;
    all.push_back({row.name, [a](T lp, T old, T advantage, T m) { return trained(a, lp, old, advantage, m); }});
  }
  for (const rl::TokenSelection& row : rl::TokenSelection::table()) {
    a.tokens = row;
    all.push_back({row.name, [a](T lp, T old, T advantage, T m) { return trained(a, lp, old, advantage, m); }});
  }
  return all;
}

const std::vector<Named>& losses() {
  static const std::vector<Named> all = all_losses();
  return all;
}

struct Result {
  double value;
  Doubles gradient;
};
Result run(const Named& f, const rl::Aggregation& how, const Tensor& log_prob, const Tensor& old,
           const Tensor& advantage, const Tensor& mask, const rl::Denominators& total) {
  Tensor leaf = log_prob.clone();
  leaf.set_requires_grad();
  const Tensor loss = how.aggregate(f.loss(leaf, old, advantage, mask), mask, total);
  backward(loss);
  return {loss.item(), leaf.grad().to_vector()};
}

// x with `junk` where the mask is 0.
Tensor poisoned(const Tensor& x, const Tensor& mask, double junk) {
  return where(mask, x, Tensor::scalar(junk, x.dtype()));
}

// Eight responses of 5, 1, 3, 0, 2, 5, 4 and 1 tokens. The masks also have holes (tool results).
struct Batch {
  Tensor log_prob = random({8, 5}, 1, -2, 1), old = log_prob + random({8, 5}, 2, 0, .4);
  Tensor advantage = random({8, 1}, 3, 0, 1);
  Tensor mask = Tensor::from<uint8_t>({1, 1, 1, 1, 1, /**/ 1, 0, 0, 0, 0, /**/ 1, 0, 1, 1, 0, /**/ 0, 0, 0, 0, 0, /**/
                                       0, 1, 1, 0, 0, /**/ 1, 1, 1, 1, 1, /**/ 1, 1, 0, 1, 1, /**/ 0, 0, 0, 0, 1},
                                      {8, 5});
  rl::Denominators total = rl::denominators(mask, 6);
};

}  // namespace

TEST_CASE("infinity and NaN in masked slots change nothing and get exactly zero gradient", "[rl]") {
  const Batch b;
  const std::vector<double> keep = b.mask.to_vector();
  for (const Named& f : losses()) {
    for (const rl::Aggregation& how : rl::Aggregation::table()) {
      const Result clean = run(f, how, b.log_prob, b.old, b.advantage, b.mask, b.total);
      for (double junk : {-kInf, kInf, kNan}) {
        for (double other : {-kInf, kNan}) {
          const Result got = run(f, how, poisoned(b.log_prob, b.mask, junk), poisoned(b.old, b.mask, other),
                                 b.advantage, b.mask, b.total);
          INFO(f.name << ", aggregation " << how.name << ", " << junk << " and " << other);
          CHECK(got.value == clean.value);
          check_close(got.gradient, clean.gradient, 0);
          for (size_t i = 0; i < keep.size(); ++i) CHECK((keep[i] != 0 || got.gradient[i] == 0));
        }
      }
    }
  }
}

TEST_CASE("masked slots of losses come back as zero and of ratios as what clips nothing", "[rl]") {
  const Tensor mask = Tensor::from<uint8_t>({1, 0, 0, 0}, {1, 4}), one = Tensor::ones({1, 4}, f64);
  const Tensor junk = Tensor::from<double>({-1, kNan, kInf, -kInf}, {1, 4});
  const auto masked_are = [](const Tensor& x, double want) {
    const Doubles got = x.to_vector();
    check_close({got[1], got[2], got[3]}, {want, want, want}, 0);
    CHECK(got[0] != want);
  };
  for (const Tensor& other : {junk, -2 * one}) {
    const Tensor old = other + 0.5 * one;
    masked_are(rl::k1(junk, old, mask), 0);
    masked_are(rl::k2(junk, old, mask), 0);
    masked_are(rl::k3(junk, old, mask), 0);
    masked_are(rl::weighted_k3(junk, old, old, mask), 0);
    masked_are(rl::value_loss(junk, old, {}, 0, mask), 0);
    masked_are(rl::value_loss(junk, old, other, 0.2, mask), 0);
    masked_are(rl::log_prob_loss(junk, one, mask), 0);
    masked_are(rl::cispo_loss(junk, one, one, .2, .2, mask), 0);
    masked_are(rl::token_ratio(junk, old, mask), 1);
    masked_are(rl::truncated_weight(junk, old, 2, mask), 1);
    masked_are(rl::importance_weight(junk, old, mask), 1);
    masked_are(rl::masked_weight(junk, old, 0, 10, mask), 1);
  }
}

TEST_CASE("NaN in the advantages of masked slots changes nothing", "[rl]") {
  const Batch b;
  const Tensor advantage = expand(b.advantage, {8, 5}).clone(), bad = poisoned(advantage, b.mask, kNan);
  for (const Named& f : losses()) {
    if (std::string(f.name) == "gspo" || std::string(f.name) == "gspo ratio") continue;  // requires finite values there
    const Result clean = run(f, Choice<rl::Aggregation>("token_mean"), b.log_prob, b.old, advantage, b.mask, b.total);
    const Result got = run(f, Choice<rl::Aggregation>("token_mean"), b.log_prob, b.old, bad, b.mask, b.total);
    INFO(f.name);
    CHECK(got.value == clean.value);
    check_close(got.gradient, clean.gradient, 0);
  }
}

TEST_CASE("columns of padding change nothing", "[rl]") {
  const Batch b;
  const auto wider = [](const Tensor& x, double junk) { return cat({x, Tensor::full({8, 3}, junk, x.dtype())}, 1); };
  const Tensor mask = cat({b.mask.to(f64), Tensor::zeros({8, 3}, f64)}, 1).to(u8);
  for (const Named& f : losses()) {
    for (const rl::Aggregation& how : rl::Aggregation::table()) {
      const Result narrow = run(f, how, b.log_prob, b.old, b.advantage, b.mask, b.total);
      const Result wide = run(f, how, wider(b.log_prob, -kInf), wider(b.old, kNan), b.advantage, mask, b.total);
      INFO(f.name);
      CHECK(std::abs(wide.value - narrow.value) < 1e-15);
      for (size_t i = 0; i < 8; ++i) {
        for (size_t t = 0; t < 8; ++t) {
          CHECK(std::abs(wide.gradient[i * 8 + t] - (t < 5 ? narrow.gradient[i * 5 + t] : 0)) < 1e-15);
        }
      }
    }
  }
}

// The mean of micro-batch means is not the mean of the batch: with lengths 1 and 5 it was wrong by large factors.
TEST_CASE("losses of micro-batches add up to the loss of the batch whatever their sizes", "[rl]") {
  const Batch b;
  for (const Named& f : losses()) {
    for (const rl::Aggregation& how : rl::Aggregation::table()) {
      const Result whole = run(f, how, b.log_prob, b.old, b.advantage, b.mask, b.total);
      for (int64_t size : {1, 2, 3, 4}) {
        Result sum{0, {}};
        for (int64_t begin = 0; begin < 8; begin += size) {
          const auto part = [&](const Tensor& x) { return x.view_slice(0, begin, std::min<int64_t>(begin + size, 8)); };
          const Result r = run(f, how, part(b.log_prob), part(b.old), part(b.advantage), part(b.mask), b.total);
          sum.value += r.value;
          sum.gradient.insert(sum.gradient.end(), r.gradient.begin(), r.gradient.end());
        }
        INFO(f.name << ", aggregation " << how.name << ", micro-batches of " << size);
        CHECK(std::abs(sum.value - whole.value) < 1e-14);
        check_close(sum.gradient, whole.gradient, 1e-15);
      }
    }
  }
}

TEST_CASE("the order of responses does not matter", "[rl]") {
  const Batch b;
  const Tensor order = Tensor::from<int32_t>({5, 2, 7, 0, 3, 6, 1, 4}, {8});
  const auto turned = [&](const Tensor& x) { return index_select(x.to(f64), 0, order); };
  for (const Named& f : losses()) {
    for (const rl::Aggregation& how : rl::Aggregation::table()) {
      const Result a = run(f, how, b.log_prob, b.old, b.advantage, b.mask, b.total);
      const Result c =
          run(f, how, turned(b.log_prob), turned(b.old), turned(b.advantage), turned(b.mask).to(u8), b.total);
      CHECK(std::abs(a.value - c.value) < 1e-14);
      check_close(turned(Tensor::from(a.gradient, {8, 5})), c.gradient, 1e-15);
    }
  }
}

TEST_CASE("a response without a token counts for nothing", "[rl]") {
  const Batch b;
  CHECK(b.total.sequences == 7);
  CHECK(b.total.tokens == 21);
  const Tensor others = Tensor::from<int32_t>({0, 1, 2, 4, 5, 6, 7}, {7});
  const auto without = [&](const Tensor& x) { return index_select(x.to(f64), 0, others); };
  for (const Named& f : losses()) {
    for (const rl::Aggregation& how : rl::Aggregation::table()) {
      const Result a = run(f, how, b.log_prob, b.old, b.advantage, b.mask, b.total);
      const Tensor mask = without(b.mask).to(u8);
      const Result c =
          run(f, how, without(b.log_prob), without(b.old), without(b.advantage), mask, rl::denominators(mask, 6));
      INFO(f.name);
      CHECK(std::abs(a.value - c.value) < 1e-15);
      for (size_t t = 0; t < 5; ++t) CHECK(a.gradient[3 * 5 + t] == 0);
    }
  }
}

TEST_CASE("an update without a token is an error and not a NaN", "[rl]") {
  const Tensor mask = Tensor::zeros({2, 3}, u8), loss = Tensor::ones({2, 3}, f64);
  for (const rl::Aggregation& how : rl::Aggregation::table()) {
    CHECK_THROWS_AS(how.aggregate(loss, mask, rl::denominators(mask, 3)), Error);
  }
  // Dr. GRPO needs an explicit length.
  const Tensor all = Tensor::ones({2, 3}, u8);
  CHECK_THROWS_AS(rl::constant_length_mean(loss, all, rl::denominators(all)), Error);
}

TEST_CASE("masked steps of reinforce_loss count for nothing", "[rl]") {
  Tensor log_prob = Tensor::from<double>({-1, -2, -kInf, -0.5, -3, -kInf}, {2, 3});
  log_prob.set_requires_grad();
  const Tensor mask = Tensor::from<uint8_t>({1, 1, 0, 1, 1, 0}, {2, 3});
  const Tensor loss = rl::reinforce_loss(log_prob, Tensor::from<double>({2, -1}, {2, 1}), mask);
  CHECK(loss.item() == -((-3 * 2) + (-3.5 * -1)) / 2);
  backward(loss);
  check_close(log_prob.grad(), {-1, -1, 0, 0.5, 0.5, 0}, 0);
}

TEST_CASE("log-ratios of a hundred nats stay finite in f32 and f64", "[rl]") {
  const Tensor mask = Tensor::ones({2, 2}, u8);
  for (DType dtype : {f64, f32}) {
    for (double sign : {1.0, -1.0}) {
      const Tensor log_prob = Tensor::from<double>({-1, -101, -1, -1}, {2, 2}).to(dtype);
      const Tensor other = Tensor::from<double>({-101, -1, -101, -101}, {2, 2}).to(dtype);
      const Tensor advantage = Tensor::full({2, 1}, sign, dtype);
      for (const Named& f : losses()) {
        for (bool swap : {false, true}) {
          const Result r = run(f, Choice<rl::Aggregation>("token_mean"), swap ? other : log_prob,
                               swap ? log_prob : other, advantage, mask, rl::denominators(mask, 2));
          INFO(f.name << " in " << (dtype == f32 ? "f32" : "f64") << ", advantage " << sign);
          CHECK(std::isfinite(r.value));
          for (double g : r.gradient) CHECK(std::isfinite(g));
        }
      }
    }
  }
}

// e^20 is beyond every clip range: a ratio limited to that value must not contribute its full gradient.
TEST_CASE("a ratio held at its bound has no gradient whichever ratio it is", "[rl]") {
  for (double nats : {25.0, -25.0}) {
    for (auto ratio : {rl::token_ratio, rl::sequence_ratio, rl::sequence_token_ratio}) {
      Tensor log_prob = Tensor::full({1, 2}, nats, f64);
      log_prob.set_requires_grad();
      const Tensor r = ratio(log_prob, Tensor::zeros({1, 2}, f64), {});
      check_close(r, Doubles(static_cast<size_t>(r.numel()), std::exp(nats > 0 ? 20 : -20)), 1e-6);
      backward(sum(r));
      check_close(log_prob.grad(), {0, 0}, 0);
    }
  }
}
