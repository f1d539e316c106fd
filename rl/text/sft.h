#pragma once
// Supervised fine-tuning: the model imitates the answers to problems, not their prompts.
#include <span>
#include <vector>

#include "nn/trainer.h"
#include "tasks/text_task.h"

namespace pg::rl {

// Prompts with their answers as rows padded on the right. Targets are the answer's tokens, including the end of
// sequence. Targets of the prompt and of the padding are -100 and are ignored.
TokenBatch sft_batch(std::span<const Problem> problems);
// Batches of `size` problems drawn from the task, for Trainer.
NextBatch sft_batches(const TextTask& task, int64_t size);

}  // namespace pg::rl
