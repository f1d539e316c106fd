#pragma once
// The task imitate: continue a text of a corpus.
#include "tasks/text_task.h"

namespace pg {

struct ImitateOptions {
  int64_t length = 6;              // characters to write
  int64_t context = 16;            // characters of the prompt
  bool negative = false;           // -1 for a wrong character instead of 0
  std::string corpus = "stories";  // "tinyshakespeare", "stories", or a text file
};
std::vector<Field> fields(ImitateOptions& options);

// Each character that equals the corpus's at its position is rewarded by 1 / length. The last tenth of the corpus is
// held out. Throws Error if the corpus is too short.
std::unique_ptr<TextTask> imitate_task(const ImitateOptions& options = {});

}  // namespace pg
