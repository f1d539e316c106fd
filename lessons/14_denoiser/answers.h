// Lesson 14: a masked denoiser. This is your file: replace each TODO(...),
// then: make lesson14 && ./lesson14 check
//
// B rows of L tokens, V tokens in the vocabulary besides the mask. Use
// operations, so that gradients pass: reshape, slice(x, dim, start, end),
// sum(x), x * y, x / 2.0. x.to(dtype) is for constants: it cuts the tape. The
// engine's own functions are pg::mask_tokens and pg::summed_denoising_loss.
#include <cmath>
#include <vector>

#include "lessons/14_denoiser/lesson.h"

namespace pg::lesson14 {

// Masks tokens at random. ids i32 [B, L] → a MaskedTokens of three new tensors
// [B, L]; ids itself must not change. First u = generator.uniform(), in [0, 1),
// for the whole batch. Row b has the time t = 1 - frac(u + b/B), where frac(x)
// is x - std::floor(x). Then one generator.uniform() for each token, row after
// row: where it is below t, the token is masked. The result: .ids (i32) with
// mask_id where masked; .targets (i32) with the token where masked, else -100;
// .weights (f64) with 1/t in the whole row. Tensors of numbers:
// Tensor::from(std::vector<int32_t>, shape).
MaskedTokens mask_tokens(const Tensor& ids, int32_t mask_id, Generator& generator) {
  // [answer 14.1 mask_tokens]
  const int64_t rows = ids.size(0), length = ids.size(1);
  const Tensor given = ids.contiguous_copy();
  const auto tokens = given.data<const int32_t>();
  std::vector<int32_t> seen, targets;
  std::vector<double> weights;
  const double u = generator.uniform();
  for (int64_t b = 0; b < rows; ++b) {
    const double x = u + static_cast<double>(b) / static_cast<double>(rows);
    const double t = 1 - (x - std::floor(x));  // in (0, 1]
    for (int64_t i = 0; i < length; ++i) {
      const int32_t token = tokens[static_cast<size_t>(b * length + i)];
      const bool masked = generator.uniform() < t;
      seen.push_back(masked ? mask_id : token);
      targets.push_back(masked ? token : -100);
      weights.push_back(1 / t);
    }
  }
  const Shape shape = {rows, length};
  return {Tensor::from(seen, shape), Tensor::from(targets, shape), Tensor::from(weights, shape)};
  // [end]
}

// The bound in nats per token, a scalar of the logits' dtype: the sum over
// masked positions of weight·(-log p(target)), divided by B·L, all positions.
// logits [B, L, V + 1]; the last one belongs to the mask, which is never
// predicted: p is a softmax over the first V. cross_entropy(logits [N, V],
// targets [N], options) with options.reduction = Reduction::none (a
// CrossEntropyOptions) gives -log p for each, and 0 where the target is -100.
Tensor denoising_loss(const Tensor& logits, const MaskedTokens& tokens) {
  // [answer 14.2 denoising_loss]
  const int64_t positions = tokens.ids.numel(), v = logits.size(2) - 1;
  CrossEntropyOptions options;
  options.reduction = Reduction::none;
  const Tensor rows = reshape(slice(logits, 2, 0, v), {positions, v});
  const Tensor nats = cross_entropy(rows, reshape(tokens.targets, {positions}), options);
  const Tensor weights = reshape(tokens.weights.to(logits.dtype()), {positions});
  return sum(nats * weights) / static_cast<double>(positions);
  // [end]
}

}  // namespace pg::lesson14
