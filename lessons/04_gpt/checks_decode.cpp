// The check of the KV cache.
#include <algorithm>

#include "lessons/04_gpt/checks.h"

namespace pg::lesson04 {
namespace {

using kit::Grader;

// The result if the new positions of row b are stored from starts[b] on, and the first lengths[b] keys are used.
Tensor decode_at(const KvSlot& slot, const Qkv& x, const std::vector<int32_t>& starts, const Tensor& lengths,
                 bool causal = true) {
  const Tensor at = Tensor::from(starts, {static_cast<int64_t>(starts.size())});
  const KvSlot copy{slot.k.clone(), slot.v.clone(), at, lengths};
  copy.store(x.k, x.v);
  AttentionOptions options;
  options.kv_len = lengths;
  options.causal = causal;
  return pg::attention(x.q, copy.k, copy.v, options);
}

constexpr double kUnused = 500;  // what an unused place of a cache holds: it must not be read

// Rows that already hold `known` positions get counts[0] more, then counts[1] more, and so on.
bool compare_decode(Grader& g, const Impl& impl, const Shape& shape, const std::vector<int32_t>& known,
                    const std::vector<int64_t>& counts, DType dtype) {
  const int64_t rows = shape[0], room = shape[2];
  const Qkv x = random_qkv(shape, 70, dtype);
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
    const Tensor everything = Tensor::full({rows}, static_cast<double>(room), i32);
    std::vector<kit::Mistake> mistakes = {
        {"row 1 is written to where the end of the first row is: each row has its own slot.before[b]",
         decode_at(slot, now, std::vector<int32_t>(starts.size(), starts[0]), slot.after)},
        {"the new positions are written at the start of the cache, over the oldest",
         decode_at(slot, now, std::vector<int32_t>(starts.size(), 0), slot.after)},
        {"the unused room of the cache is read too: give kv_len", decode_at(slot, now, starts, everything)},
        {"a new position sees the new ones after it: attention stays causal",
         decode_at(slot, now, starts, slot.after, false)}};
    if (*std::min_element(starts.begin(), starts.end()) >= count) {
      mistakes.push_back({"the new positions themselves are not read: kv_len is slot.after, not slot.before",
                          decode_at(slot, now, starts, slot.before)});
    }
    // The result if only the first `some` new positions of the first `most` rows are stored.
    const auto stored = [&](int64_t most, int64_t some) {
      const KvSlot copy{slot.k.clone(), slot.v.clone(), slot.before, slot.after};
      for (int64_t b = 0; b < most; ++b) {
        const int64_t at = starts[static_cast<size_t>(b)];
        const auto put = [&](const Tensor& to, const Tensor& from) {
          to.view_select(0, b).view_slice(1, at, at + some).copy_from(from.view_select(0, b).view_slice(1, 0, some));
        };
        put(copy.k, now.k);
        put(copy.v, now.v);
      }
      AttentionOptions options;
      options.kv_len = slot.after;
      return pg::attention(now.q, copy.k, copy.v, options);
    };
    if (count > 1) mistakes.push_back({"only the first new position is stored: copy all T", stored(rows, 1)});
    for (int64_t most = 1; most < rows; ++most) {
      mistakes.push_back(
          {"the new positions are not stored in every row: there are q.size(0) of them", stored(most, count)});
    }
    if (*std::max_element(starts.begin(), starts.end()) + 1 + count <= room) {
      std::vector<int32_t> later = starts;
      for (int32_t& at : later) ++at;
      mistakes.push_back({"stored one place too late: the first free place of row b is slot.before[b]",
                          decode_at(slot, now, later, slot.after)});
    }
    const Tensor old_v = slot.v.clone();
    const Tensor got = impl.decode(slot, now.q, now.k, now.v);
    const std::string input = fmt::format("cache [{}] in {}, rows that hold {} positions, {} new",
                                          fmt::join(shape, ", "), dtype, fmt::join(starts, " and "), count);
    Tensor keys_twice = old_v.clone();
    cache.advance(count);
    for (int64_t b = 0; b < rows; ++b) {
      const int64_t at = starts[static_cast<size_t>(b)];
      keys_twice.view_select(0, b).view_slice(1, at, at + count).copy_from(now.k.view_select(0, b));
    }
    const std::string in_v = "the cache of v holds k: each has its own";
    AttentionOptions options;
    options.kv_len = slot.after;
    const std::string no_v = "v is not stored: copy it as k is";
    mistakes.push_back({in_v, pg::attention(now.q, filled(x.k), keys_twice, options)});
    mistakes.push_back({no_v, pg::attention(now.q, filled(x.k), old_v, options)});
    const std::string missing = "the new positions are not in the cache: the next token will miss them";
    Tensor old_k = filled(x.k).clone();
    for (int64_t b = 0; b < rows; ++b) {
      const int64_t at = starts[static_cast<size_t>(b)];
      old_k.view_select(0, b).view_slice(1, at, at + count).fill(kUnused);
    }
    // Where nothing belongs, zeros stand in place of what was there.
    const auto cleared = [&](const Tensor& from) {
      const Tensor full = filled(from);
      return where(eq(full, Tensor::scalar(kUnused, dtype)), Tensor::scalar(0, dtype), full);
    };
    const std::string rest = "the places beyond the new positions are overwritten: store the new ones only";
    const auto judge_cache = [&](const char* part, const Tensor& holds, const Tensor& want,
                                 const std::vector<kit::Mistake>& wrong) {
      return g.equal(fmt::format("{}: what the cache of {} then holds", input, part), holds, want,
                     {.rtol = 0, .mistakes = wrong});
    };
    if (!g.equal(input, got, fresh(whole), {.rtol = tolerance(x.q), .mistakes = mistakes}) ||
        !judge_cache("k", slot.k, filled(x.k), {{missing, old_k}, {rest, cleared(x.k)}}) ||
        !judge_cache("v", slot.v, filled(x.v), {{missing, old_v}, {in_v, keys_twice}, {rest, cleared(x.v)}}))
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
