// The masked denoiser: masks, the loss and its expectation.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "autograd/check/gradcheck.h"
#include "autograd/ops.h"
#include "tests/nn/denoiser_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

// ∫ over t of 1/t · P(these k of L tokens are the masked ones) = ∫ t^(k-1) (1 - t)^(L-k) dt = (k - 1)! (L - k)! / L!
double integrated_weight(int64_t k, int64_t length) {
  return std::exp(std::lgamma(k) + std::lgamma(length - k + 1) - std::lgamma(length + 1));
}

// Every set of masks but the empty one of one sequence, with the weight of its integral over t: the summed loss of
// these rows is L times the expected loss.
MaskedTokens all_masks(const std::vector<int32_t>& x, int32_t mask_id) {
  const auto length = std::ssize(x);
  const int64_t rows = (int64_t{1} << length) - 1;
  std::vector<int32_t> ids, targets;
  std::vector<double> weights;
  for (int64_t set = 1; set <= rows; ++set) {
    for (int64_t i = 0; i < length; ++i) {
      const bool masked = (set >> i & 1) != 0;
      ids.push_back(masked ? mask_id : x[static_cast<size_t>(i)]);
      targets.push_back(masked ? x[static_cast<size_t>(i)] : -100);
      weights.push_back(integrated_weight(std::popcount(static_cast<uint64_t>(set)), length));
    }
  }
  const Shape shape = {rows, length};
  return {Tensor::from(ids, shape), Tensor::from(targets, shape), Tensor::from(weights, shape)};
}

MaskedDenoiser uniform(int64_t vocab_size) {
  return {vocab_size, [vocab_size](const Tensor& ids, const Tensor&) {
            return Tensor::full({ids.numel(), vocab_size}, 0.7, f64);
          }};
}

// The set of masks of a row, as bits.
int64_t masks_of(const MaskedTokens& tokens, int64_t row) {
  const int64_t length = tokens.ids.size(1);
  int64_t set = 0;
  for (int64_t i = 0; i < length; ++i) {
    const auto at = static_cast<size_t>(row * length + i);
    if (tokens.targets.data<const int32_t>()[at] != -100) set |= int64_t{1} << i;
  }
  return set;
}

}  // namespace

TEST_CASE("denoiser: masks hide the token that is the target and leave the others", "[nn][denoiser]") {
  const Tensor ids = integers({6, 7}, 1, 11);
  for (const auto mask : {mask_tokens, mask_counts}) {
    Generator g(2);
    const MaskedTokens tokens = mask(ids, 11, g);
    REQUIRE(tokens.ids.shape() == ids.shape());
    REQUIRE(tokens.targets.shape() == ids.shape());
    REQUIRE(tokens.weights.shape() == ids.shape());
    CHECK(tokens.weights.dtype() == f64);
    for (size_t i = 0; i < 42; ++i) {
      const int32_t id = ids.data<const int32_t>()[i], seen = tokens.ids.data<const int32_t>()[i];
      CHECK(tokens.targets.data<const int32_t>()[i] == (seen == 11 ? id : -100));
      CHECK((seen == 11 || seen == id));
      CHECK(tokens.weights.data<const double>()[i] == tokens.weights.data<const double>()[i / 7 * 7]);
    }
    Generator same(2), other(3);
    CHECK(mask(ids, 11, same).ids.to_vector() == tokens.ids.to_vector());
    CHECK(mask(ids, 11, other).ids.to_vector() != tokens.ids.to_vector());
  }
  CHECK(integers({6, 7}, 1, 11).to_vector() == ids.to_vector());  // the given ids are unchanged
}

TEST_CASE("denoiser: the times are spread over the batch and the share of masks is the time", "[nn][denoiser]") {
  constexpr int64_t rows = 16, length = 32, repeats = 200;
  const Tensor ids = Tensor::zeros({rows, length}, i32);
  Generator g(5);
  double excess = 0, variance = 0, first = 0;
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    const MaskedTokens tokens = mask_tokens(ids, 3, g);
    std::vector<double> times;
    for (int64_t row = 0; row < rows; ++row) {
      const double t = 1 / tokens.weights.data<const double>()[static_cast<size_t>(row * length)];
      CHECK((t > 0 && t <= 1));
      excess += std::popcount(static_cast<uint64_t>(masks_of(tokens, row))) - t * length;
      variance += t * (1 - t) * length;
      times.push_back(t);
    }
    first += times[0] / repeats;
    std::sort(times.begin(), times.end());
    for (int64_t row = 1; row < rows; ++row) {
      const auto i = static_cast<size_t>(row);
      CHECK(times[i] - times[i - 1] == Approx(1.0 / rows));
    }
  }
  CHECK(std::abs(excess) < 5 * std::sqrt(variance));
  CHECK(std::abs(first - 0.5) < 5 * std::sqrt(1.0 / 12 / repeats));  // the time of a single row is uniform too
}

TEST_CASE("denoiser: every set of masks has the weight of its integral over time", "[nn][denoiser]") {
  constexpr int64_t length = 3, rows = 4, repeats = 20000;
  constexpr auto n = static_cast<double>(repeats * rows);
  const Tensor ids = Tensor::zeros({rows, length}, i32);
  for (const bool counts : {false, true}) {
    Generator g(7);
    std::map<int64_t, double> weight;  // mean over the rows of weight · [the masks are this set]
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
      const MaskedTokens tokens = (counts ? mask_counts : mask_tokens)(ids, 1, g);
      for (int64_t row = 0; row < rows; ++row) {
        weight[masks_of(tokens, row)] += tokens.weights.data<const double>()[static_cast<size_t>(row * length)] / n;
      }
    }
    CHECK((weight.contains(0) != counts));  // only mask_tokens() can leave all tokens visible
    for (int64_t set = 1; set < 8; ++set) {
      const int64_t k = std::popcount(static_cast<uint64_t>(set));
      const double expected = integrated_weight(k, length);
      // The second moment: ∫ t^(k-2) (1 - t)^(L-k) dt, for k = 1 from the smallest time, 2^-32; and L/k · the mean.
      const double moment = counts   ? static_cast<double>(length) / static_cast<double>(k) * expected
                            : k == 1 ? 32 * std::log(2.0)
                                     : std::exp(std::lgamma(k - 1) + std::lgamma(length - k + 1) - std::lgamma(length));
      INFO("set " << set << ", counts " << counts);
      CHECK(std::abs(weight[set] - expected) < 5 * std::sqrt(moment / n));
    }
  }
}

TEST_CASE("denoiser: the expected loss of a uniform model is log V", "[nn][denoiser]") {
  const MaskedTokens tokens = all_masks({0, 2, 2, 1, 0}, 3);
  CHECK(summed_denoising_loss(uniform(3), tokens).item() / 5 == Approx(std::log(3.0)).epsilon(1e-12));
}

TEST_CASE("denoiser: the expected loss of exact conditionals is -log p and of others above it", "[nn][denoiser]") {
  const Joint joint(3, 4, 11);
  double mean = 0, entropy = 0, other = 0;
  for (size_t i = 0; i < joint.p.size(); ++i) {
    const MaskedTokens tokens = all_masks(joint.sequence(i), 3);
    const double nats = summed_denoising_loss(joint.denoiser(), tokens).item();
    CHECK(nats == Approx(-std::log(joint.p[i])).epsilon(1e-10));
    mean += joint.p[i] * nats;
    entropy -= joint.p[i] * std::log(joint.p[i]);
    other += joint.p[i] * summed_denoising_loss(Joint(3, 4, 12).denoiser(), tokens).item();
  }
  CHECK(mean == Approx(entropy).epsilon(1e-10));
  CHECK(other > entropy + 0.1);
}

TEST_CASE("denoiser: random masks estimate the expected loss", "[nn][denoiser]") {
  const Joint joint(3, 4, 11), other(3, 4, 12);
  const std::vector<int32_t> x = joint.sequence(50);
  const double expected = summed_denoising_loss(other.denoiser(), all_masks(x, 3)).item();
  constexpr int64_t rows = 4000;
  const Tensor ids = Tensor::empty({rows, 4}, i32);
  for (int64_t i = 0; i < rows * 4; ++i) ids.data<int32_t>()[i] = x[static_cast<size_t>(i % 4)];
  // The second moment of mask_counts(), by enumeration: the mean over k and the sets of k of (L/k · Σ -log p)².
  double moment = 0;
  const MaskedTokens sets = all_masks(x, 3);
  for (int64_t set = 1; set < 16; ++set) {
    const auto row = [set](const Tensor& all) { return all.view_slice(0, set - 1, set); };
    const int64_t k = std::popcount(static_cast<uint64_t>(set));
    const Tensor ones = Tensor::ones({1, 4}, f64);
    const double nats = summed_denoising_loss(other.denoiser(), {row(sets.ids), row(sets.targets), ones}).item();
    const double share = integrated_weight(k, 4) * static_cast<double>(k) / 4;
    moment += share * std::pow(4 / static_cast<double>(k) * nats, 2);
  }
  Generator g(3);
  const double counts = summed_denoising_loss(other.denoiser(), mask_counts(ids, 3, g)).item() / rows;
  CHECK(std::abs(counts - expected) < 5 * std::sqrt((moment - expected * expected) / rows));
}

TEST_CASE("denoiser: the mask has no probability, and visible tokens have no gradient", "[nn][denoiser]") {
  Transformer model = small_denoiser(f64);
  const MaskedDenoiser denoiser = masked_denoiser(model);
  CHECK(denoiser.vocab_size == 11);
  CHECK(denoiser.mask_id() == 11);
  Tensor ids = integers({2, 8}, 4, 11);
  ids.data<int32_t>()[3] = ids.data<int32_t>()[13] = 11;
  const Tensor all = denoiser.logits(ids, {});
  REQUIRE(all.shape() == Shape{16, 11});
  CHECK(all.to_vector() == slice(reshape(model(ids), {16, 12}), 1, 0, 11).to_vector());
  const Tensor some = denoiser.logits(ids, Tensor::from(std::vector<int32_t>{13, 3}, {2}));
  CHECK(some.to_vector() == index_select(all, 0, Tensor::from(std::vector<int32_t>{13, 3}, {2})).to_vector());
  // Only the two masked positions are in the loss.
  const Tensor targets = Tensor::full({2, 8}, -100, i32), weights = Tensor::full({2, 8}, 2, f64);
  targets.data<int32_t>()[3] = 5;
  targets.data<int32_t>()[13] = 0;
  const Tensor log_p = log_softmax(some);
  const double expected = -2 * (log_p.to_vector()[11 + 5] + log_p.to_vector()[0]);
  CHECK(summed_denoising_loss(denoiser, {ids, targets, weights}).item() == Approx(expected).epsilon(1e-12));
}

TEST_CASE("denoiser: the gradient of the loss is that of finite differences", "[nn][denoiser][gradcheck]") {
  Transformer model = small_denoiser(f64);
  Generator g(9);
  const MaskedTokens tokens = mask_tokens(integers({3, 6}, 8, 11), 11, g);
  std::vector<Tensor> inputs;
  for (const auto& [name, parameter] : named_parameters(model)) inputs.push_back(parameter.detach().clone());
  const std::function<Tensor(std::span<const Tensor>)> loss = [&](std::span<const Tensor> given) {
    size_t next = 0;
    Visitor set([&](const std::string&, Tensor& parameter) { parameter = given[next++]; });
    model.visit(set);
    return summed_denoising_loss(masked_denoiser(model), tokens);
  };
  GradcheckOptions options;
  options.max_perturbations = 200;
  const GradcheckResult result = gradcheck(loss, inputs, options);
  INFO(result.message);
  CHECK(result.ok);
}

TEST_CASE("denoiser: masks of wrong ids are errors", "[nn][denoiser]") {
  Generator g(1);
  for (const auto mask : {mask_tokens, mask_counts}) {
    CHECK(contains(error_of([&] { mask(Tensor::zeros({4}, i32), 3, g); }), "expected ids i32 [B, L]"));
    CHECK(contains(error_of([&] { mask(Tensor::zeros({2, 2}), 3, g); }), "expected ids i32 [B, L]"));
    CHECK(contains(error_of([&] { mask({}, 3, g); }), "an undefined tensor"));
    CHECK(contains(error_of([&] { mask(Tensor::zeros({2, 0}, i32), 3, g); }), "at least one token"));
    CHECK(contains(error_of([&] { mask(Tensor::full({2, 2}, 3, i32), 3, g); }), "3"));
  }
  MaskedTokens tokens = mask_tokens(Tensor::zeros({2, 2}, i32), 3, g);
  tokens.weights = Tensor::zeros({2, 1}, f64);
  CHECK(contains(error_of([&] { summed_denoising_loss(uniform(3), tokens); }), "must have one shape"));
  const MaskedDenoiser wrong{3, [](const Tensor&, const Tensor&) { return Tensor::zeros({4, 4}); }};
  tokens.weights = Tensor::zeros({2, 2}, f64);
  CHECK(contains(error_of([&] { summed_denoising_loss(wrong, tokens); }), "expected logits [4, 3], got [4, 4]"));
  const Transformer model = small_denoiser();
  CHECK(contains(error_of([&] { masked_denoiser(model).logits(Tensor::zeros({1, 9}, i32), {}); }), "block_size is 8"));
}
