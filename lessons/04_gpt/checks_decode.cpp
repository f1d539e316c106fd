// The check of the KV cache.
#include "lessons/04_gpt/checks.h"

namespace pg::lesson04 {
namespace {

using kit::Grader;

constexpr double kUnused = 500;  // what an unused place of a cache holds: it must not be read

// Rows that already hold `known` positions get counts[0] more, then counts[1] more, and so on.
bool compare_decode(Grader& g, const Impl& impl, const Shape& shape, const std::vector<int32_t>& known,
                    const std::vector<int64_t>& counts, DType dtype) {
  const int64_t rows = shape[0], room = shape[2];
  const Qkv x = random_qkv(shape, 70, dtype);
  if (dtype == f32) x.q.view_select(0, 0).view_select(0, 0).fill(0);
  KvCache cache(rows, 1, shape[1], room, shape[3], dtype);
  // A cache as it should be: row b holds the first lengths[b] positions.
  const auto filled = [&](const Tensor& from) {
    const Tensor to = Tensor::full(shape, kUnused, dtype);
    for (int64_t b = 0; b < rows; ++b) {
      const int64_t n = cache.lengths.data<const int32_t>()[static_cast<size_t>(b)];
      to.view_select(0, b).view_slice(1, 0, n).copy_from(from.view_select(0, b).view_slice(1, 0, n));
    }
    return to;
  };
  for (int64_t b = 0; b < rows; ++b)
    cache.lengths.data<int32_t>()[static_cast<size_t>(b)] = known[static_cast<size_t>(b)];
  cache.k[0].copy_from(filled(x.k));
  cache.v[0].copy_from(filled(x.v));
  const Tensor whole = pg::attention(x.q, x.k, x.v);
  for (const int64_t count : counts) {
    const KvSlot slot = cache.slots(count)[0];
    const auto before = slot.before.data<const int32_t>();
    const std::vector<int32_t> starts(before.begin(), before.end());
    const auto fresh = [&](const Tensor& from) {
      std::vector<Tensor> parts;
      for (int64_t b = 0; b < rows; ++b) {
        const int64_t at = starts[static_cast<size_t>(b)];
        parts.push_back(from.view_select(0, b).view_slice(1, at, at + count));
      }
      return stack(parts);
    };
    const auto strided = [](const Tensor& t) {  // as the model has them: [B, T, H, D] with two dims exchanged
      return t.view_transpose(1, 2).contiguous_copy().view_transpose(1, 2);
    };
    const Qkv now = map(map(x, fresh), strided);
    const auto copy = [&] { return KvSlot{slot.k.clone(), slot.v.clone(), slot.before, slot.after}; };
    const auto result = [&](auto wrong) { return wrong(copy(), now.q, now.k, now.v); };
    const auto cache_of = [&](Tensor KvSlot::*part) {
      return kit::values_of(cache_mistakes(), [&](auto wrong) {
        const KvSlot own = copy();
        wrong(own, now.q, now.k, now.v);
        return own.*part;
      });
    };
    std::vector<kit::Mistake> mistakes = kit::values_of(decode_mistakes(), result);
    for (const kit::Mistake& mistake : kit::values_of(cache_mistakes(), result)) mistakes.push_back(mistake);
    const std::vector<kit::Mistake> of_k = cache_of(&KvSlot::k), of_v = cache_of(&KvSlot::v);
    const Tensor got = impl.decode(slot, now.q, now.k, now.v);
    const std::string input = fmt::format("cache [{}] in {}, rows that hold {} positions, {} new",
                                          fmt::join(shape, ", "), dtype, fmt::join(starts, " and "), count);
    cache.advance(count);
    const auto judge_cache = [&](const char* part, const Tensor& holds, const Tensor& want,
                                 const std::vector<kit::Mistake>& wrong) {
      return g.equal(fmt::format("{}: what the cache of {} then holds", input, part), holds, want,
                     {.rtol = 0, .mistakes = wrong});
    };
    if (!g.equal(input, got, fresh(whole), {.rtol = tolerance(x.q), .mistakes = mistakes}) ||
        !judge_cache("k", slot.k, filled(x.k), of_k) || !judge_cache("v", slot.v, filled(x.v), of_v))
      return false;
  }
  return true;
}

}  // namespace

void check_decode(Grader& g, const Impl& impl) {
  if (compare_decode(g, impl, {2, 2, 9, 4}, {5, 2}, {1, 3}, f64) &&
      compare_decode(g, impl, {1, 3, 7, 5}, {0}, {1, 2, 4}, f64) &&
      compare_decode(g, impl, {3, 1, 8, 1}, {4, 0, 6}, {2}, f64) &&
      compare_decode(g, impl, {3, 2, 5, 7}, {1, 4, 2}, {1}, f32))
    g.note("1, 2 and 3 rows of different length, 1 to 4 new tokens");
}

}  // namespace pg::lesson04
