#pragma once
// How a problem is put to a pretrained model, and where its response holds the answer. Training, rollouts, traces that
// are imitated and evaluations all take the prompt from the same row, so that they cannot differ.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/chat/chat.h"

namespace pg {

// How a response shows which part of it is the answer.
struct AnswerFormat {
  std::string name, about;
  std::string before, after;  // around the answer: the request asks for them, and imitated answers have them
  std::string request;        // follows the question; {} is the task's answer_form()
  std::optional<std::string_view> (*find)(std::string_view response);
};
// The formats that a question to a chat model can ask for.
const std::vector<AnswerFormat>& answer_formats();

struct PromptStyle {
  std::string name, about;
  bool chat = false;                     // the prompt is a turn of the user
  std::string chat_template = {};        // of the turns; empty: that of the model
  std::string text = {};                 // of a prompt that is no turn; {question} is the question
  std::string stop = {};                 // the response ends with this text; empty: with the model's end token
  const AnswerFormat* format = nullptr;  // null: --answer-format chooses
};
const std::vector<PromptStyle>& prompt_styles();
// A response as it would be generated: up to the end of the first stop text. None if it has none.
std::optional<std::string_view> ended(const PromptStyle& style, std::string_view response);
// The answer in a response that ended; none if it is not in the form.
std::optional<std::string_view> answer_in(const PromptStyle& style, const AnswerFormat& form,
                                          std::string_view response);

struct PromptOptions {
  std::string style = "chat", answer_format = "bare";
  std::string system = {};           // message of a turn style; empty: that of the template
  std::string file = {};             // with the text of a prompt, or of the user's turn; it has {question} once
  std::string template_kwargs = {};  // variables of the chat template, a JSON object (ChatTemplate::with)
};

// A style with its options, for one model.
class Prompt {
 public:
  // `format` is the model's own template, or none. Error for options that contradict each other, a file without
  // {question}, and for what ChatEncoder and ChatEncoder::check_system refuse.
  Prompt(const PromptOptions& options, std::shared_ptr<const BpeTokenizer> tokenizer, const ChatTemplate& format);

  const PromptStyle& style() const { return style_; }
  const AnswerFormat& format() const { return format_; }
  // The template of the turns; none: plain text.
  ChatTemplate chat_template() const { return chat_ ? chat_->format() : ChatTemplate(); }
  // A sentence if imitated responses are not what the template would write, else empty.
  std::string note() const;
  // What follows a question: the form of the answer that is asked for. Empty with a file, which words it itself.
  std::string request(const std::string& answer_form) const;
  // The ids that the model reads.
  std::vector<int32_t> ids(std::string_view question) const;
  // The question of a plain prompt; none if the text is not a prompt of this style. In a style with turns every text is
  // a question.
  std::optional<std::string> question_of(std::string_view prompt) const;
  // The text before and after the question in a plain prompt or in the turn.
  const std::string& before() const { return before_; }
  const std::string& after() const { return after_; }
  int32_t end_id() const { return end_; }
  // In a style with turns, what follows the last </think> of a response.
  std::optional<std::string_view> answer_in(std::string_view response) const;
  // The ids of a response to a question that is imitated, up to and including its end. In a style with turns they are
  // what the template writes after the prompt, such as Qwen3's empty thoughts.
  std::vector<int32_t> response_ids(std::string_view question, std::string_view response) const;

 private:
  std::vector<ChatMessage> turns(std::string_view question) const;

  const PromptStyle& style_;
  const AnswerFormat& format_;
  std::shared_ptr<const BpeTokenizer> tokenizer_;
  std::optional<ChatEncoder> chat_;  // of the turns
  std::string system_, before_, after_;
  bool own_text_ = false;  // of a file
  int32_t end_ = -1;
};

}  // namespace pg
