// Batches for supervised fine-tuning on a task's answers.
#include "rl/text/sft.h"

#include <algorithm>

#include "tensor/base/error.h"

namespace pg::rl {

TokenBatch sft_batch(std::span<const Problem> problems) {
  size_t longest = 0;
  for (const Problem& p : problems) {
    check(!p.prompt.empty() && !p.answer.empty(), "sft_batch: a problem needs a prompt and an answer");
    longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
  }
  const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
  const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::full(shape, -100, i32)};
  for (size_t b = 0; b < problems.size(); ++b) {
    const auto& [prompt, answer] = problems[b];
    const auto ids = batch.ids.data<int32_t>().subspan(b * longest),
               targets = batch.targets.data<int32_t>().subspan(b * longest);
    std::copy(prompt.begin(), prompt.end(), ids.begin());
    std::copy(answer.begin(), answer.end() - 1, ids.begin() + static_cast<int64_t>(prompt.size()));
    std::copy(answer.begin(), answer.end(), targets.begin() + static_cast<int64_t>(prompt.size()) - 1);
  }
  return batch;
}

NextBatch sft_batches(const TextTask& task, int64_t size) {
  return [&task, size](Generator& g) {
    std::vector<Problem> problems;
    for (int64_t i = 0; i < size; ++i) problems.push_back(task.sample(g));
    return sft_batch(problems);
  };
}

}  // namespace pg::rl
