#pragma once
// Conversations as text for chat models: the formats of turns, by name, and their token ids.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pg {

class BpeTokenizer;

struct ChatMessage {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

// The format of a conversation: a text start, then for each turn
//   turn_start ROLE header_end before_content CONTENT turn_end after_turn
// and before an answer everything up to before_content.
struct ChatTemplate {
  std::string name, about;
  // Special tokens; empty: none.
  std::string text_start, turn_start, header_end, turn_end;
  std::string before_content, after_turn;  // text
  std::string default_system = {};         // the system message of a conversation that has none; empty: none
  // Which row is tried first for the template that a model carries, a program in Jinja: one whose first text it has,
  // and whose second it has not.
  std::string mark = {}, not_mark = {};
  bool trims = false;  // white space at both ends of a content is removed
};
// Error for an unknown name: find_row(chat_templates(), "--chat-template", name).
const std::vector<ChatTemplate>& chat_templates();
// The row for the template that a model carries: a row's name, or a program in Jinja (tasks/jinja) that writes some
// fixed conversations, each up to the beginning of an answer, as the row does. Error naming `what` and the option if
// there is none.
const ChatTemplate& recognize_chat_template(std::string_view jinja, std::string_view what);

// The template as a program in Jinja, for tokenizer_config.json. recognize_chat_template gives the row back.
std::string jinja_of(const ChatTemplate& format);

// A part of a conversation as the model sees it.
struct ChatPart {
  std::string text;
  bool special = false;  // `text` is one special token. Other parts are plain text even where they look like one.
  bool learned = false;  // supervised tuning learns it: the content and the end of the assistant's turns
};
// A conversation; with `answer`, followed by the beginning of the assistant's turn. Error for an unknown role.
std::vector<ChatPart> render_chat(const ChatTemplate& format, const std::vector<ChatMessage>& messages, bool answer);
// The turns that follow an earlier conversation which ended with the assistant's content and turn_end: after_turn, then
// these messages, then the beginning of the assistant's turn.
std::vector<ChatPart> render_reply(const ChatTemplate& format, const std::vector<ChatMessage>& messages);
// The text of all parts.
std::string text_of(const std::vector<ChatPart>& parts);

struct ChatIds {
  std::vector<int32_t> ids;
  std::vector<uint8_t> learned;  // 1 for tokens of parts that are learned
};
// Error naming a special token that the tokenizer does not have.
ChatIds encode_chat(const BpeTokenizer& tokenizer, const std::vector<ChatPart>& parts);

}  // namespace pg
