// Wrong answers to lesson 13. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/13_positions/answers.h"
#include "lessons/13_positions/checks.h"

namespace pg::lesson13 {
namespace {

using T = const Tensor&;

Tensor rope_positions_needed(T x, const Rope& options, T positions) {
  positions.data<const int32_t>();
  return lesson13::rope(x, options, positions);
}
Tensor decode_lengths_before(const KvSlot& slot, T q, T k, T v, const Rope& options) {
  slot.store(pg::rope(k, options, slot.before), v);
  AttentionOptions attend;
  attend.kv_len = slot.before;
  return pg::attention(pg::rope(q, options, slot.before), slot.k, slot.v, attend);
}
Tensor decode_not_stored(const KvSlot& slot, T q, T k, T v, const Rope& options) {
  return lesson13::decode({slot.k.clone(), slot.v.clone(), slot.before, slot.after}, q, k, v, options);
}
Tensor repeat_unchecked(T x, int64_t heads) {
  return lesson13::repeat_heads(heads % x.size(1) == 0 ? x : slice(x, 1, 0, 1), heads);
}

}  // namespace

const kit::Mutants<Impl> of_rope(
    &Impl::rope, rope_mistakes(),
    {{"rope_f64_result", "13.1", "x's dtype",
      [](T x, const Rope& o, T at) { return cast(lesson13::rope(x, o, at), f64); }},
     {"rope_flat", "13.1", "only the shape is not",
      [](T x, const Rope& o, T at) {
        return reshape(lesson13::rope(x, o, at), {-1, x.size(2), x.size(3)});
      }},
     {"rope_nan", "13.1", "inf or nan", [](T x, const Rope& o, T at) { return lesson13::rope(x, o, at) / 0.0; }},
     {"rope_positions_needed", "13.1", "positions may be undefined", rope_positions_needed}});
const kit::Mutants<Impl> of_decode(&Impl::decode, decode_mistakes(),
                                   {{"decode_not_stored", "13.2", "not in the cache", decode_not_stored},
                                    {"decode_lengths_before", "13.2", "slot.after", decode_lengths_before}});
const kit::Mutants<Impl> of_repeat(&Impl::repeat_heads, repeat_mistakes(),
                                   {{"repeat_unchecked", "13.3", "refuse what cannot be right", repeat_unchecked},
                                    {"repeat_in_float", "13.3", "another dtype",
                                     [](T x, int64_t heads) { return lesson13::repeat_heads(cast(x, f32), heads); }}});

}  // namespace pg::lesson13
