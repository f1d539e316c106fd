#pragma once
// The task of lesson 8, and the simulated human whose preferences the reward model learns.
#include "tasks/text/text_task.h"

namespace pg::lesson08 {

// The prompt is the start of a sentence of the tiny language. The response continues it up to its "." (the end of
// sequence, id 0). The human's score is 0 for nonsense, 1 for a sentence, 2 for a sentence with exactly one "moon". No
// model ever sees these scores, only which of two responses the human preferred.
class FinishTheSentence : public TextTask {
 public:
  std::string name() const override { return "finish"; }
  std::string about() const override { return "finish the sentence; nonsense 0, a sentence 1, with just one moon 2"; }
  const Tokenizer& tokenizer() const override;
  int64_t max_prompt() const override { return 3; }
  int64_t max_response() const override { return 12; }
  Problem sample(Generator& g) const override;
  std::vector<Problem> held_out(int64_t count) const override;
  Score score(const Problem& problem, std::span<const int32_t> response) const override;
};

}  // namespace pg::lesson08
