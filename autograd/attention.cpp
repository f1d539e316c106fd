// Attention, rotary positions and dropout.
#include <cmath>

#include "autograd/op_util.h"

namespace pg {
namespace {

using namespace detail;

// Kernels need the head dimension contiguous; the others may have any stride.
Tensor head_rows(const Tensor& x) { return x.size(-1) == 1 || x.strides().back() == 1 ? x.detach() : x.clone(); }

AttentionArgs args_of(const AttentionOptions& o, int64_t d) {
  return {o.scale.value_or(1 / std::sqrt(static_cast<double>(d))), o.causal, o.key_mask, o.kv_len};
}

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& o) {
  check_same_dtype(q, k, "attention");
  check_same_dtype(q, v, "attention");
  check_floating(q, "attention");
  check(q.rank() == 4 && k.rank() == 4 && k.shape() == v.shape() && q.size(0) == k.size(0) && q.size(3) == k.size(3),
        "attention: expected q [B, H, T, D], k and v [B, Hkv, S, D], got {}, {} and {}", q.shape(), k.shape(),
        v.shape());
  check(k.size(1) > 0 && q.size(1) % k.size(1) == 0, "attention: {} query heads cannot share {} key heads", q.size(1),
        k.size(1));
  check(!o.causal || o.kv_len.defined() || q.size(2) <= k.size(2),
        "attention: {} queries but only {} keys; causal queries are the last ones", q.size(2), k.size(2));
  check_device(q, o.key_mask, "attention");
  check_device(q, o.kv_len, "attention");
  if (o.key_mask.defined()) {
    check(o.key_mask.dtype() == u8 && o.key_mask.shape() == Shape{k.size(0), k.size(2)},
          "attention: key_mask must be u8 [{}, {}], got {} {}", k.size(0), k.size(2), o.key_mask.dtype(),
          o.key_mask.shape());
  }
  if (o.kv_len.defined()) {
    check(o.kv_len.shape() == Shape{k.size(0)}, "attention: kv_len must be [{}], got {}", k.size(0), o.kv_len.shape());
    check_ids(o.kv_len, k.size(2) + 1, "attention kv_len");
    if (!o.kv_len.device().on_host()) return;  // as in check_ids
    const Tensor lengths = packed(o.kv_len);
    for (int32_t len : lengths.data<const int32_t>()) {
      check(!o.causal || len >= q.size(2), "attention: {} queries but kv_len is {}", q.size(2), len);
    }
  }
}

// Memory for the results of attention: out [B, H, T, D], such that merging the heads is a view, and lse [B, H, T].
std::pair<Tensor, Tensor> results_for(const Tensor& q) {
  const int64_t b = q.size(0), h = q.size(1), t = q.size(2), d = q.size(3);
  return {Tensor::empty({b, t, h, d}, q.dtype(), q.device()).view_transpose(1, 2),
          Tensor::empty({b, h, t}, sum_type(q.dtype()), q.device())};
}

// [B, T, H·D] viewed as [B, H, T, D].
Tensor heads_of(const Tensor& x, int64_t heads) {
  return x.view_reshape({x.size(0), x.size(1), heads, x.size(2) / heads}).view_transpose(1, 2);
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  check_attention(q, k, v, options);
  AttentionOptions o = options;
  o.key_mask = packed(o.key_mask);
  o.kv_len = packed(o.kv_len);
  const Tensor qr = head_rows(q), kr = head_rows(k), vr = head_rows(v);
  const int64_t d = q.size(3);
  const auto results = results_for(q);
  const Tensor out = results.first, lse = results.second;
  kernels_of(q).attention(out, lse, qr, kr, vr, args_of(o, d));
  const SavedIds kv_len(o.kv_len, taped({&q, &k, &v}));
  return record(Op::attention, out, {&q, &k, &v}, {&qr, &kr, &vr, &out, &o.key_mask}, [=](const Tensor& dy, Grads& g) {
    AttentionOptions saved = o;
    saved.kv_len = kv_len.get(Op::attention);
    const Tensor dq = empty_like(qr), dk = empty_like(kr), dv = empty_like(vr);
    kernels_of(dy).attention_backward(dq, dk, dv, head_rows(dy), out, lse, qr, kr, vr, args_of(saved, d), 0);
    g.pass(0, dq);
    g.pass(1, dk);
    g.pass(2, dv);
  });
}

Tensor attention_append(const Tensor& q, const Tensor& new_k, const Tensor& new_v, const Tensor& k, const Tensor& v,
                        const Tensor& before, const AttentionOptions& options) {
  check_attention(q, k, v, options);
  for (const Tensor* x : {&new_k, &new_v}) {
    check_same_dtype(*x, k, "attention_append");
    check(x->shape() == Shape{k.size(0), k.size(1), q.size(2), k.size(3)},
          "attention_append: expected new keys and values [{}, {}, {}, {}], got {}", k.size(0), k.size(1), q.size(2),
          k.size(3), x->shape());
  }
  check(k.strides() == v.strides() && (k.size(3) == 1 || k.strides().back() == 1),
        "attention_append: expected caches of equal strides, the elements of a head adjacent");
  check(options.kv_len.defined() && before.defined() && before.shape() == options.kv_len.shape(),
        "attention_append: expected kv_len and before, both [{}]", k.size(0));
  check_device(q, before, "attention_append");
  AttentionOptions o = options;
  o.key_mask = packed(o.key_mask);
  o.kv_len = packed(o.kv_len);
  const auto results = results_for(q);
  kernels_of(q).attention_append(results.first, results.second, head_rows(q), k, v, head_rows(new_k), head_rows(new_v),
                                 packed(before), args_of(o, q.size(3)));
  return results.first;
}

Tensor attention_qkv(const Tensor& qkv, int heads, bool causal) {
  check_floating(qkv, "attention_qkv");
  check(qkv.rank() == 3 && heads >= 1 && qkv.size(2) % (3 * int64_t{heads}) == 0,
        "attention_qkv: expected [B, T, 3·H·D] with H = {}, got {}", heads, qkv.shape());
  const Tensor x = packed(qkv);
  const int64_t c = qkv.size(2) / 3;
  const auto part = [c, heads](const Tensor& of, int i) {
    return heads_of(of.view_slice(2, i * c, (i + 1) * c), heads);
  };
  const AttentionArgs args{1 / std::sqrt(static_cast<double>(c / heads)), causal, {}, {}};
  const Tensor out = Tensor::empty({x.size(0), x.size(1), c}, x.dtype(), x.device());
  const Tensor lse = Tensor::empty({x.size(0), heads, x.size(1)}, sum_type(x.dtype()), x.device());
  kernels_of(x).attention(heads_of(out, heads), lse, part(x, 0), part(x, 1), part(x, 2), args);
  return record(Op::attention, out, {&qkv}, {&x, &out}, [=](const Tensor& dy, Grads& g) {
    auto dx = g[0];
    if (!dx) return;
    kernels_of(dy).attention_backward(part(*dx.into, 0), part(*dx.into, 1), part(*dx.into, 2),
                                      heads_of(packed(dy), heads), heads_of(out, heads), lse, part(x, 0), part(x, 1),
                                      part(x, 2), args, dx.beta);
  });
}

Tensor dropout(const Tensor& x, double p, bool training, Generator& stream) {
  check_floating(x, "dropout");
  check(p >= 0 && p <= 1, "dropout: p must be in [0, 1], got {}", p);
  if (!training || p == 0) return x;
  const uint64_t seed = stream.seed(), at = stream.reserve(static_cast<uint64_t>(x.numel()));
  const Tensor y = empty_like(x);
  kernels_of(x).dropout(y, packed(x), p, seed, at, 0);
  return record(Op::dropout, y, {&x}, [p, seed, at](const Tensor& dy, Grads& g) {
    if (auto dx = g[0]) kernels_of(dy).dropout(*dx.into, packed(dy), p, seed, at, dx.beta);
  });
}

Tensor rope(const Tensor& x, const Rope& options, const Tensor& positions) {
  check_floating(x, "rope");
  check(options.base > 0 && std::isfinite(options.base), "rope: expected a base above 0, got {}", options.base);
  check(options.factor > 0 && std::isfinite(options.factor) && options.original_length > 0 &&
            options.low_freq_factor < options.high_freq_factor,
        "rope: expected a factor above 0, an original length above 0 and a low_freq_factor below the high_freq_factor, "
        "got {}, {}, {} and {}",
        options.factor, options.original_length, options.low_freq_factor, options.high_freq_factor);
  check(x.rank() == 4 && x.size(3) % 2 == 0, "rope: expected [B, H, T, D] with D even, got {}", x.shape());
  if (positions.defined()) {
    check(positions.dtype() == i32 && positions.shape() == Shape{x.size(0)},
          "rope: positions must be i32 [{}], got {} {}", x.size(0), positions.dtype(), positions.shape());
  }
  check_device(x, positions, "rope");
  const Tensor at = packed(positions);
  const Tensor y = empty_like(x);
  kernels_of(x).rope(y, head_rows(x), {options, at, false}, 0);
  return record(Op::rope, y, {&x}, [options, ids = SavedIds(at, taped({&x}))](const Tensor& dy, Grads& g) {
    if (auto dx = g[0]) kernels_of(dy).rope(*dx.into, head_rows(dy), {options, ids.get(Op::rope), true}, dx.beta);
  });
}

}  // namespace pg
