#pragma once
// Puzzles for a chat model: the request is a turn of the user, the response a turn of the assistant.
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/chat.h"
#include "tasks/puzzles/puzzle.h"

namespace pg {

// How a response shows which part of it is the answer.
struct AnswerFormat {
  std::string name, about;
  std::string before, after;  // around the answer, as the request asks for it
  std::string request;        // follows the puzzle's request; {} is the task's answer_form()
  std::optional<std::string_view> (*find)(std::string_view response);
};
const std::vector<AnswerFormat>& answer_formats();

struct ChatTaskOptions {
  std::string answer_format = "bare";
  int64_t response = 48;     // tokens, the end of the turn included
  double format_reward = 0;  // for a response in that format, besides the reward of its answer
  std::string system = {};   // message; empty: that of the template
};
std::vector<Field> fields(ChatTaskOptions& options);

// A response that is not in the format, or does not end within its tokens, has no reward. With `format_reward` the
// score has a part "format", and rewards are divided by 1 + format_reward. Error for a template whose special tokens
// the tokenizer does not have.
std::unique_ptr<TextTask> chat_task(std::unique_ptr<PuzzleTask> puzzles, std::shared_ptr<const BpeTokenizer> tokenizer,
                                    const ChatTemplate& format, const ChatTaskOptions& options = {});

}  // namespace pg
