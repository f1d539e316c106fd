// The table of prompt styles and answer formats.
#include "tasks/chat/prompt_style.h"

#include <algorithm>

#include "tasks/data/text_data.h"
#include "tasks/grade/extract.h"
#include "tensor/base/error.h"
#include "tensor/base/table.h"

namespace pg {
namespace {

constexpr std::string_view kQuestion = "{question}";

// DeepSeek-R1-Zero's two roles (DeepSeek-AI 2025, arXiv:2501.12948) in words of our own. The response begins inside
// <think>.
constexpr const char* kThink =
    "A User puts a problem to an Assistant. The Assistant writes down how it reasons, between <think> and </think>, "
    "and "
    "then the result alone, between <answer> and </answer>: <think> reasoning </think> <answer> result </answer>\n"
    "User: {question}\n"
    "Assistant: <think>";

using Found = std::optional<std::string_view>;

const AnswerFormat& think_format(bool strict) {
  static const AnswerFormat tolerant = {
      "think",
      "</think>, white space, then <answer>…</answer> or a \\boxed{…} in it",
      " </think> <answer> ",
      " </answer>",
      "",
      [](std::string_view text) { return answer_after_thought(text, /*strict=*/false); }};
  static const AnswerFormat one_space = {
      "think-strict",
      "</think>, one space, then <answer>…</answer> or a \\boxed{…} in it",
      " </think> <answer> ",
      " </answer>",
      "",
      [](std::string_view text) { return answer_after_thought(text, /*strict=*/true); }};
  return strict ? one_space : tolerant;
}

const AnswerFormat& box_without_request() {
  static const AnswerFormat format = [] {
    AnswerFormat boxed = find_row(answer_formats(), "answer format", "boxed");
    boxed.request = "";
    return boxed;
  }();
  return format;
}

}  // namespace

const std::vector<AnswerFormat>& answer_formats() {
  static const std::vector<AnswerFormat> all = {
      {"bare", "the whole response is the answer", "", "", " Answer with {} only.",
       [](std::string_view text) -> Found { return trimmed(text); }},
      {"tags", "<answer>…</answer> ends the response", "<answer>", "</answer>",
       " Put {} between <answer> and </answer> at the end.",
       [](std::string_view text) { return last_tagged(text, "answer"); }},
      {"boxed", "the last \\boxed{…}", "\\boxed{", "}", " Put {} in \\boxed{{}}.",
       [](std::string_view text) { return last_boxed(text); }},
      {"number", "the last number in the response, or on the line of its first ####", "", "",
       " End with {} as a number.", [](std::string_view text) { return final_number(text); }},
      {"choice", "the letter A to D that the response states", "The answer is ", ".",
       " Say \"The answer is\" and its letter.", [](std::string_view text) { return stated_choice(text); }},
  };
  return all;
}

const std::vector<PromptStyle>& prompt_styles() {
  static const std::vector<PromptStyle> all = {
      {.name = "chat",
       .about = "a turn of the user in the model's chat template; --answer-format chooses the form of the answer",
       .chat = true},
      {.name = "qwen",
       .about = "the question as a turn in Qwen2.5-Math's template, whose system message asks for \\boxed{}",
       .chat = true,
       .chat_template = "qwen2.5-math",
       .format = &box_without_request()},
      {.name = "r1-zero",
       .about = "plain text that defines <think> and <answer>; the response ends at </answer>",
       .text = kThink,
       .stop = "</answer>",
       .format = &think_format(false)},
      {.name = "r1-zero-strict",
       .about = "the same with exactly one space between </think> and <answer>",
       .text = kThink,
       .stop = "</answer>",
       .format = &think_format(true)},
      {.name = "question",
       .about = "the question and nothing else; the answer is the last \\boxed{}",
       .text = std::string(kQuestion),
       .format = &box_without_request()},
  };
  return all;
}

std::optional<std::string_view> ended(const PromptStyle& style, std::string_view response) {
  if (style.stop.empty()) return response;
  const size_t at = response.find(style.stop);
  if (at == std::string_view::npos) return std::nullopt;
  return response.substr(0, at + style.stop.size());
}

std::optional<std::string_view> answer_in(const PromptStyle& style, const AnswerFormat& form,
                                          std::string_view response) {
  const Found whole = ended(style, response);
  const Found answer = whole ? form.find(*whole) : std::nullopt;
  if (!answer) return std::nullopt;
  return trimmed(*answer);
}

Prompt::Prompt(const PromptOptions& o, std::shared_ptr<const BpeTokenizer> tokenizer, const ChatTemplate& format)
    : style_(find_row(prompt_styles(), "--prompt-style", o.style)),
      format_(style_.format ? *style_.format : find_row(answer_formats(), "--answer-format", o.answer_format)),
      tokenizer_(std::move(tokenizer)),
      system_(o.system) {
  check(!style_.format || o.answer_format == PromptOptions{}.answer_format,
        "--answer-format {} is for --prompt-style chat; the answer of the style {} is: {}", o.answer_format,
        style_.name, format_.about);
  own_text_ = !o.file.empty();
  std::string text = style_.chat ? std::string(kQuestion) : style_.text, note;
  if (own_text_) {
    text = unix_text(read_file(o.file), o.file, note);
    if (text.ends_with('\n')) text.pop_back();
  }
  const size_t at = text.find(kQuestion);
  check(at != std::string::npos && text.find(kQuestion, at + 1) == std::string::npos,
        "--prompt-file {}: the text must have {{question}} once", o.file);
  before_ = text.substr(0, at);
  after_ = text.substr(at + kQuestion.size());
  if (!style_.chat) {
    check(system_.empty(), "--system is for turns; a prompt of the style {} has none", style_.name);
    check(o.template_kwargs.empty(), "--chat-template-kwargs is for turns; a prompt of the style {} has none",
          style_.name);
    end_ = tokenizer_->end_id();
    check(end_ >= 0 || !style_.stop.empty(),
          "--prompt-style {}: the model's tokenizer has no token that ends a text, so no response could end",
          style_.name);
    return;
  }
  const ChatTemplate of_turns = format.chosen(style_.chat_template);
  check(
      bool(of_turns),
      "--prompt-style {}: the model has no chat template, so it cannot be asked in turns; take a style of plain text, "
      "r1-zero or question, or tune it by pg sft --data first",
      style_.name);
  chat_.emplace(*tokenizer_, of_turns.with(o.template_kwargs));
  if (!system_.empty()) chat_->check_system(system_);
  end_ = chat_->end_id();
}

std::string Prompt::note() const {
  if (!chat_ || chat_->writes_answers()) return "";
  return fmt::format(
      "The chat template ({}) does not write an assistant's turn as its prompt, the answer and a token that ends it: "
      "imitated answers stand behind the prompt as they are.",
      chat_->format().about());
}

std::string Prompt::request(const std::string& answer_form) const {
  return own_text_ ? "" : fmt::format(fmt::runtime(format_.request), answer_form);
}

std::vector<int32_t> Prompt::ids(std::string_view question) const {
  const std::string text = before_ + std::string(question) + after_;
  if (!chat_) return tokenizer_->encode(text, {.surround = true, .special_tokens = false});
  return chat_->prompt(turns(question));
}

std::vector<ChatMessage> Prompt::turns(std::string_view question) const {
  std::vector<ChatMessage> messages;
  if (!system_.empty()) messages.push_back({"system", system_});
  messages.push_back({"user", before_ + std::string(question) + after_});
  return messages;
}

std::optional<std::string> Prompt::question_of(std::string_view prompt) const {
  if (chat_) return std::string(prompt);
  if (prompt.size() <= before_.size() + after_.size() || !prompt.starts_with(before_) || !prompt.ends_with(after_)) {
    return std::nullopt;
  }
  return std::string(prompt.substr(before_.size(), prompt.size() - before_.size() - after_.size()));
}

std::optional<std::string_view> Prompt::answer_in(std::string_view response) const {
  constexpr std::string_view kThought = "</think>";
  const size_t thought = style_.chat ? response.rfind(kThought) : std::string_view::npos;
  if (thought != std::string_view::npos) response.remove_prefix(thought + kThought.size());
  return pg::answer_in(style_, format_, response);
}

std::vector<int32_t> Prompt::response_ids(std::string_view question, std::string_view response) const {
  if (chat_ && chat_->writes_answers()) {
    std::vector<ChatMessage> messages = turns(question);
    messages.push_back({"assistant", std::string(response)});
    return chat_->answer(messages);
  }
  const Found whole = ended(style_, response);
  std::vector<int32_t> ids = tokenizer_->encode(whole.value_or(response), {.surround = false, .special_tokens = false});
  if (style_.stop.empty() || !whole) {
    if (end_ >= 0) ids.push_back(end_);
  }
  return ids;
}

}  // namespace pg
