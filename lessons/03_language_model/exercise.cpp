// Lesson 3: a language model. This is your file: replace each TODO(...), then:
//   make lesson3 && ./lesson3 check
//
// R rows, V characters of the vocabulary. Useful: amax, sum, exp, log (each: x,
// {dims}, keepdim where it reduces), x - y and x / y with broadcasting,
// one_hot(ids, V, x.dtype()), x.size(dim). All ops are in autograd/ops.h,
// tensors in tensor/tensor.h. The engine's own softmax is pg::softmax, yours is
// lesson03::softmax.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/03_language_model/lesson.h"

namespace pg::lesson03 {

// Scores to probabilities, row by row: x [R, V] → [R, V], every row positive
// and summing to 1, for scores of any size.
Tensor softmax(const Tensor& x) {
  // Yours, in place of the next line.
  TODO("03.1 softmax");
}

// loss = mean over the rows of -log softmax(logits)[target]. logits [R, V] in
// f64 or f32, targets i32 [R] → d loss / d logits [R, V] in the same dtype. You
// may use pg::softmax.
Tensor cross_entropy_backward(const Tensor& logits, const Tensor& targets) {
  // Yours, in place of the next line.
  TODO("03.2 cross_entropy_backward");
}

// One step of AdamW on every element: p parameters, g gradients, m and v the
// running means of g and of g². All of one length. a.lr, a.beta1, a.beta2,
// a.eps, a.weight_decay; a.bias_correction1 = 1 - beta1^t and
// a.bias_correction2 = 1 - beta2^t for step t; a.grad_scale multiplies the
// gradient first (that is how clipping arrives).
void adamw(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
           const AdamWArgs& a) {
  // Yours, in place of the next line.
  TODO("03.3 adamw");
}

// The probabilities to draw from, in the order of the ids:
// softmax(logits / temperature), then top-k, then top-p, each on what is left,
// summing to 1 at the end. top_k keeps the k largest logits (0, or more than
// there are: all) and those equal to the k-th. top_p keeps the fewest most
// probable tokens whose sum reaches p, so the token that reaches it stays; of
// equal ones the smaller id is ranked first. top_p = 1 keeps all, whatever
// rounding makes of the sum. Ignore options.min_p.
std::vector<double> filtered_probs(std::span<const double> logits, const SampleOptions& options) {
  // Yours, in place of the next line.
  TODO("03.4 filtered_probs");
}

// Draws a token: u is uniform in [0, 1); the result is the first token at which
// the sum of the probabilities so far exceeds u. Never a token of probability
// 0. Rounding may leave the whole sum a little below u: then it is the last
// token of positive probability.
int32_t sample_token(std::span<const double> probs, double u) {
  // Yours, in place of the next line.
  TODO("03.5 sample_token");
}

}  // namespace pg::lesson03
