// The checks of lesson 13: the table and the reference.
#include "lessons/13_positions/checks.h"

namespace pg::lesson13 {

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "13.1",
       .title = "rotary positions",
       .piece = kit::piece<&Impl::rope>("rope"),
       .section = "Where am I?",
       .why = "Two layouts of the same rotation are in use, and a model of the one gives fluent nonsense with the "
              "other. A text read in pieces needs the same angles as a text read at once.",
       .hints =
           {"Which two channels form a point, by which angle does it turn per position, and which position has row b's "
            "first token?",
            "p = positions[b] + t; angle = p·base^(-2i/D), i = 0 ... D/2 - 1; u = x[..., i], w = x[..., i + D/2]: "
            "(u·cos - w·sin, u·sin + w·cos).",
            "Fill two std::vector<double> with cos and sin for all b, t, i; make tensors [B, 1, T, D/2] of them, "
            ".to(x.dtype()). u and w are slice(x, 3, 0, half) and slice(x, 3, half, 2 * half). cat the two results "
            "along dim 3."},
       .solution = {"autograd/check/composed.cpp", "Tensor rope("},
       .run = check_rope,
       .harmless = {{"rank 0", "x has rank 4 and positions rank 1"},
                    {"infinite", "activations are finite: an infinite one has no direction"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
      {.id = "13.2",
       .title = "rotated keys in a cache",
       .piece = kit::piece<&Impl::decode>("decode"),
       .section = "Where am I?",
       .why = "A chat begins at position 0 only once. If every new token is taken for position 0, all distances are "
              "wrong, and the text decays after its first word.",
       .hints =
           {"The cache holds 5 positions of row 0. Which position has the next token, and which of q, k and v must "
            "know it?",
            "k' = rope(k, before), q' = rope(q, before); the cache gets k' and v; attention over slot.after[b] "
            "keys of row b.",
            "slot.store(pg::rope(k, options, slot.before), v). An AttentionOptions with kv_len = slot.after. "
            "Return pg::attention(pg::rope(q, options, slot.before), slot.k, slot.v, it)."},
       .solution = {"nn/decode/transformer_cached.cpp",
                    "Tensor CausalSelfAttention::operator()(const Tensor& x, const KvSlot& slot) const"},
       .run = check_decode,
       .harmless = {{"detached", "text is generated without a tape"},
                    {"rank 0", "q, k and v have rank 4, before and after rank 1"},
                    {"infinite", "activations are finite: an infinite one has no direction"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
      {.id = "13.3",
       .title = "shared heads of keys",
       .piece = kit::piece<&Impl::repeat_heads>("repeat_heads"),
       .section = "Fewer heads to remember",
       .why =
           "0 0 1 1 and 0 1 0 1 have the same shape. A pretrained model that is loaded with the wrong one reads keys "
           "that other queries were trained for.",
       .hints = {"With 6 heads of queries and 2 of keys: which heads of queries read key head 1?",
                 "y[b, h, t, d] = x[b, h / (heads/Hkv), t, d]: [B, Hkv, T, D] → [B, Hkv, 1, T, D] → [B, Hkv, "
                 "heads/Hkv, T, D] → [B, heads, T, D].",
                 "check that heads % Hkv is 0. unsqueeze(x, 2), expand to {-1, -1, heads / Hkv, -1, -1}, reshape to "
                 "{B, heads, T, D}."},
       .solution = {"autograd/check/composed.cpp", "Tensor repeat_heads("},
       .run = check_repeat_heads,
       .harmless = {{{"count above 2^24", "count above 2^32"}, "the result has that many heads in memory"},
                    {{"rank 0", "rank 1"}, "x has rank 4"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
  };
}

Impl reference() {
  return {.rope = pg::rope, .decode = decode_by_rows, .repeat_heads = [](const Tensor& x, int64_t heads) {
            check(heads % x.size(1) == 0, "repeat_heads: {} does not divide {}", x.size(1), heads);
            std::vector<int32_t> of;
            for (int64_t h = 0; h < heads; ++h) of.push_back(static_cast<int32_t>(h * x.size(1) / heads));
            return index_select(x, 1, Tensor::from(of, {heads}));
          }};
}

}  // namespace pg::lesson13
