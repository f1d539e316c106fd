#pragma once
// Right but unusual answers to lesson 4: the checks must accept them. mutants.cpp has the table.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/04_gpt/lesson.h"

namespace pg::lesson04 {

// The scale on the queries, and a number far below any score as a mask.
inline Tensor right_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t t = q.size(2);
  const Tensor scores = matmul(q / std::sqrt(static_cast<double>(q.size(3))), transpose(k));
  const Tensor at = Tensor::arange(t, q.dtype());
  const Tensor masked = where(gt(at, unsqueeze(at, 1)), Tensor::scalar(-1e30, q.dtype()), scores);
  const Tensor e = exp(masked - amax(masked, {-1}, true));
  return matmul(e / sum(e, {-1}, true), v);
}

// By the tape.
inline AttentionGrads right_attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v) {
  EnableGrad on;
  const Tensor lq = q.clone().set_requires_grad(), lk = k.clone().set_requires_grad(),
               lv = v.clone().set_requires_grad();
  backward(lesson04::attention(lq, lk, lv), dout);
  return {lq.grad(), lk.grad(), lv.grad()};
}

// In sums over the row, with dx multiplied out.
inline LayerNormGrads right_layer_norm(const Tensor& dy, const Tensor& x, const Tensor& w, double eps) {
  const double c = static_cast<double>(x.size(1));
  const Tensor far = x - sum(x, {1}, true) / c, variance = sum(far * far, {1}, true) / c + eps;
  const Tensor d = dy * w, root = sqrt(variance);
  const Tensor dx = d / root - sum(d, {1}, true) / (root * c) - far * sum(d * far, {1}, true) / (variance * root * c);
  return {dx, sum(dy * far / root, {0}), sum(dy, {0})};
}

// Standard normal numbers times the deviation, vectors first.
inline void right_init(Transformer& model, Generator& generator) {
  for (auto& [name, parameter] : named_parameters(model)) {
    if (parameter.rank() == 1) parameter.fill(name.ends_with("bias") ? 0 : 1);
  }
  for (auto& [name, parameter] : named_parameters(model)) {
    if (parameter.rank() == 1) continue;
    double std = name.starts_with("h.") ? model.config.in_proj_std : 0.02;
    if (name.ends_with("c_proj.weight")) std = 0.02 / std::sqrt(2.0 * static_cast<double>(model.config.n_layer));
    parameter.copy_from(Tensor::normal(parameter.shape(), 0, 1, generator) * std);
  }
}

// Through KvSlot::store.
inline Tensor right_decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) {
  slot.store(k, v);
  AttentionOptions options;
  options.kv_len = slot.after.clone();
  return pg::attention(q, slot.k, slot.v, options);
}

}  // namespace pg::lesson04
