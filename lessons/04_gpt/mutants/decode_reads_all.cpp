// check: 04.5  says: the unused room
#define MUTANT_decode
#include "lessons/04_gpt/mutants/answers.h"

namespace pg::lesson04 {

Tensor decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t t = q.size(2);
  for (int64_t b = 0; b < q.size(0); ++b) {
    const int64_t start = slot.before.data<int32_t>()[static_cast<size_t>(b)];
    slot.k.view_select(0, b).view_slice(1, start, start + t).copy_from(k.view_select(0, b));
    slot.v.view_select(0, b).view_slice(1, start, start + t).copy_from(v.view_select(0, b));
  }
  AttentionOptions options;
  return pg::attention(q, slot.k, slot.v, options);
}

}  // namespace pg::lesson04
