// Reads conversations and prompts with responses from JSONL files.
#include "tasks/chat/chat_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tasks/data/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

std::string text_at(const Json& object, const char* key, const std::string& where) {
  check(object.contains(key), "{}: the key \"{}\" is missing", where, key);
  check(object[key].is_string(), "{}: \"{}\" must be a string, got {}", where, key, object[key].type_name());
  return object[key].get<std::string>();
}

using KeyCounts = std::map<std::string, int64_t>;

// A key whose value says nothing: null, "", [] or {}.
bool is_blank(const Json& value) { return value.is_null() || value.empty() || value == ""; }

bool is_reasoning(const std::string& key) {
  const std::vector<std::string>& names = reasoning_members();
  return std::find(names.begin(), names.end(), key) != names.end();
}

// Keys whose words the model would have to write.
bool has_words(const std::string& key) { return is_reasoning(key) || key == "tool_calls" || key == "function_call"; }

// Error for words at a key that is not learned. `owner` has the key, `place` is the key whose words are learned.
void check_learned(const std::string& key, const std::string& owner, const char* place) {
  check(!has_words(key),
        "{} has the key \"{}\", which would not be learned; write its words into \"{}\", as the model shall write "
        "them, or leave the key out",
        owner, key, place);
}

// A message, with the keys that the template names; the others are counted. Error for words at one of those.
ChatMessage message_of(const Json& message, const ChatTemplate& format, KeyCounts& ignored) {
  check(message.is_object(), "a message must be an object with \"role\" and \"content\"");
  ChatMessage result{text_at(message, "role", "a message"), ""};
  bool words = false;
  for (const auto& [key, value] : message.items()) {
    if (key == "role" || key == "content" || is_blank(value)) continue;
    if (format.names(key) || (is_reasoning(key) && (format.names("reasoning_content") || format.names("thinking")))) {
      result.more[key] = value;
      words = words || has_words(key);
      continue;
    }
    check_learned(key, "a message", "content");
    ++ignored[excerpt(key, 30)];
  }
  if (words && message["content"].is_null()) {
    result.more["content"] = nullptr;
  } else {
    result.content = text_at(message, "content", "a message");
  }
  return result;
}

// Error for words at a key that the template names and does not write where that message is the last one.
void check_written(const std::vector<ChatMessage>& messages, const ChatTemplate& format, const Json& tools) {
  for (size_t i = 0; i < messages.size(); ++i) {
    for (const auto& [key, value] : messages[i].more.items()) {
      if (!has_words(key)) continue;
      std::vector<ChatMessage> with(messages.begin(), messages.begin() + static_cast<int64_t>(i) + 1), without = with;
      without.back().more.erase(key);
      if (format.render(with, false, tools) == format.render(without, false, tools)) {
        check_learned(key, "a message", "content");
      }
    }
  }
}

std::vector<ChatMessage> messages_of(const Json& line, const ChatTemplate& format, KeyCounts& ignored) {
  check(line["messages"].is_array() && !line["messages"].empty(), "\"messages\" must be a list of messages");
  std::vector<ChatMessage> messages;
  for (const Json& message : line["messages"]) messages.push_back(message_of(message, format, ignored));
  return messages;
}

// The "tools" of a line: null if there are none. Error unless the template writes them.
Json tools_of(const Json& line, const std::vector<ChatMessage>& messages, const ChatTemplate& format) {
  const Json& tools = line["tools"];
  if (is_blank(tools)) return nullptr;
  check(tools.is_array(), "\"tools\" must be a list, got {}", tools.type_name());
  check(format.names("tools") && format.render(messages, false, tools) != format.render(messages, false),
        "the chat template ({}) does not write \"tools\", so the model would not know them; choose another by "
        "--chat-template, or leave the key out",
        format.about());
  return tools;
}

// A prompt and a response as plain text.
TunedText plain_text(const BpeTokenizer& tokenizer, const std::string& prompt, const std::string& response,
                     const std::string& where) {
  TunedText text;
  text.ids = tokenizer.encode(prompt, {.surround = true, .special_tokens = false});
  check(!text.ids.empty(), "{}: the prompt is empty", where);
  text.learned.assign(text.ids.size(), 0);
  const auto answer = tokenizer.encode(response, {.surround = false, .special_tokens = false});
  text.ids.insert(text.ids.end(), answer.begin(), answer.end());
  if (tokenizer.end_id() >= 0) text.ids.push_back(tokenizer.end_id());
  text.learned.resize(text.ids.size(), 1);
  return text;
}

// The text of the first of these keys that the line has.
std::string text_of(const Json& line, std::initializer_list<const char*> keys, const std::string& where) {
  for (const char* key : keys) {
    if (line.contains(key)) return text_at(line, key, where);
  }
  return text_at(line, *keys.begin(), where);
}

// What a line asks in this style.
std::string question_in(const Json& line, const Prompt& prompt, const std::string& where) {
  check(!line.contains("messages"),
        "{}: expected a prompt or a question with a response, as --prompt-style {} has them", where,
        prompt.style().name);
  if (line.contains("question")) return text_at(line, "question", where);
  if (line.contains("problem")) return text_at(line, "problem", where);
  const std::string text = text_at(line, "prompt", where);
  const std::optional<std::string> question = prompt.question_of(text);
  check(question.has_value(),
        "{}: its prompt is not one of --prompt-style {}, by which the model is asked later: expected '{} … {}', got "
        "'{} … {}'. Take another style, give the text by --prompt-file, or name the question by the key \"question\"",
        where, prompt.style().name, excerpt(prompt.before(), 300), prompt.after(), excerpt(text, 300),
        text.substr(text.size() - std::min(text.size(), prompt.after().size() + 8)));
  return *question;
}

// A line, and its prompt as a key to tell prompts apart.
struct Line {
  TunedText text;
  std::string prompt;
  int64_t turns = 0, rewritten = 0;
};

Line read_line(const std::string& line, const std::string& where, const BpeTokenizer& tokenizer,
               const ChatEncoder* chat, const ChatDataOptions& o, KeyCounts& ignored) {
  const Json json = Json::try_parse(shallow_json(line, where));
  check(json.is_object(), "{}: expected a JSON object, got '{}'", where, excerpt(line));
  const char* const learned = json.contains("messages") ? "messages" : "response";
  for (const auto& [key, value] : json.items()) {
    if (!is_blank(value)) check_learned(key, where + ": the line", learned);
  }
  if (o.prompt) {
    const std::string question = question_in(json, *o.prompt, where);
    Line result{{o.prompt->ids(question), {}}, question};
    TunedText& text = result.text;
    check(!text.ids.empty(), "{}: the prompt is empty", where);
    text.learned.assign(text.ids.size(), 0);
    const std::string response = text_of(json, {"response", "completion"}, where);
    std::vector<int32_t> answer;
    try {
      answer = o.prompt->response_ids(question, response);
    } catch (const Error& e) {
      fail("{}: {}", where, e.what());
    }
    text.ids.insert(text.ids.end(), answer.begin(), answer.end());
    text.learned.resize(text.ids.size(), 1);
    return result;
  }
  std::vector<ChatMessage> messages;
  if (json.contains("messages")) {
    check(chat, "{}: messages need a chat template, and the model carries none; choose one with --chat-template",
          where);
  } else {
    const std::string prompt = text_at(json, "prompt", where);
    const std::string response = text_of(json, {"response", "completion"}, where);
    if (!chat) return {plain_text(tokenizer, prompt, response, where), prompt};
    messages = {{"user", prompt}, {"assistant", response}};
  }
  try {
    const ChatTemplate& format = chat->format();
    if (messages.empty()) messages = messages_of(json, format, ignored);
    std::string key;
    for (const ChatMessage& message : messages) {
      if (message.role != "assistant") key += message.content + '\0';
    }
    const Json tools = tools_of(json, messages, format);
    check_written(messages, format, tools);
    ChatIds ids = chat->tuned(messages, tools);
    check(ids.turns > 0, "the conversation has no message of the assistant, so nothing would be learned");
    check(ids.rewritten < ids.turns,
          "the chat template writes no turn of the assistant here as the model would write it, so nothing would be "
          "learned; let the conversation begin with a user's message and end with the assistant's");
    return {{std::move(ids.ids), std::move(ids.learned)}, key, ids.turns, ids.rewritten};
  } catch (const Error& e) {
    fail("{}: {}", where, e.what());
  }
}

}  // namespace

ChatData read_chat_data(const std::string& path, const BpeTokenizer& tokenizer, const ChatDataOptions& options) {
  std::string note;
  std::istringstream file(unix_text(read_file(path), path, note));
  ChatData data;
  std::string line;
  std::set<std::string> prompts, kept;
  KeyCounts ignored;
  std::optional<ChatEncoder> chat;
  if (options.format && !options.prompt) chat.emplace(tokenizer, options.format);
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    ++data.lines;
    const std::string where = fmt::format("{}:{}", path, number);
    Line read = read_line(line, where, tokenizer, chat ? &*chat : nullptr, options, ignored);
    TunedText& text = read.text;
    if (options.unique > 0 && std::ssize(prompts) == options.unique && !prompts.contains(read.prompt)) continue;
    prompts.insert(read.prompt);
    const auto learned = std::count(text.learned.begin(), text.learned.end(), 1);
    check(learned > 0, "{}: nothing would be learned", where);
    if (static_cast<int64_t>(text.ids.size()) > options.max_length) {
      ++data.too_long;
      continue;
    }
    data.tokens += static_cast<int64_t>(text.ids.size());
    data.learned += learned;
    data.turns += read.turns;
    data.rewritten += read.rewritten;
    kept.insert(read.prompt);
    data.train.push_back(std::move(text));
  }
  check(!data.train.empty(), "{}: {}", path,
        data.lines == 0 ? "the file is empty"
                        : fmt::format("all {} texts have more than {} tokens", data.lines, options.max_length));
  data.prompts = std::ssize(kept);
  std::vector<std::string> keys;
  for (const auto& [key, count] : ignored) keys.push_back(fmt::format("{} ({} times)", key, count));
  if (!keys.empty())
    data.note = fmt::format("{}: keys of messages that are not read: {}.", path, fmt::join(keys, ", "));
  if (data.rewritten > 0) {
    data.note += fmt::format(
        "{}{}: of {} turns of the assistant {} are not learned, because the chat template writes them in another way "
        "once messages follow them. To learn such a turn, let it end a line of its own.",
        data.note.empty() ? "" : "\n", path, data.turns, data.rewritten);
  }
  const auto held_out = static_cast<size_t>(options.val_share * static_cast<double>(data.train.size()));
  if (held_out > 0) {
    Generator draws = random_stream(options.seed, 0);
    shuffle(data.train, draws);
    data.val.assign(std::make_move_iterator(data.train.end() - static_cast<int64_t>(held_out)),
                    std::make_move_iterator(data.train.end()));
    data.train.resize(data.train.size() - held_out);
  }
  return data;
}

}  // namespace pg
