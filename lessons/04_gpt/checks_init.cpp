// The check of the first weights.
#include <algorithm>
#include <cmath>

#include "lessons/04_gpt/checks.h"
#include "nn/module.h"

namespace pg::lesson04 {
namespace {

using kit::Grader;

struct Spread {
  double mean, std, kurtosis, least, most;
};
Spread spread_of(const Tensor& x) {
  const std::vector<double> v = x.to_vector();
  const auto [least, most] = std::minmax_element(v.begin(), v.end());
  double m = 0, s = 0, k = 0;
  for (double e : v) m += e;
  m /= static_cast<double>(v.size());
  for (double e : v) s += (e - m) * (e - m);
  s /= static_cast<double>(v.size());
  for (double e : v) k += std::pow(e - m, 4);
  return {m, std::sqrt(s), k / static_cast<double>(v.size()) / (s * s), *least, *most};
}

constexpr double kBefore = -7;  // every parameter, before init_weights is called
const std::string kNotWritten =
    "nothing was written: `parameter = …` makes the name mean another tensor; "
    "parameter.copy_from(…) stores values";

// A matrix that should have the standard deviation `want`. With 4,096 elements or more, the measured one is accurate to
// 1.1 %, and the kurtosis of a normal distribution is 3 ± 0.08.
bool judge_matrix(Grader& g, const std::string& name, const Tensor& parameter, const TransformerConfig& config) {
  const bool writer = name.ends_with("c_proj.weight"), reader = name.starts_with("h.") && !writer;
  const double layers = static_cast<double>(config.n_layer), free = config.in_proj_std;
  const double want = writer ? 0.02 / std::sqrt(2 * layers) : reader ? free : 0.02;
  const Spread s = spread_of(parameter);
  const auto near = [&](double std) { return std::abs(s.std / std - 1) < 0.06; };
  std::string diagnosis;
  if (s.least == kBefore && s.most == kBefore) {
    diagnosis = kNotWritten;
  } else if (s.least == s.most) {
    diagnosis = "all numbers are equal: then all channels learn the same";
  } else if (reader) {
    diagnosis = fmt::format(
        "what reads the stream starts at model.config.in_proj_std, here {}; only the embeddings at 0.02", free);
  } else if (!reader && !writer && near(free)) {
    diagnosis = "embeddings start at 0.02; in_proj_std is for the matrices c_attn and c_fc";
  } else if (writer && near(0.02 / std::sqrt(layers))) {
    diagnosis = "√(2·n_layer), not √n_layer: every layer writes twice, after attention and after the MLP";
  } else if (writer && near(0.02 / (2 * layers))) {
    diagnosis = "divide by the root of 2·n_layer: the deviation of a sum of n numbers is √n times that of one";
  } else if (writer && near(free / std::sqrt(2 * layers))) {
    diagnosis = "what writes into the stream starts at 0.02 / √(2·n_layer), whatever in_proj_std is";
  } else if (writer) {
    diagnosis = "what writes into the stream needs 0.02 / √(2·n_layer): 2·n_layer of them add up there";
  }
  if (near(std::sqrt(want)) || near(want * want))
    diagnosis = "the third number of Tensor::normal is the deviation, not the variance";
  if (near(want)) diagnosis = "the mean is 0: Tensor::normal(shape, 0, std, generator)";
  return g.expect(near(want) && std::abs(s.mean) < 0.1 * want, name,
                  fmt::format("mean {:.5f}, deviation {:.5f}", s.mean, s.std),
                  fmt::format("mean 0, deviation {:.5f}", want), diagnosis) &&
         g.expect(
             std::abs(s.kurtosis - 3) < 0.5, name + ", shape of the distribution",
             fmt::format("spread of the tails (kurtosis) {:.2f}", s.kurtosis), "3, as a normal distribution has",
             s.kurtosis < 2 ? "this looks like a uniform distribution" : "draw with Tensor::normal, without limits");
}

std::vector<double> all_weights(Transformer& model) {
  std::vector<double> all;
  for (const auto& [name, parameter] : named_parameters(model)) {
    const std::vector<double> values = parameter.to_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace

void check_init(Grader& g, const Impl& impl) {
  const TransformerConfig configs[] = {
      {.vocab_size = 100, .block_size = 64, .n_layer = 8, .n_head = 4, .n_embd = 64, .in_proj_std = 0.1},
      {.vocab_size = 70, .block_size = 65, .n_layer = 3, .n_head = 3, .n_embd = 72, .in_proj_std = 0.25}};
  size_t tensors = 0;
  for (const TransformerConfig& config : configs) {
    Generator generator = kit::draws(45), other = kit::draws(46);
    Transformer model(config, other);
    for (auto& [name, parameter] : named_parameters(model)) parameter.fill(kBefore);  // every value must be overwritten
    impl.init_weights(model, generator);
    for (const auto& [name, parameter] : named_parameters(model)) {
      ++tensors;
      if (parameter.rank() == 2) {
        if (!judge_matrix(g, name, parameter, config)) return;
        continue;
      }
      const double want = name.ends_with(".weight") ? 1 : 0;
      const Spread s = spread_of(parameter);
      if (!g.expect(s.least == want && s.most == want, name, fmt::format("{:.5g} to {:.5g}", s.least, s.most),
                    fmt::format("all {}", want),
                    s.least == kBefore && s.most == kBefore ? kNotWritten
                                                            : "layer norm weights are 1 and biases 0, none is random"))
        return;
    }
    const std::vector<double> first = all_weights(model);
    std::vector<std::vector<double>> same_shape;
    for (const auto& [name, parameter] : named_parameters(model)) {
      if (name.ends_with("attn.c_proj.weight")) same_shape.push_back(parameter.to_vector());
    }
    if (!g.expect(same_shape.size() < 2 || same_shape[0] != same_shape[1],
                  "the attention matrices c_proj of two blocks", "the same numbers", "numbers of their own",
                  "every matrix is drawn from a fresh generator: use the one that is given"))
      return;
    impl.init_weights(model, generator);
    if (!g.expect(all_weights(model) != first, "a second call with the generator as it now is", "the same numbers",
                  "other numbers", "the generator that is given is not used"))
      return;
    Generator again = kit::draws(45);
    impl.init_weights(model, again);
    if (!g.expect(all_weights(model) == first, "a call with a generator of the first seed", "other numbers",
                  "the same numbers", "another source of random numbers is used than the generator that is given"))
      return;
  }
  g.note(fmt::format("{} tensors of two models, by name", tensors));
}

}  // namespace pg::lesson04
