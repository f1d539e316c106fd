#pragma once
// Conversations as chat models read them: chat templates, which are programs in Jinja, and the token ids of what they
// write. The ids are those of transformers' apply_chat_template.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/bpe/added_tokens.h"
#include "tasks/bpe/bpe_tokenizer.h"
#include "tensor/base/json.h"

namespace pg {

namespace jinja {
class Template;
}

struct ChatMessage {
  std::string role;  // "system", "user", "assistant" or "tool"
  std::string content;
  Json more = Json::object();  // other members that the template reads: "tool_calls", …; null: no such member
};
// The names of a message's reasoning, the standard one first. ChatTemplate::render gives the first that a message has
// to the template as "reasoning_content", and as "thinking" unless the message has that too.
const std::vector<std::string>& reasoning_members();

// Formats of turns that are chosen by name (tasks/chat/chat_rows.cpp).
struct ChatTemplateRow {
  std::string name, about;
  std::string program;              // in Jinja
  std::vector<std::string> tokens;  // special tokens that it writes
};
const std::vector<ChatTemplateRow>& chat_templates();

// The format of a conversation: a program in Jinja and its variables. One without a program is false: a model that has
// none.
class ChatTemplate {
 public:
  ChatTemplate() = default;
  // `program` is a program in Jinja, or the name of a row, which stands for the row's program. `variables` is an
  // object: what the program can read besides the conversation, such as "bos_token". A program that cannot be run is an
  // Error when it is used.
  explicit ChatTemplate(std::string program, Json variables = Json::object());

  explicit operator bool() const { return !program_.empty(); }
  const std::string& program() const { return program_; }
  const Json& variables() const { return variables_; }
  // The row of this program; null if it is none.
  const ChatTemplateRow* row() const;
  // The row's name, or how long the program is and why it cannot be run.
  std::string about() const;
  // Whether the program has a variable of this name.
  bool reads(const std::string& variable) const;
  // The template that --chat-template names, a row or a file that ends in .jinja, with the variables of this one; this
  // one if the option is empty. Error for an unknown name.
  ChatTemplate chosen(const std::string& option) const;
  // This template with more variables: the members of a JSON object, as text. Error for a text that is no object, for
  // variables that the program does not read, and for those that the conversation gives. Empty: none.
  ChatTemplate with(const std::string& json) const;

  // Whether the program names this member of a message, or variable, anywhere.
  bool names(std::string_view member) const;
  // The text of a conversation; with `answer`, up to the beginning of the assistant's answer. `tools`: what the
  // assistant may call, a list of objects, or null. Error for a role that is not one of the four, for a program that
  // cannot be run, and for what the program refuses.
  std::string render(const std::vector<ChatMessage>& messages, bool answer, const Json& tools = {}) const;

 private:
  std::string program_, error_;
  Json variables_ = Json::object();
  std::shared_ptr<const jinja::Template> jinja_;
};

// A checkpoint's metadata: "chat_template", the row's name or the program, and "chat_variables"; neither if empty.
std::map<std::string, std::string> metadata_of(const ChatTemplate& format);
ChatTemplate chat_template_in(const std::map<std::string, std::string>& metadata);

struct ChatIds {
  std::vector<int32_t> ids;
  std::vector<uint8_t> learned;  // 1 for what supervised tuning learns
  int64_t turns = 0;             // of the assistant
  int64_t rewritten = 0;         // those of them that are not learned, see ChatEncoder::tuned
};

// Writes conversations of one model as token ids. A special token in the content of a message is plain text, unless the
// template looks for it in that message, as templates look for </think>: it is then what it is in transformers. Added
// tokens that are not special are tokens in contents too. Two messages that a template writes without anything between
// them can still form a special token.
class ChatEncoder {
 public:
  // Error for a template that is empty, cannot be run or does not write the words of a user, for a tokenizer that lacks
  // a token of a row, and for one without any token that could end an answer.
  ChatEncoder(BpeTokenizer tokenizer, ChatTemplate format);

  const ChatTemplate& format() const { return format_; }
  // The token that ends an answer: the first special token after the assistant's words, else the first added token, and
  // if the template writes neither, the token that ends a text.
  int32_t end_id() const { return end_; }
  // The token that stands once at the beginning of a conversation of several turns; none if there is no such token.
  std::optional<int32_t> begin_id() const { return begin_; }
  // Whether the template writes an assistant's turn as its prompt, the answer and a token that ends it, so that tuned()
  // can learn it.
  bool writes_answers() const { return continues_ && !end_text_.empty(); }

  // A conversation up to the beginning of the assistant's answer. Error for a special token in `tools` or in other
  // members than the content.
  std::vector<int32_t> prompt(const std::vector<ChatMessage>& messages, const Json& tools = {}) const;
  // A whole conversation, cut into tokens where its answers begin, because an answer is generated token by token after
  // its prompt. A turn of the assistant is learned from there to the token that ends it, that one included. What
  // follows is not learned. A turn is rewritten, and not learned, if the template writes it in another way once
  // messages follow it, as Qwen3's drops the thoughts of older turns, or if its prompt is no beginning of it. Error
  // unless writes_answers(), and for a special token in `tools` or in other members than the content.
  ChatIds tuned(const std::vector<ChatMessage>& messages, const Json& tools = {}) const;
  // What tuned() learns of the last message, which is the assistant's. Error if that is nothing.
  std::vector<int32_t> answer(const std::vector<ChatMessage>& messages) const;
  // Error if the template writes the same text with this system message and without it.
  void check_system(const std::string& system) const;

 private:
  struct Safe;
  void find_tokens();
  void check_learnable() const;
  void check_no_special(const Json& value) const;
  Safe safe(const std::vector<ChatMessage>& messages, bool answer, const Json& tools = {}) const;
  std::vector<int32_t> encode(std::string_view text, const std::string& mark) const;
  size_t end_of_turn(std::string_view text, size_t begin) const;

  BpeTokenizer tokenizer_;
  ChatTemplate format_;
  std::vector<std::string> special_;  // texts of special tokens
  AddedTokens added_;                 // special ones are looked for in the text as it is
  int32_t end_ = -1;
  std::string end_text_;  // empty: the template writes no token that ends a turn
  bool end_strips_ = false;
  bool continues_ = false;  // a turn of the assistant starts with its prompt
  std::optional<int32_t> begin_;
};

}  // namespace pg
