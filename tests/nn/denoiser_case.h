#pragma once
// Small denoisers for the tests: a table of conditional probabilities, and a Transformer.
#include <cmath>
#include <vector>

#include "nn/variants/denoiser.h"
#include "tests/catch.h"
#include "tests/tensors.h"

namespace pg::testing {

// A joint distribution of `length` tokens of a vocabulary, and its exact conditional probabilities as a denoiser.
struct Joint {
  int64_t vocab_size, length;
  std::vector<double> p;  // [vocab_sizeᴸ], the first token is the most significant digit

  Joint(int64_t vocab, int64_t tokens, uint64_t seed) : vocab_size(vocab), length(tokens) {
    Generator g(seed);
    double sum = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(std::pow(vocab, tokens)); ++i) {
      p.push_back(std::exp(1.5 * g.normal()));
      sum += p.back();
    }
    for (double& x : p) x /= sum;
  }
  std::vector<int32_t> sequence(size_t index) const {
    std::vector<int32_t> x(static_cast<size_t>(length));
    for (size_t i = x.size(); i-- > 0; index /= static_cast<size_t>(vocab_size))
      x[i] = static_cast<int32_t>(index % static_cast<size_t>(vocab_size));
    return x;
  }
  size_t index(std::span<const int32_t> x) const {
    size_t index = 0;
    for (const int32_t id : x) index = index * static_cast<size_t>(vocab_size) + static_cast<size_t>(id);
    return index;
  }
  // log p(token at `position` | the tokens of x that are not masked) for every token; up to a constant.
  std::vector<double> conditional(std::span<const int32_t> x, size_t position) const {
    std::vector<double> sums(static_cast<size_t>(vocab_size));
    for (size_t i = 0; i < p.size(); ++i) {
      const std::vector<int32_t> y = sequence(i);
      bool fits = true;
      for (size_t k = 0; k < y.size(); ++k) fits = fits && (x[k] == vocab_size || x[k] == y[k]);
      if (fits) sums[static_cast<size_t>(y[position])] += p[i];
    }
    for (double& sum : sums) sum = std::log(sum);
    return sums;
  }
  MaskedDenoiser denoiser() const {
    return {vocab_size, [this](const Tensor& ids, const Tensor& given) {
              const Tensor indices = given.defined() ? given : Tensor::arange(ids.numel(), i32);
              const auto all = ids.data<const int32_t>();
              std::vector<double> logits;
              for (const int32_t i : indices.data<const int32_t>()) {
                const size_t row = static_cast<size_t>(i / length), position = static_cast<size_t>(i % length);
                const size_t width = static_cast<size_t>(length);
                for (const double x : conditional(all.subspan(row * width, width), position)) logits.push_back(x);
              }
              return Tensor::from(logits, {indices.numel(), vocab_size});
            }};
  }
};

// Its probabilities are far from uniform.
inline Transformer small_denoiser(DType dtype = f32, double dropout = 0, uint64_t seed = 1) {
  Generator g(seed);
  Transformer model({.vocab_size = 12,
                     .block_size = 8,
                     .n_layer = 2,
                     .n_head = 2,
                     .n_embd = 16,
                     .dropout = dropout,
                     .dtype = dtype,
                     .causal = false},
                    g);
  for (const auto& [name, parameter] : named_parameters(model)) {
    NoGrad no_grad;
    parameter.detach().copy_from(parameter + Tensor::normal(parameter.shape(), 0, 0.3, g, dtype));
  }
  return model;
}

// The quantile of the chi-square distribution that a standard normal variable z has: Wilson & Hilferty's approximation.
inline double chi_square_bar(double degrees, double z) {
  const double a = 2 / (9 * degrees);
  return degrees * std::pow(1 - a + z * std::sqrt(a), 3);
}

}  // namespace pg::testing
