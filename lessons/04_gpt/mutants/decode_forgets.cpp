// check: 04.5  says: the new positions are not in the cache
#define MUTANT_decode
#include "lessons/04_gpt/mutants/answers.h"

namespace pg::lesson04 {

Tensor decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) {
  const KvSlot copy{slot.k.clone(), slot.v.clone(), slot.before, slot.after};
  copy.store(k, v);
  AttentionOptions options;
  options.kv_len = slot.after;
  return pg::attention(q, copy.k, copy.v, options);
}

}  // namespace pg::lesson04
