// Reads conversations and prompts with responses from JSONL files.
#include "tasks/chat_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tasks/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

using Json = nlohmann::json;

std::string text_at(const Json& object, const char* key, const std::string& where) {
  check(object.contains(key), "{}: the key \"{}\" is missing", where, key);
  check(object[key].is_string(), "{}: \"{}\" must be a string, got {}", where, key, object[key].type_name());
  return object[key].get<std::string>();
}

std::vector<ChatMessage> messages_of(const Json& line, const std::string& where) {
  check(line["messages"].is_array() && !line["messages"].empty(), "{}: \"messages\" must be a list of messages", where);
  std::vector<ChatMessage> messages;
  for (const Json& message : line["messages"]) {
    check(message.is_object(), "{}: a message must be an object with \"role\" and \"content\"", where);
    messages.push_back({text_at(message, "role", where), text_at(message, "content", where)});
  }
  return messages;
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

TunedText read_line(const std::string& line, const std::string& where, const BpeTokenizer& tokenizer,
                    const ChatTemplate* format) {
  const Json json = Json::parse(shallow_json(line, where), nullptr, /*allow_exceptions=*/false);
  check(json.is_object(), "{}: expected a JSON object, got '{}'", where, excerpt(line));
  std::vector<ChatMessage> messages;
  if (json.contains("messages")) {
    messages = messages_of(json, where);
    check(format, "{}: messages need a chat template, and the model carries none; choose one with --chat-template",
          where);
  } else {
    const std::string prompt = text_at(json, "prompt", where), response = text_at(json, "response", where);
    if (!format) return plain_text(tokenizer, prompt, response, where);
    messages = {{"user", prompt}, {"assistant", response}};
  }
  try {
    ChatIds chat = encode_chat(tokenizer, render_chat(*format, messages, /*answer=*/false));
    return {std::move(chat.ids), std::move(chat.learned)};
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
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    ++data.lines;
    const std::string where = fmt::format("{}:{}", path, number);
    TunedText text = read_line(line, where, tokenizer, options.format);
    const auto learned = std::count(text.learned.begin(), text.learned.end(), 1);
    check(learned > 0, "{}: the conversation has no message of the assistant, so nothing would be learned", where);
    if (static_cast<int64_t>(text.ids.size()) > options.max_length) {
      ++data.too_long;
      continue;
    }
    data.tokens += static_cast<int64_t>(text.ids.size());
    data.learned += learned;
    data.train.push_back(std::move(text));
  }
  check(!data.train.empty(), "{}: {}", path,
        data.lines == 0 ? "the file is empty"
                        : fmt::format("all {} texts have more than {} tokens", data.lines, options.max_length));
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
