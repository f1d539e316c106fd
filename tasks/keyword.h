#pragma once
// The task keyword: write a sentence of the tiny language (tasks/tiny_language.h) that contains "moon".
#include "tasks/text_task.h"

namespace pg {

struct KeywordOptions {
  double length_penalty = 0;
};
std::vector<Field> fields(KeywordOptions& options);

// A sentence earns 1 for each "moon" in it, minus length_penalty for each token past the eighth: a reward that invites
// reward hacking. It is solved by a correct sentence with a moon.
std::unique_ptr<TextTask> keyword_task(const KeywordOptions& options = {});

}  // namespace pg
