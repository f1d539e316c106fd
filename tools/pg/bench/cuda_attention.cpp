// Benchmarks of attention on a CUDA device, with head dimension 64 as in every GPT-2. Training: causal; FLOPs are
// counted for the products of a query with the keys it attends to, and 2.5 times as many for backward. Decoding: counts
// the bytes of the keys and values in use.
#include <cmath>

#include "tensor/kernels.h"
#include "tools/pg/bench/bench.h"

namespace pg::tools {

namespace {

constexpr int64_t kHeads = 12, kSize = 64;

AttentionArgs scaled() {
  AttentionArgs args;
  args.scale = 1 / std::sqrt(static_cast<double>(kSize));
  return args;
}

std::vector<Entry> bench_training(const std::string& label, int64_t rows, int64_t length, const BenchSettings& s,
                                  int repeat) {
  Generator g(1);
  // The model's layout: q, k and v next to each other in each token's row, results in rows of tokens.
  const Tensor qkv = Tensor::normal({rows, length, 3, kHeads, kSize}, 0, 1, g, s.dtype, s.device);
  const Tensor dqkv = empty_like(qkv);
  const auto part = [](const Tensor& x, int which) { return x.view_select(2, which).view_transpose(1, 2); };
  const Tensor dout_rows = Tensor::normal({rows, length, kHeads, kSize}, 0, 1, g, s.dtype, s.device);
  const Tensor dout = dout_rows.view_transpose(1, 2), out = empty_like(dout_rows).view_transpose(1, 2);
  const Tensor lse = Tensor::empty({rows, kHeads, length}, sum_type(s.dtype), s.device);
  const AttentionArgs args = scaled();
  const Kernels& k = kernels(s.device);
  const auto pairs = static_cast<double>(rows * kHeads) * static_cast<double>(length * (length + 1) / 2);
  Entry forward{"attention", label, "forward"}, backward{"attention", label, "backward"};
  forward.flops = 4 * pairs * kSize;
  backward.flops = 2.5 * forward.flops;
  const View q = part(qkv, 0), key = part(qkv, 1), v = part(qkv, 2);
  forward.timing = time_cold(
      s.device, [&] { k.attention(out, lse, q, key, v, args); }, repeat);
  const View dq = part(dqkv, 0), dk = part(dqkv, 1), dv = part(dqkv, 2);
  backward.timing = time_cold(
      s.device, [&] { k.attention_backward(dq, dk, dv, dout, out, lse, q, key, v, args, 0); }, repeat);
  return {forward, backward};
}

std::vector<Entry> bench_decoding(const std::string& label, int64_t rows, int64_t context, const BenchSettings& s,
                                  int repeat) {
  Generator g(1);
  const auto normal = [&](int64_t length) {
    return Tensor::normal({rows, kHeads, length, kSize}, 0, 1, g, s.dtype, s.device);
  };
  const Tensor q = normal(1), k = normal(context), v = normal(context), out = empty_like(q);
  const Tensor lse = Tensor::empty({rows, kHeads, 1}, sum_type(s.dtype), s.device);
  const Tensor used = Tensor::full({rows}, static_cast<double>(context), i32, s.device);
  AttentionArgs args = scaled();
  args.kv_len = used;
  Entry entry{"decode-attention", label, "token"};
  entry.bytes = 2.0 * static_cast<double>(k.numel()) * static_cast<double>(size_of(s.dtype));
  entry.timing = time_cold(
      s.device, [&] { kernels(s.device).attention(out, lse, q, k, v, args); }, repeat);
  return {entry};
}

}  // namespace

void add_cuda_attention_benchmarks(Benchmarks& all, const BenchSettings& s) {
  struct Size {
    int64_t rows, length;
  };
  for (const auto [rows, length] : {Size{64, 1024}, {16, 1024}, {16, 4096}}) {
    const std::string label = fmt::format("{} x {} x {} x {}", rows, kHeads, length, kSize);
    all.push_back({"attention", label, [=, rows = rows, length = length](int repeat) {
                     return bench_training(label, rows, length, s, repeat);
                   }});
  }
  for (const auto [rows, length] : {Size{1, 512}, {64, 512}, {1024, 128}, {1024, 256}}) {
    const std::string label = fmt::format("{} x {} x {} x {}", rows, kHeads, length, kSize);
    all.push_back({"decode-attention", label, [=, rows = rows, length = length](int repeat) {
                     return bench_decoding(label, rows, length, s, repeat);
                   }});
  }
}

}  // namespace pg::tools
