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
  // [answer 03.1 softmax]
  const Tensor e = exp(x - amax(x, {-1}, true));
  return e / sum(e, {-1}, true);
  // [end]
}

// loss = mean over the rows of -log softmax(logits)[target]. logits [R, V] in
// f64 or f32, targets i32 [R] → d loss / d logits [R, V] in the same dtype. You
// may use pg::softmax.
Tensor cross_entropy_backward(const Tensor& logits, const Tensor& targets) {
  // [answer 03.2 cross_entropy_backward]
  const double rows = static_cast<double>(logits.size(0));
  return (pg::softmax(logits) - one_hot(targets, logits.size(1), logits.dtype())) / rows;
  // [end]
}

// One step of AdamW on every element: p parameters, g gradients, m and v the
// running means of g and of g². All of one length. a.lr, a.beta1, a.beta2,
// a.eps, a.weight_decay; a.bias_correction1 = 1 - beta1^t and
// a.bias_correction2 = 1 - beta2^t for step t; a.grad_scale multiplies the
// gradient first (that is how clipping arrives).
void adamw(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
           const AdamWArgs& a) {
  // [answer 03.3 adamw]
  for (size_t i = 0; i < p.size(); ++i) {
    const double gradient = a.grad_scale * g[i];
    p[i] -= a.lr * a.weight_decay * p[i];
    m[i] = a.beta1 * m[i] + (1 - a.beta1) * gradient;
    v[i] = a.beta2 * v[i] + (1 - a.beta2) * gradient * gradient;
    p[i] -= a.lr * (m[i] / a.bias_correction1) / (std::sqrt(v[i] / a.bias_correction2) + a.eps);
  }
  // [end]
}

// The probabilities to draw from, in the order of the ids:
// softmax(logits / temperature), then top-k, then top-p, each on what is left,
// summing to 1 at the end. top_k keeps the k largest logits (0, or more than
// there are: all) and those equal to the k-th. top_p keeps the fewest most
// probable tokens whose sum reaches p, so the token that reaches it stays; of
// equal ones the smaller id is ranked first. top_p = 1 keeps all, whatever
// rounding makes of the sum. Ignore options.min_p.
std::vector<double> filtered_probs(std::span<const double> logits, const SampleOptions& options) {
  // [answer 03.4 filtered_probs]
  const size_t n = logits.size();
  std::vector<size_t> order(n);  // most probable first
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  const double largest = logits[order[0]];
  const size_t k = options.top_k == 0 ? n : std::min(n, static_cast<size_t>(options.top_k));
  const double threshold = logits[order[k - 1]];

  std::vector<double> probs(n, 0);
  for (size_t i = 0; i < n; ++i) {
    if (logits[i] >= threshold) probs[i] = std::exp((logits[i] - largest) / options.temperature);
  }
  const double total = std::accumulate(probs.begin(), probs.end(), 0.0);
  double mass = 0;
  for (size_t i : order) {
    const double before = mass;
    mass += probs[i] / total;
    if (options.top_p < 1 && before >= options.top_p) probs[i] = 0;
  }
  const double kept = std::accumulate(probs.begin(), probs.end(), 0.0);
  for (double& p : probs) p /= kept;
  return probs;
  // [end]
}

// Draws a token: u is uniform in [0, 1); the result is the first token at which
// the sum of the probabilities so far exceeds u. Never a token of probability
// 0. Rounding may leave the whole sum a little below u: then it is the last
// token of positive probability.
int32_t sample_token(std::span<const double> probs, double u) {
  // [answer 03.5 sample_token]
  double sum_so_far = 0;
  int32_t last = 0;
  for (size_t i = 0; i < probs.size(); ++i) {
    if (probs[i] == 0) continue;
    sum_so_far += probs[i];
    last = static_cast<int32_t>(i);
    if (u < sum_so_far) break;
  }
  return last;
  // [end]
}

}  // namespace pg::lesson03
