// Operations composed of simpler ones, the references that fused operations are tested against.
#include "autograd/check/composed.h"

#include <algorithm>
#include <cmath>

namespace pg::composed {
namespace {

// The maximum, detached from the tape: it is subtracted only to avoid overflow and does not change the result.
Tensor maximum_of(const Tensor& x, const std::vector<int>& dims) { return amax(x.detach(), dims, true); }

Tensor without_dims(const Tensor& x, const std::vector<int>& dims, bool keepdim) {
  return keepdim ? x : sum(x, dims, false);  // sizes are 1: the sum only drops them
}

int64_t count_of(const Tensor& x, const std::vector<int>& dims) {
  if (dims.empty()) return x.numel();
  int64_t n = 1;
  for (int d : dims) n *= x.size(d);
  return n;
}

}  // namespace

// max + log Σ exp(x - max)
Tensor logsumexp(const Tensor& x, const ReduceDims& dims, bool keepdim) {
  const Tensor m = maximum_of(x, dims);
  return without_dims(m + log(sum(exp(x - m), dims, true)), dims, keepdim);
}

Tensor mean(const Tensor& x, const ReduceDims& dims, bool keepdim) {
  return sum(x, dims, keepdim) / static_cast<double>(count_of(x, dims));
}

Tensor var(const Tensor& x, const ReduceDims& dims, int correction, bool keepdim) {
  const Tensor centred = x - composed::mean(x, dims, true);
  return sum(centred * centred, dims, keepdim) /
         static_cast<double>(std::max<int64_t>(0, count_of(x, dims) - correction));
}

Tensor softmax(const Tensor& x, int dim) {
  const Tensor e = exp(x - maximum_of(x, {dim}));
  return e / sum(e, {dim}, true);
}

Tensor log_softmax(const Tensor& x, int dim) { return x - composed::logsumexp(x, {dim}, true); }

// The target distribution is (1 - s)·onehot + s/V; its weight-w_c terms are -w_c·p_c·log q_c (PyTorch's definition).
Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  const int64_t vocabulary = logits.size(-1);
  const Tensor counted = ne(targets, Tensor::scalar(options.ignore_index, i32, targets.device())).to(logits.dtype());
  const Tensor ids = targets.to(f64);  // ignored targets read class 0 and get weight 0
  const Tensor safe_ids = where(counted.to(u8), ids, zeros_like(ids)).to(i32);
  const Tensor log_q = composed::log_softmax(logits);
  const Tensor weight =
      options.weight.defined() ? options.weight : Tensor::ones({vocabulary}, logits.dtype(), logits.device());
  const Tensor hot = one_hot(safe_ids, vocabulary, logits.dtype());
  const Tensor p = hot * (1 - options.label_smoothing) + options.label_smoothing / static_cast<double>(vocabulary);
  const Tensor loss = neg(sum(p * weight * log_q, {-1})) * counted;
  if (options.reduction == Reduction::none) return loss;
  if (options.reduction == Reduction::sum) return sum(loss);
  return sum(loss) / sum(sum(hot * weight, {-1}) * counted);
}

std::pair<Tensor, Tensor> token_log_prob(const Tensor& logits, const Tensor& ids) {
  const Tensor log_p = composed::log_softmax(logits);
  const Tensor hot = one_hot(ids, logits.size(-1), logits.dtype());
  return {sum(where(hot.to(u8), log_p, zeros_like(log_p)), {-1}), neg(sum(exp(log_p) * log_p, {-1}))};
}

Tensor gelu(const Tensor& x) {
  const double c = std::sqrt(2 / M_PI);
  return 0.5 * x * (1 + tanh(c * (x + 0.044715 * (x * x * x))));
}

Tensor silu(const Tensor& x) { return x * sigmoid(x); }

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor rows = reshape(x, {-1, x.size(-1)});
  Shape shape = x.shape();
  shape[x.rank() - 1] = weight.size(0);
  const Tensor y = reshape(matmul(rows, transpose(weight)), shape);
  return bias.defined() ? y + bias : y;
}

Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return composed::gelu(composed::linear(x, weight, bias));
}

Tensor mlp_gelu(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2) {
  return composed::linear(composed::linear_gelu(x, w1, b1), w2, b2);
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor centred = x - composed::mean(x, {-1}, true);
  Tensor y = centred * rsqrt(composed::mean(centred * centred, {-1}, true) + eps);
  if (weight.defined()) y = y * weight;
  if (bias.defined()) y = y + bias;
  return y;
}

std::pair<Tensor, Tensor> add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& weight,
                                         const Tensor& bias, double eps) {
  const Tensor sum = x + residual;
  return {sum, composed::layer_norm(sum, weight, bias, eps)};
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  const Tensor y = x * rsqrt(composed::mean(x * x, {-1}, true) + eps);
  return weight.defined() ? y * weight : y;
}

std::pair<Tensor, Tensor> add_rms_norm(const Tensor& x, const Tensor& residual, const Tensor& weight, double eps) {
  const Tensor sum = x + residual;
  return {sum, composed::rms_norm(sum, weight, eps)};
}

namespace {

// 1 where query t of row b may attend to key s: [B, 1, T, S] u8.
Tensor visible(int64_t batch, int64_t queries, int64_t keys, const AttentionOptions& options) {
  Tensor mask = Tensor::ones({batch, 1, queries, keys}, u8);
  auto m = mask.data<uint8_t>();
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t len = options.kv_len.defined() ? static_cast<int64_t>(options.kv_len.to_vector()[b]) : keys;
    for (int64_t t = 0; t < queries; ++t) {
      for (int64_t s = 0; s < keys; ++s) {
        const bool past = !options.causal || s <= len - queries + t;
        const bool attend = !options.key_mask.defined() || options.key_mask.to_vector()[b * keys + s] != 0;
        m[(b * queries + t) * keys + s] = s < len && past && attend;
      }
    }
  }
  return mask;
}

// [B, Hkv, S, D] → [B, H, S, D]: each key head serves H / Hkv consecutive query heads.
Tensor repeat_heads(const Tensor& x, int64_t heads) {
  const int64_t groups = heads / x.size(1);
  const Tensor repeated = expand(unsqueeze(x, 2), {x.size(0), x.size(1), groups, x.size(2), x.size(3)});
  return reshape(repeated, {x.size(0), heads, x.size(2), x.size(3)});
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(-1))));
  const Tensor mask = visible(q.size(0), q.size(2), k.size(2), options).to(q.device());
  const Tensor scores = scale * matmul(q, transpose(repeat_heads(k, q.size(1))));
  // A large negative number, not -inf: in a row without any key the exponentials must stay finite.
  const Tensor masked = where(mask, scores, Tensor::scalar(-1e30, q.dtype(), q.device()));
  const Tensor p = exp(masked - maximum_of(masked, {-1})) * mask.to(q.dtype());
  const Tensor total = sum(p, {-1}, true);
  const Tensor some = total + eq(total, zeros_like(total)).to(q.dtype());  // without a key: 0 / 1
  return matmul(p / some, repeat_heads(v, q.size(1)));
}

Tensor attention_qkv(const Tensor& qkv, int heads, bool causal) {
  const int64_t batch = qkv.size(0), time = qkv.size(1), width = qkv.size(2) / 3;
  auto part = [&](int i) {
    const Tensor x = slice(qkv, 2, i * width, (i + 1) * width);
    return transpose(reshape(x, {batch, time, heads, width / heads}), 1, 2);
  };
  AttentionOptions options;
  options.causal = causal;
  const Tensor y = composed::attention(part(0), part(1), part(2), options);
  return reshape(transpose(y, 1, 2), {batch, time, width});
}

// Pair i of a position's vector, (x_i, x_{i + D/2}), is rotated by position·frequency(base^(-2i/D)) radians.
Tensor rope(const Tensor& x, const Rope& options, const Tensor& positions) {
  const int64_t batch = x.size(0), time = x.size(2), half = x.size(3) / 2;
  Tensor cosine = Tensor::empty({batch, 1, time, half}, f64), sine = Tensor::empty({batch, 1, time, half}, f64);
  for (int64_t b = 0; b < batch; ++b) {
    const double first = positions.defined() ? positions.to_vector()[b] : 0;
    for (int64_t t = 0; t < time; ++t) {
      for (int64_t i = 0; i < half; ++i) {
        const double frequency = options.frequency(std::pow(options.base, -static_cast<double>(i) / half));
        const double angle = (first + static_cast<double>(t)) * frequency;
        cosine.data<double>()[(b * time + t) * half + i] = std::cos(angle);
        sine.data<double>()[(b * time + t) * half + i] = std::sin(angle);
      }
    }
  }
  const Tensor c = cosine.to(x.dtype()).to(x.device()), s = sine.to(x.dtype()).to(x.device());
  const Tensor a = slice(x, -1, 0, half), b = slice(x, -1, half, 2 * half);
  return cat({a * c - b * s, a * s + b * c}, -1);
}

Tensor embedding(const Tensor& weight, const Tensor& ids) {
  const Tensor hot = one_hot(ids, weight.size(0), weight.dtype());
  const Tensor rows = matmul(reshape(hot, {-1, weight.size(0)}), weight);
  Shape shape = ids.shape();
  shape.push_back(weight.size(1));
  return reshape(rows, shape);
}

}  // namespace pg::composed
