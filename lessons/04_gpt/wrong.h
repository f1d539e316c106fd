#pragma once
// Wrong answers to lesson 4: those of mistakes.cpp, and those of mutants.cpp for which kit/diagnose.h, kit/contract.h
// or code of a check finds the words.
#include <algorithm>
#include <cmath>

#include "lessons/04_gpt/checks.h"

namespace pg::lesson04 {
using kit::Name;

template <Name mistake>
Tensor wrong_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t t = q.size(2);
  double by = std::sqrt(static_cast<double>(q.size(3)));
  if (mistake == "no_scale") by = 1;
  if (mistake == "squared_scale") by *= by;
  if (mistake == "times_root") by = 1 / by;
  if (mistake == "half") by = 2;
  if (mistake == "all_channels") by = std::sqrt(static_cast<double>(q.size(1) * q.size(3)));
  if (mistake == "by_t") by = std::sqrt(static_cast<double>(t));
  Tensor scores = matmul(q, transpose(k)) * (1 / by);
  if (mistake == "uniform") scores = scores * 0.0;
  const Tensor position = Tensor::arange(t, q.dtype());
  Tensor past = le(position, unsqueeze(position, 1));
  if (mistake == "turned_mask") past = ge(position, unsqueeze(position, 1));
  if (mistake == "sees_all") past = ge(position, position);
  if (mistake == "strict") past = lt(position, unsqueeze(position, 1));
  const Tensor one = Tensor::scalar(1, q.dtype()), zero = Tensor::scalar(0, q.dtype());
  if (mistake == "after_softmax" || mistake == "after_softmax_divided") {
    Tensor p = softmax(scores) * where(past, one, zero);
    if (mistake == "after_softmax_divided") p = p / sum(p, {-1}, true);
    return matmul(p, v);
  }
  if (mistake == "no_softmax") return matmul(where(past, scores, zero), v);
  const double masked = mistake == "zero_mask"      ? 0
                        : mistake == "mask_of_100"  ? -100
                        : mistake == "mask_of_1000" ? -1000
                                                    : -INFINITY;
  const Tensor p = softmax(where(past, scores, Tensor::scalar(masked, q.dtype())), mistake == "queries" ? -2 : -1);
  if (mistake == "first_row" && q.size(0) > 1) return matmul(p, select(v, 0, 0));
  return matmul(p, mistake == "keys" ? k : v);
}

template <Name mistake>
AttentionGrads wrong_attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v) {
  double scale = 1 / std::sqrt(static_cast<double>(q.size(3)));
  if (mistake == "no_scale") scale = 1;
  if (mistake == "scale_twice") scale *= scale;
  if (mistake == "half") scale = 0.5;
  if (mistake == "by_t") scale = 1 / std::sqrt(static_cast<double>(q.size(2)));
  const Tensor p = attention_weights(q, k), dp = matmul(dout, transpose(v)), all = sum(dp * p, {-1}, true);
  Tensor ds = p * (dp - all) * scale;
  if (mistake == "own_effect") ds = p * dp * scale;
  if (mistake == "queries") ds = p * (dp - sum(dp * p, {-2}, true)) * scale;
  if (mistake == "mean") ds = p * (dp - pg::mean(dp * p, {-1}, true)) * scale;
  if (mistake == "precedence") ds = (p * dp - all) * scale;
  if (mistake == "no_weights") ds = p * (dp - sum(dp, {-1}, true)) * scale;
  if (mistake == "no_p") ds = (dp - all) * scale;
  if (mistake == "plus") ds = p * (dp + all) * scale;
  AttentionGrads g{matmul(ds, k), matmul(transpose(ds), q), matmul(transpose(p), dout)};
  if (mistake == "exchanged") std::swap(g.dq, g.dk);
  if (mistake == "p_plain") g.dv = matmul(p, dout);
  if (mistake == "minus") g.dq = neg(g.dq);
  if (mistake == "q_for_k") g.dq = matmul(ds, q);
  if (mistake == "k_for_q") g.dk = matmul(transpose(ds), k);
  if (mistake == "dq_turned") g.dq = matmul(transpose(ds), k);
  if (mistake == "dk_plain") g.dk = matmul(ds, q);
  if (mistake == "ds_for_p") g.dv = matmul(transpose(ds), dout);
  if (mistake == "dv_scaled") g.dv = g.dv * scale;
  if (mistake == "no_dq") g.dq = zeros_like(q);
  return g;
}

template <Name mistake>
LayerNormGrads wrong_layer_norm(const Tensor& dy, const Tensor& x, const Tensor& w, double eps) {
  const std::vector<int> dim = {mistake == "columns" ? 0 : -1};
  Tensor variance = var(x, dim, mistake == "ddof_1" ? 1 : 0, true);
  const Tensor m = pg::mean(x, dim, true);
  if (mistake == "squares_difference") variance = pg::mean(x * x, dim, true) - m * m;
  if (mistake == "fixed_eps") eps = 1e-5;
  if (mistake == "no_eps") eps = 0;
  const Tensor rstd = mistake == "eps_outside" ? 1.0 / (sqrt(variance) + eps) : rsqrt(variance + eps);
  const Tensor xhat = (x - m) * rstd, d = mistake == "no_w" || mistake == "w_last" ? dy : dy * w;
  const auto average = [&](const Tensor& t) { return mistake == "sums" ? sum(t, dim, true) : pg::mean(t, dim, true); };
  Tensor dx = d;
  if (mistake != "constants" && mistake != "no_mean") dx = dx - average(d);
  if (mistake != "constants" && mistake != "no_deviation")
    dx = dx - xhat * average(mistake == "plain_mean" ? d : d * xhat);
  if (mistake != "no_factor") dx = dx * rstd;
  if (mistake == "w_last") dx = dx * w;
  LayerNormGrads g{dx, sum(dy * xhat, {0}), sum(dy, {0})};
  if (mistake == "db_mean") g.db = pg::mean(dy, {0});
  if (mistake == "dw_mean") g.dw = pg::mean(dy * xhat, {0});
  if (mistake == "dw_of_x") g.dw = sum(dy * x, {0});
  if (mistake == "dw_times_w") g.dw = g.dw * w;
  if (mistake == "dw_is_db") g.dw = g.db;
  if (mistake == "one_channel" && x.size(1) == 1) g.dx = dy * rstd;
  return g;
}

template <Name mistake>
Tensor wrong_decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t t = q.size(2), room = slot.k.size(2);
  const KvSlot to = mistake == "forgets" ? KvSlot{slot.k.clone(), slot.v.clone(), slot.before, slot.after} : slot;
  for (int64_t b = 0; b < (mistake == "two_rows" ? std::min<int64_t>(2, q.size(0)) : q.size(0)); ++b) {
    int64_t start = to.before.data<const int32_t>()[mistake == "row_zero" ? 0 : static_cast<size_t>(b)];
    if (mistake == "at_zero") start = 0;
    if (mistake == "one_late") start = std::min(start + 1, room - t);
    const int64_t count = mistake == "one_token" ? 1 : t;
    const auto store = [&](const Tensor& into, const Tensor& from) {
      const Tensor row = into.view_select(0, b);
      row.view_slice(1, start, start + count).copy_from(from.view_select(0, b).view_slice(1, 0, count));
      if (mistake == "clears_rest") row.view_slice(1, start + count, room).fill(0);
    };
    store(to.k, k);
    if (mistake != "v_forgotten") store(to.v, mistake == "k_in_v" ? k : v);
  }
  AttentionOptions options;
  const auto known = to.before.data<const int32_t>();
  const bool enough = *std::min_element(known.begin(), known.end()) >= t;  // a query has a key to look at
  if (mistake != "reads_all") options.kv_len = mistake == "length_before" && enough ? to.before : to.after;
  options.causal = mistake != "not_causal";
  const Tensor out = pg::attention(q, to.k, to.v, options);
  if (mistake == "counts_up") slot.before.copy_from(slot.after);
  return out;
}

}  // namespace pg::lesson04
