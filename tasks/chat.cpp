// The formats of conversations that published models were trained with.
#include "tasks/chat.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/jinja/template.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/table.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

ChatTemplate chatml(std::string name, std::string about, std::string default_system, std::string mark,
                    std::string not_mark = {}) {
  return {.name = std::move(name),
          .about = std::move(about),
          .text_start = "",
          .turn_start = "<|im_start|>",
          .header_end = "",
          .turn_end = "<|im_end|>",
          .before_content = "\n",
          .after_turn = "\n",
          .default_system = std::move(default_system),
          .mark = std::move(mark),
          .not_mark = std::move(not_mark)};
}

std::string trimmed(const std::string& text) {
  const char* const space = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(space);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(space) - first + 1);
}

class Renderer {
 public:
  explicit Renderer(const ChatTemplate& format) : format_(format) {}

  void special(const std::string& token, bool learned = false) {
    if (!token.empty()) parts_.push_back({token, true, learned});
  }
  void text(const std::string& text, bool learned = false) {
    if (text.empty()) return;
    if (!parts_.empty() && !parts_.back().special && parts_.back().learned == learned && !begins_content_) {
      parts_.back().text += text;
    } else {
      parts_.push_back({text, false, learned});
    }
    begins_content_ = false;
  }
  void header(const std::string& role) {
    special(format_.turn_start);
    text(role);
    special(format_.header_end);
    text(format_.before_content);
    // An answer is generated token by token after its header, so it is never one piece with it.
    begins_content_ = role == "assistant";
  }
  void turn(const ChatMessage& message) {
    static const std::vector<std::string> roles = {"system", "user", "assistant"};
    if (std::find(roles.begin(), roles.end(), message.role) == roles.end()) {
      fail_unknown("chat: the role of a message", message.role, roles);
    }
    const bool answer = message.role == "assistant";
    header(message.role);
    text(format_.trims ? trimmed(message.content) : message.content, answer);
    special(format_.turn_end, answer);
    begins_content_ = false;
    text(format_.after_turn);
  }
  std::vector<ChatPart> take() { return std::move(parts_); }

 private:
  const ChatTemplate& format_;
  std::vector<ChatPart> parts_;
  bool begins_content_ = false;
};

}  // namespace

const std::vector<ChatTemplate>& chat_templates() {
  static const std::vector<ChatTemplate> rows = {
      chatml("smollm2", "SmolLM2 Instruct", "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
             "named SmolLM, trained by Hugging Face"),
      chatml("qwen2.5-math", "Qwen2.5 Math Instruct",
             "Please reason step by step, and put your final answer within \\boxed{}.",
             "Please reason step by step, and put your final answer within"),
      chatml("qwen2.5", "Qwen2.5 Instruct", "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
             "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
      chatml("qwen2", "Qwen2 Instruct", "You are a helpful assistant.", "You are a helpful assistant"),
      chatml("qwen3", "Qwen3", "", "enable_thinking"),
      chatml("chatml", "turns between <|im_start|> and <|im_end|>, no system message of its own", "", "<|im_start|>",
             "!= 'system'"),
      {.name = "llama3",
       .about = "Llama 3 Instruct, without the dates that 3.1 adds",
       .text_start = "<|begin_of_text|>",
       .turn_start = "<|start_header_id|>",
       .header_end = "<|end_header_id|>",
       .turn_end = "<|eot_id|>",
       .before_content = "\n\n",
       .after_turn = "",
       .mark = "<|start_header_id|>",
       .not_mark = "Cutting Knowledge Date",
       .trims = true},
  };
  return rows;
}

namespace {

// Whether a template writes conversations as the row does. Those here tell apart whether a system message is added,
// white space of contents is removed, and older turns are changed.
bool renders_as(const jinja::Template& jinja, const ChatTemplate& row) {
  static const std::vector<std::vector<ChatMessage>> conversations = {
      {{"user", "Hello there"}},
      {{"system", "Be brief."}, {"user", " a question\n"}},
      {{"user", "one"}, {"assistant", " first answer \n"}, {"user", "two\n\nlines"}},
      {{"system", "s"}, {"user", "u"}, {"assistant", "a"}, {"user", "v"}, {"assistant", "b"}, {"user", "w"}}};
  for (const std::vector<ChatMessage>& conversation : conversations) {
    Json messages = Json::array();
    for (const ChatMessage& m : conversation) messages.push_back({{"role", m.role}, {"content", m.content}});
    const Json variables = {{"messages", std::move(messages)},
                            {"add_generation_prompt", true},
                            {"bos_token", row.text_start.empty() ? "<bos>" : row.text_start},
                            {"eos_token", row.turn_end}};
    if (jinja.render(variables) != text_of(render_chat(row, conversation, /*answer=*/true))) return false;
  }
  return true;
}

// The row that a program writes conversations as; null if there is none. A row whose mark it has comes first.
const ChatTemplate* row_of(std::string_view program, std::string& why) {
  const auto has = [&](const std::string& text) { return program.find(text) != std::string_view::npos; };
  try {
    const jinja::Template jinja(program);
    for (const bool marked : {true, false}) {
      for (const ChatTemplate& row : chat_templates()) {
        if (marked && !(has(row.mark) && (row.not_mark.empty() || !has(row.not_mark)))) continue;
        if (renders_as(jinja, row)) return &row;
      }
    }
    why = "it writes conversations in another way than these do";
  } catch (const Error& e) {
    why = e.what();
  }
  return nullptr;
}

}  // namespace

const ChatTemplate& recognize_chat_template(std::string_view jinja, std::string_view what) {
  for (const ChatTemplate& row : chat_templates()) {
    if (jinja == row.name) return row;
  }
  std::string why;
  if (const ChatTemplate* const row = row_of(jinja, why)) return *row;
  fail("{}: the chat template is not known (it begins with '{}'): {}; choose the nearest with --chat-template: {}",
       what, excerpt(jinja, 60), why, fmt::join(names_of(chat_templates()), ", "));
}

std::string jinja_of(const ChatTemplate& format) {
  const auto literal = [](const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
      if (c == '\n') {
        quoted += "\\n";
        continue;
      }
      if (c == '\'' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + "'";
  };
  const auto header = [&](const std::string& role) {  // an expression
    return literal(format.turn_start) + " + " + role + " + " + literal(format.header_end + format.before_content);
  };
  const std::string end = literal(format.turn_end + format.after_turn);
  std::string program = format.text_start.empty() ? "" : "{{ " + literal(format.text_start) + " }}";
  program += "{% for message in messages %}";
  if (!format.default_system.empty()) {
    program += "{% if loop.first and messages[0]['role'] != 'system' %}{{ " + header("'system'") + " + " +
               literal(format.default_system) + " + " + end + " }}{% endif %}";
  }
  program += "{{ " + header("message['role']") + " + message['content']" + (format.trims ? " | trim" : "") + " + " +
             end + " }}{% endfor %}{% if add_generation_prompt %}{{ " + header("'assistant'") + " }}{% endif %}";
  return program;
}

std::vector<ChatPart> render_chat(const ChatTemplate& format, const std::vector<ChatMessage>& messages, bool answer) {
  Renderer renderer(format);
  renderer.special(format.text_start);
  if (!format.default_system.empty() && (messages.empty() || messages[0].role != "system")) {
    renderer.turn({"system", format.default_system});
  }
  for (const ChatMessage& message : messages) renderer.turn(message);
  if (answer) renderer.header("assistant");
  return renderer.take();
}

std::vector<ChatPart> render_reply(const ChatTemplate& format, const std::vector<ChatMessage>& messages) {
  Renderer renderer(format);
  renderer.text(format.after_turn);
  for (const ChatMessage& message : messages) renderer.turn(message);
  renderer.header("assistant");
  return renderer.take();
}

std::string text_of(const std::vector<ChatPart>& parts) {
  std::string text;
  for (const ChatPart& part : parts) text += part.text;
  return text;
}

ChatIds encode_chat(const BpeTokenizer& tokenizer, const std::vector<ChatPart>& parts) {
  ChatIds chat;
  for (const ChatPart& part : parts) {
    if (part.special) {
      const auto id = tokenizer.token_id(part.text);
      check(id.has_value(), "chat: the tokenizer has no token {}, which the chat template needs", part.text);
      chat.ids.push_back(*id);
    } else {
      const auto ids = tokenizer.encode(part.text, {.surround = false, .special_tokens = false});
      chat.ids.insert(chat.ids.end(), ids.begin(), ids.end());
    }
    chat.learned.resize(chat.ids.size(), part.learned ? 1 : 0);
  }
  return chat;
}

}  // namespace pg
