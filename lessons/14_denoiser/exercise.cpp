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
  // Yours, in place of the next line.
  TODO("14.1 mask_tokens");
}

// The bound in nats per token, a scalar of the logits' dtype: the sum over
// masked positions of weight·(-log p(target)), divided by B·L, all positions.
// logits [B, L, V + 1]; the last one belongs to the mask, which is never
// predicted: p is a softmax over the first V. cross_entropy(logits [N, V],
// targets [N], options) with options.reduction = Reduction::none (a
// CrossEntropyOptions) gives -log p for each, and 0 where the target is -100.
Tensor denoising_loss(const Tensor& logits, const MaskedTokens& tokens) {
  // Yours, in place of the next line.
  TODO("14.2 denoising_loss");
}

}  // namespace pg::lesson14
