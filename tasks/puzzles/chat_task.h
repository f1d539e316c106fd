#pragma once
// Puzzles for a pretrained model: the request is a turn of the user or a part of a plain text (prompt_style.h).
#include <memory>

#include "tasks/chat/prompt_style.h"
#include "tasks/puzzles/puzzle.h"

namespace pg {

struct ChatTaskOptions {
  PromptOptions prompt = {};
  int64_t response = 48;     // tokens, its end included
  int64_t max_prompt = 0;    // tokens; longer problems of a file are left out. 0: all are kept
  double format_reward = 0;  // for a response in the form of its style, besides the reward of its answer
};
std::vector<Field> fields(ChatTaskOptions& options);
// --chat-template-kwargs
Field template_kwargs_field(std::string& kwargs);
// Only those of the prompt.
std::vector<Field> fields(PromptOptions& options);

// A response whose answer is not in the form of the prompt's style, or that does not end within its tokens, has no
// reward. With `format_reward` the score has a part "format", and rewards are divided by 1 + format_reward. `format` is
// the model's chat template; if it has none, the style must be one of plain text. Error for what Prompt refuses.
std::unique_ptr<TextTask> chat_task(std::unique_ptr<PuzzleTask> puzzles, std::shared_ptr<const BpeTokenizer> tokenizer,
                                    const ChatTemplate& format, const ChatTaskOptions& options = {});

}  // namespace pg
