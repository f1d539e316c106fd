// Attention (Vaswani et al. 2017, arXiv:1706.03762) and its backward. Each position t has a query q[t], and each
// position s a key k[s] and a value v[s]. The result of t is a weighted mean of the values. The weights p[s] are at
// least 0, their sum is 1, and p[s] is larger where q[t]·k[s] is larger. Each head does this
// with its own D channels, and the scale is 1/√D. The file also has rotary positions, which GPT-2 does not use, and the
// cache of keys and values for generation.
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/plain/access.h"

namespace pg::plain {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The weights of query t of head h of sequence b: p[s] = e^(scale·q·k[s] - lse) for the keys s that it sees, else 0.
// lse is ln Σ e^(scale·q·k[s]), so the sum of p is 1. Without any key, all are 0 and lse is -inf. The T queries are
// the last T of `length` positions: query t is position length - T + t, and with `causal` it sees no later key.
std::vector<double> weights(const View& q, const View& k, const AttentionArgs& args, const Dims& i, double& lse) {
  // In GPT-2 kv_head is h. With grouped heads, several heads of q share one head of k and v.
  const int64_t b = i[0], h = i[1], t = i[2], keys = k.shape[2], kv_head = h / (q.shape[1] / k.shape[1]);
  const int64_t length = args.kv_len ? static_cast<int64_t>(of(args.kv_len, b)) : keys;
  const int64_t end = args.causal ? length - q.shape[2] + t + 1 : length;
  std::vector<double> p(static_cast<size_t>(keys), -kInfinity);
  double max = -kInfinity, sum = 0;
  for (int64_t s = 0; s < end; ++s) {
    if (args.key_mask && of(args.key_mask, b, s) == 0) continue;
    double score = 0;
    for (int64_t d = 0; d < q.shape[3]; ++d) score += of(q, b, h, t, d) * of(k, b, kv_head, s, d);
    p[static_cast<size_t>(s)] = score * args.scale;
    max = std::max(max, score * args.scale);
  }
  for (double x : p) sum += max == -kInfinity ? 0 : std::exp(x - max);
  lse = max + std::log(sum);
  for (double& x : p) x = sum == 0 ? 0 : std::exp(x - lse);
  return p;
}

// [B, H, T] of q
Shape queries(const View& q) { return {q.shape[0], q.shape[1], q.shape[2]}; }

}  // namespace

// out = Σ over s of p[s]·v[s]
void attention(const View& out, const View& lse, const View& q, const View& k, const View& v,
               const AttentionArgs& args) {
  each(queries(q), [&](const Dims& i) {
    const int64_t kv_head = i[1] / (q.shape[1] / k.shape[1]);
    double log_sum = 0;
    const std::vector<double> p = weights(q, k, args, i, log_sum);
    put(lse, at(lse, i), log_sum);
    for (int64_t d = 0; d < v.shape[3]; ++d) {
      double sum = 0;
      for (int64_t s = 0; s < k.shape[2]; ++s) {
        if (p[static_cast<size_t>(s)] != 0) sum += p[static_cast<size_t>(s)] * of(v, i[0], kv_head, s, d);
      }
      put(out, at(out, i[0], i[1], i[2], d), sum);
    }
  });
}

// dv[s] += p[s]·dout;  ds = p[s]·(dout·v[s] - dout·out)·scale;  dq += ds·k[s];  dk[s] += ds·q
// ds is the gradient of q·k[s]. dout·v[s] is the gradient of p[s]. dout·out is its mean with the weights p; the softmax
// subtracts it, because the sum of p stays 1.
void attention_backward(const View& dq, const View& dk, const View& dv, const View& dout, const View& out, const View&,
                        const View& q, const View& k, const View& v, const AttentionArgs& args, double beta) {
  const int64_t size = q.shape[3];
  Sums sum_q(dq), sum_k(dk), sum_v(dv);
  each(queries(q), [&](const Dims& i) {
    const int64_t b = i[0], h = i[1], t = i[2], kv_head = h / (q.shape[1] / k.shape[1]);
    double lse = 0, dout_out = 0;
    const std::vector<double> p = weights(q, k, args, i, lse);
    for (int64_t d = 0; d < size; ++d) dout_out += of(dout, b, h, t, d) * of(out, b, h, t, d);
    for (int64_t s = 0; s < k.shape[2]; ++s) {
      const double weight = p[static_cast<size_t>(s)];
      if (weight == 0) continue;
      double dout_v = 0;
      for (int64_t d = 0; d < size; ++d) dout_v += of(dout, b, h, t, d) * of(v, b, kv_head, s, d);
      const double ds = weight * (dout_v - dout_out) * args.scale;
      for (int64_t d = 0; d < size; ++d) {
        sum_q(b, h, t, d) += ds * of(k, b, kv_head, s, d);
        sum_k(b, kv_head, s, d) += ds * of(q, b, h, t, d);
        sum_v(b, kv_head, s, d) += weight * of(dout, b, h, t, d);
      }
    }
  });
  sum_q.write(beta);
  sum_k.write(beta);
  sum_v.write(beta);
}

// Rotates (x[i], x[i + D/2]) by position·frequency(base^(-2i/D)): tensor/rope.h.
void rope(const View& y, const View& x, const RopeArgs& args, double beta) {
  const int64_t half = x.shape[3] / 2;
  each({x.shape[0], x.shape[1], x.shape[2], half}, [&](const Dims& i) {
    const double position = static_cast<double>(i[2]) + (args.positions ? of(args.positions, i[0]) : 0);
    const double radians =
        args.rope.frequency(std::pow(args.rope.base, -static_cast<double>(i[3]) / static_cast<double>(half)));
    const double angle = (args.inverse ? -1 : 1) * position * radians, c = std::cos(angle), s = std::sin(angle);
    const double low = of(x, i), high = of(x, i[0], i[1], i[2], i[3] + half);
    add(y, at(y, i), low * c - high * s, beta);
    add(y, at(y, i[0], i[1], i[2], i[3] + half), high * c + low * s, beta);
  });
}

void kv_append(const View& k, const View& v, const View& new_k, const View& new_v, const View& starts) {
  each(new_k.shape, [&](const Dims& i) {
    Dims to = i;
    to[2] += static_cast<int64_t>(of(starts, i[0]));
    put(k, at(k, to), of(new_k, i));
    put(v, at(v, to), of(new_v, i));
  });
}

void attention_append(const View& out, const View& lse, const View& q, const View& k, const View& v, const View& new_k,
                      const View& new_v, const View& starts, const AttentionArgs& args) {
  kv_append(k, v, new_k, new_v, starts);
  attention(out, lse, q, k, v, args);
}

}  // namespace pg::plain
