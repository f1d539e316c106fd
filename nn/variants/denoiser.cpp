// Masks tokens at random and computes the loss of a model that predicts them.
#include "nn/variants/denoiser.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "autograd/op_util.h"

namespace pg {
namespace {

constexpr int32_t kVisible = -100;

void check_tokens(const Tensor& ids, int32_t mask_id, const char* owner) {
  check(ids.defined() && ids.rank() == 2 && ids.dtype() == i32 && ids.numel() > 0,
        "{}: expected ids i32 [B, L] with at least one token, got {}", owner,
        ids.defined() ? fmt::format("{} {}", ids.dtype(), ids.shape()) : "an undefined tensor");
  check(ids.device().on_host(), "{}: expected ids on the CPU", owner);
  detail::check_ids(ids, mask_id, owner);
}

// Rows without a mask, and weights that are still 0.
MaskedTokens visible(const Tensor& ids) {
  return {ids.clone(), Tensor::full(ids.shape(), static_cast<double>(kVisible), i32), Tensor::zeros(ids.shape(), f64)};
}

// frac(u + b/B) for the rows b.
std::vector<double> spread_uniform(int64_t rows, Generator& generator) {
  const double u = generator.uniform();
  std::vector<double> x;
  for (int64_t row = 0; row < rows; ++row) {
    const double sum = u + static_cast<double>(row) / static_cast<double>(rows);
    x.push_back(sum - std::floor(sum));
  }
  return x;
}

// Masks the token at a row-major index.
void mask(const MaskedTokens& tokens, int64_t index, int32_t mask_id) {
  int32_t& id = tokens.ids.data<int32_t>()[index];
  tokens.targets.data<int32_t>()[index] = id;
  id = mask_id;
}

}  // namespace

MaskedDenoiser masked_denoiser(const Transformer& model) {
  check(!model.config.causal,
        "masked_denoiser: the model's attention is causal: it predicts the next token, not masked tokens");
  check(model.config.vocab_size >= 2,
        "masked_denoiser: expected a vocabulary of at least one token and the mask, got {}", model.config.vocab_size);
  const int64_t v = model.config.vocab_size - 1;
  return {v, [&model, v](const Tensor& ids, const Tensor& indices) {
            Tensor hidden = reshape(model.hidden(ids), {-1, model.config.n_embd});
            if (indices.defined()) hidden = index_select(hidden, 0, indices.to(model.device()));
            return slice(model.head(hidden), 1, 0, v);
          }};
}

MaskedTokens mask_tokens(const Tensor& ids, int32_t mask_id, Generator& generator) {
  check_tokens(ids, mask_id, "mask_tokens");
  const int64_t rows = ids.size(0), length = ids.size(1);
  MaskedTokens tokens = visible(ids);
  const std::vector<double> x = spread_uniform(rows, generator);
  for (int64_t row = 0; row < rows; ++row) {
    const double t = 1 - x[static_cast<size_t>(row)];
    for (int64_t i = row * length; i < (row + 1) * length; ++i) {
      if (generator.uniform() < t) mask(tokens, i, mask_id);
    }
    tokens.weights.view_select(0, row).fill(1 / t);
  }
  return tokens;
}

MaskedTokens mask_counts(const Tensor& ids, int32_t mask_id, Generator& generator) {
  check_tokens(ids, mask_id, "mask_counts");
  const int64_t rows = ids.size(0), length = ids.size(1);
  MaskedTokens tokens = visible(ids);
  const std::vector<double> x = spread_uniform(rows, generator);
  std::vector<int64_t> positions(static_cast<size_t>(length));
  for (int64_t row = 0; row < rows; ++row) {
    const auto n = static_cast<double>(length);
    const int64_t count = 1 + static_cast<int64_t>(n * x[static_cast<size_t>(row)]);
    std::iota(positions.begin(), positions.end(), int64_t{0});
    shuffle(positions, generator);
    for (int64_t i = 0; i < count; ++i) mask(tokens, row * length + positions[static_cast<size_t>(i)], mask_id);
    tokens.weights.view_select(0, row).fill(n / static_cast<double>(count));
  }
  return tokens;
}

Tensor summed_denoising_loss(const MaskedDenoiser& model, const MaskedTokens& tokens) {
  check(tokens.ids.shape() == tokens.targets.shape() && tokens.ids.shape() == tokens.weights.shape(),
        "summed_denoising_loss: ids, targets and weights must have one shape, got {}, {} and {}", tokens.ids.shape(),
        tokens.targets.shape(), tokens.weights.shape());
  const Tensor logits = model.logits(tokens.ids, {});
  check(logits.rank() == 2 && logits.size(0) == tokens.ids.numel() && logits.size(1) == model.vocab_size,
        "summed_denoising_loss: expected logits [{}, {}], got {}", tokens.ids.numel(), model.vocab_size,
        logits.shape());
  CrossEntropyOptions options;
  options.reduction = Reduction::none;
  options.ignore_index = kVisible;
  const Tensor targets = tokens.targets.to(logits.device()).view_reshape({tokens.targets.numel()});
  const Tensor nats = cross_entropy(logits, targets, options);
  const Tensor weights = tokens.weights.to(nats.device()).to(nats.dtype()).view_reshape({nats.numel()});
  return sum(nats * weights);
}

}  // namespace pg
