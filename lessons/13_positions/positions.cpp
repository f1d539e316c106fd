// The demonstration of lesson 13, first part: scores of rotated vectors, and rotated keys in a cache.
#include <cmath>

#include "lessons/13_positions/lesson.h"
#include "lessons/13_positions/models.h"

namespace pg::lesson13 {
namespace {

constexpr int64_t kSteps = 48, kSize = 32;

Tensor position(int64_t first) { return Tensor::from(std::vector{static_cast<int32_t>(first)}, {1}); }

// The scores of all pairs of positions [T, T], the first position being `first`.
Tensor scores_from(const Impl& impl, const Tensor& q, const Tensor& k, int64_t first) {
  const Tensor at = position(first);
  return matmul(impl.rope(q, {}, at).to(f64), transpose(impl.rope(k, {}, at).to(f64)));
}

// Attention over the positions of q, k and v one after another, from a cache.
Tensor one_by_one(const Impl& impl, const Tensor& q, const Tensor& k, const Tensor& v, bool restart) {
  KvCache cache(1, 1, k.size(1), kSteps, kSize, f32);
  std::vector<Tensor> results;
  for (int64_t t = 0; t < kSteps; ++t) {
    const auto now = [&](const Tensor& x) { return x.view_slice(2, t, t + 1); };
    const KvSlot slot = cache.slots(1)[0];
    if (restart) {  // each token takes itself for position 0: no rotation at all
      AttentionOptions options;
      options.kv_len = slot.after;
      slot.store(now(k), now(v));
      results.push_back(attention(now(q), slot.k, slot.v, options));
    } else {
      results.push_back(impl.decode(slot, now(q), now(k), now(v), {}));
    }
    cache.advance(1);
  }
  return cat(results, 2);
}

}  // namespace

void show_positions(kit::Demo& demo, const Impl& impl) {
  demo.heading("Where am I?");
  NoGrad guard;
  Generator random(131);
  const Tensor q = Tensor::normal({1, 1, 1, kSize}, 0, 1, random), k = Tensor::normal({1, 1, 1, kSize}, 0, 1, random);
  demo.say(
      "One random query and one random key of {} channels, each rotated by its position. The score q·k, with the query "
      "so many positions behind the key:",
      kSize);
  demo.line("distance                   0        1        2        5       20      100");
  for (const int64_t at : {0, 100, 5000}) {
    std::string row = fmt::format("key at position {:4}", at);
    for (const int64_t distance : {0, 1, 2, 5, 20, 100}) {
      const Tensor score = matmul(impl.rope(q, {}, position(at + distance)), transpose(impl.rope(k, {}, position(at))));
      row += fmt::format(" {:8.4f}", score.item());
    }
    demo.line("{}", row);
  }
  demo.gap();
  demo.say(
      "A column has one number: the score depends on the distance only. The score of a vector with its own copy falls "
      "with the distance, in waves, because the pairs of channels turn at different speeds:");
  kit::Series curve{.name = "score of a vector with its copy", .y = {}, .x = {}};
  const Tensor ones = Tensor::full({1, 1, 1, kSize}, 1 / std::sqrt(static_cast<double>(kSize)));
  for (int64_t distance = 0; distance <= 64; ++distance) {
    curve.x.push_back(static_cast<double>(distance));
    curve.y.push_back(matmul(impl.rope(ones, {}, position(distance)), transpose(ones)).item());
  }
  demo.show(kit::line_plot({curve}, {.x_label = "distance", .y_label = "score", .height = 8}));
  demo.gap();
  for (const DType dtype : {f32, f64}) {
    const Tensor a = Tensor::normal({1, 3, kSteps, kSize}, 0, 1, random, dtype);
    const Tensor b = Tensor::normal({1, 3, kSteps, kSize}, 0, 1, random, dtype);
    demo.claim(fmt::format("scores moved by 100 positions, {}", dtype),
               relative_difference(scores_from(impl, a, b, 100), scores_from(impl, a, b, 0)), "",
               kit::at_most(dtype == f32 ? 1e-6 : 1e-12));
  }
  const auto heads = [&](int64_t n) { return Tensor::normal({1, n, kSteps, kSize}, 0, 1, random); };
  const Tensor queries = heads(6), keys = heads(2), values = heads(2);
  const Tensor whole = attention(impl.rope(queries, {}, {}), impl.rope(keys, {}, {}), values);
  demo.gap();
  demo.say(
      "A text of {} positions, read at once and then one by one from a cache of rotated keys. If each new token took "
      "itself for position 0, the result would differ by {:.2f} of its largest number. (All differences "
      "here are parts of the largest number.)",
      kSteps, relative_difference(one_by_one(impl, queries, keys, values, true), whole));
  demo.claim("difference from the cache, with positions",
             relative_difference(one_by_one(impl, queries, keys, values, false), whole), "", kit::at_most(1e-6));
}

}  // namespace pg::lesson13
