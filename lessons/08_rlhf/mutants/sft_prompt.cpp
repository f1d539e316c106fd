// check: 08.1  says: the prompt is trained
#define MUTANT_sft_batch
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

TokenBatch sft_batch(std::span<const Problem> problems) {
  size_t longest = 0;
  for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
  const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
  const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::full(shape, -100, i32)};
  const auto ids = batch.ids.data<int32_t>(), targets = batch.targets.data<int32_t>();
  for (size_t b = 0; b < problems.size(); ++b) {
    std::vector<int32_t> all = problems[b].prompt;
    all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
    for (size_t t = 0; t + 1 < all.size(); ++t) {
      ids[b * longest + t] = all[t];
      targets[b * longest + t] = all[t + 1];
    }
  }
  return batch;
}

}  // namespace pg::lesson08
