// Conversations as token ids.
#include "tasks/chat/chat.h"

#include <algorithm>

#include "tasks/data/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

// A conversation from which the tokens of a template are read.
constexpr const char *kAsked = "What is asked?", *kSaid = "This is said.";

// Added tokens for the text of a conversation. Special ones are looked for before any normalization, so that no content
// becomes one by it.
std::vector<AddedToken> tokens_of_turns(const BpeTokenizer& tokenizer) {
  std::vector<AddedToken> added = tokenizer.data().added;
  for (AddedToken& token : added) token.normalized = token.normalized && !token.special;
  return added;
}

std::vector<std::string> special_texts(const BpeTokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (const AddedToken& token : tokenizer.data().added) {
    if (token.special) texts.push_back(token.content);
  }
  return texts;
}

std::vector<ChatMessage> first_of(const std::vector<ChatMessage>& messages, size_t count) {
  return {messages.begin(), messages.begin() + static_cast<int64_t>(count)};
}

std::string without(std::string_view text, const std::string& mark) {
  std::string rest;
  for (size_t at = 0; at < text.size();) {
    const size_t found = mark.empty() ? std::string_view::npos : text.find(mark, at);
    rest += text.substr(at, found == std::string_view::npos ? found : found - at);
    if (found == std::string_view::npos) break;
    at = found + mark.size();
  }
  return rest;
}

// `content` with the mark inside each of these texts, after its first character, or before it if it has no other.
std::string marked(const std::string& content, const std::vector<std::string>& texts, const std::string& mark) {
  std::vector<size_t> places;
  for (const std::string& text : texts) {
    const size_t first = first_unit(text).bytes;
    for (size_t at = content.find(text); at != std::string::npos; at = content.find(text, at + 1)) {
      places.push_back(at + (first < text.size() ? first : 0));
    }
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::string result;
  size_t done = 0;
  for (const size_t place : places) {
    result.append(content, done, place - done).append(mark);
    done = place;
  }
  return result.append(content, done);
}

// A character that none of these texts has. It is an ideograph of Unicode's CJK extension B, because templates write
// these unchanged, also in lists and as JSON.
std::string unused_character(const std::vector<std::string_view>& texts) {
  constexpr char32_t kFirst = 0x20000, kLast = 0x2A6D6;
  std::vector<bool> used(kLast - kFirst + 1);
  for (const std::string_view text : texts) {
    for (size_t at = 0; at < text.size();) {
      const Utf8Unit unit = first_unit(text.substr(at));
      if (unit.kind == Utf8Unit::character && unit.value >= kFirst) used[unit.value - kFirst] = true;
      at += unit.bytes;
    }
  }
  const auto free = std::find(used.begin(), used.end(), false);
  check(free != used.end(), "chat: the messages have every character of Unicode's CJK extension B");
  std::string character;
  append_utf8(character, kFirst + static_cast<char32_t>(free - used.begin()));
  return character;
}

}  // namespace

// Messages whose special tokens have the mark inside, and the text that the template writes of them.
struct ChatEncoder::Safe {
  std::vector<ChatMessage> messages;
  std::string text, mark;  // empty mark: no content has a special token
};

ChatEncoder::ChatEncoder(BpeTokenizer tokenizer, ChatTemplate format)
    : tokenizer_(std::move(tokenizer)),
      format_(std::move(format)),
      special_(special_texts(tokenizer_)),
      added_(tokens_of_turns(tokenizer_), false, Normalizer()) {
  if (const ChatTemplateRow* const row = format_.row()) {
    const std::vector<AddedToken>& added = tokenizer_.data().added;
    for (const std::string& token : row->tokens) {
      check(std::any_of(added.begin(), added.end(), [&](const AddedToken& one) { return one.content == token; }),
            "chat: the tokenizer has no added token {}, which the chat template {} writes", token, row->name);
    }
  }
  find_tokens();
}

void ChatEncoder::find_tokens() {
  const auto added_token = [&](int32_t id) -> const AddedToken* {
    const std::vector<AddedToken>& all = tokenizer_.data().added;
    const auto found = std::find_if(all.begin(), all.end(), [&](const AddedToken& one) { return one.id == id; });
    return found == all.end() ? nullptr : &*found;
  };
  const std::string said = kSaid;
  const ChatMessage user{"user", kAsked}, assistant{"assistant", said};
  const std::string prompt = format_.render({user}, true);
  check(prompt != format_.render({{"user", "Another question."}}, true),
        "chat: the chat template ({}) does not write the words of the user; for a question it writes '{}'",
        format_.about(), excerpt(prompt, 200));
  RegexScratch scratch;
  try {
    const std::string text = format_.render({user, assistant}, false);
    continues_ = text.starts_with(prompt);
    const AddedToken* end = nullptr;
    const size_t at = text.rfind(said);
    const std::string_view rest =
        std::string_view(text).substr(at == std::string::npos ? text.size() : at + said.size());
    for (const AddedTokens::Part& part : added_.split(rest, false, scratch)) {
      const AddedToken* const token = added_token(part.id);
      if (token && (!end || (token->special && !end->special))) end = token;
    }
    if (end) end_ = end->id, end_text_ = end->content, end_strips_ = end->rstrip;
    const std::string turns = format_.render({user, assistant, user, assistant}, false);
    const auto parts = added_.split(turns, false, scratch);
    const auto same = [&](const AddedTokens::Part& part) { return part.id >= 0 && part.id == parts[0].id; };
    if (std::count_if(parts.begin(), parts.end(), same) == 1) begin_ = parts[0].id;
  } catch (const Error&) {  // a template may refuse these turns
  }
  if (end_text_.empty()) end_ = tokenizer_.end_id();
  check(
      end_ >= 0,
      "chat: the chat template ({}) writes no token after the assistant's words, and the tokenizer has none that ends "
      "a text, so no answer could end",
      format_.about());
}

void ChatEncoder::check_no_special(const Json& value) const {
  const std::string text = value.dump(-1, Json::Utf8::replace);
  for (const std::string& token : special_) {
    check(text.find(token) == std::string::npos,
          "chat: a tool, or a member of a message that is not its content, has the special token {}: '{}'", token,
          excerpt(text, 200));
  }
}

ChatEncoder::Safe ChatEncoder::safe(const std::vector<ChatMessage>& messages, bool answer, const Json& tools) const {
  check(!messages.empty(), "chat: the conversation has no messages");
  check_no_special(tools);
  for (const ChatMessage& message : messages) check_no_special(message.more);
  Safe result{messages, format_.render(messages, answer, tools), ""};
  std::vector<std::vector<std::string>> found(messages.size());
  bool any = false;
  for (size_t i = 0; i < messages.size(); ++i) {
    for (const std::string& token : special_) {
      if (messages[i].content.find(token) != std::string::npos) found[i].push_back(token), any = true;
    }
  }
  if (!any) return result;
  const std::string variables = format_.variables().dump(-1, Json::Utf8::replace);
  std::vector<std::string_view> texts = {format_.program(), variables};
  for (const ChatMessage& message : messages) texts.push_back(message.content);
  texts.insert(texts.end(), special_.begin(), special_.end());
  result.mark = unused_character(texts);

  // Takes changed messages if the template writes the same text of them.
  const auto take = [&](std::vector<ChatMessage> changed) {
    try {
      std::string text = format_.render(changed, answer, tools);
      if (without(text, result.mark) != without(result.text, result.mark)) return false;
      result.messages = std::move(changed);
      result.text = std::move(text);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  const auto with = [&](size_t i, const std::vector<std::string>& tokens) {
    std::vector<ChatMessage> changed = result.messages;
    changed[i].content = marked(messages[i].content, tokens, result.mark);
    return changed;
  };
  std::vector<ChatMessage> all = messages;
  for (size_t i = 0; i < all.size(); ++i) all[i].content = marked(all[i].content, found[i], result.mark);
  if (take(std::move(all))) return result;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (found[i].empty() || take(with(i, found[i]))) continue;
    std::vector<std::string> kept;
    for (const std::string& token : found[i]) {
      kept.push_back(token);
      if (!take(with(i, kept))) kept.pop_back();
    }
  }
  return result;
}

std::vector<int32_t> ChatEncoder::encode(std::string_view text, const std::string& mark) const {
  std::vector<int32_t> ids;
  RegexScratch scratch;
  for (const AddedTokens::Part& part : added_.split(text, false, scratch)) {
    // A token of one character has the mark before it.
    const std::string_view before = text.substr(0, static_cast<size_t>(part.text.data() - text.data()));
    if (part.id >= 0 && (mark.empty() || !before.ends_with(mark))) {
      ids.push_back(part.id);
      continue;
    }
    const auto more = tokenizer_.encode(without(part.text, mark), {.surround = false, .special_tokens = false});
    ids.insert(ids.end(), more.begin(), more.end());
  }
  return ids;
}

std::vector<int32_t> ChatEncoder::prompt(const std::vector<ChatMessage>& messages, const Json& tools) const {
  const Safe all = safe(messages, true, tools);
  std::vector<int32_t> ids = encode(all.text, all.mark);
  check(!ids.empty(), "chat: the chat template ({}) writes nothing for this conversation", format_.about());
  return ids;
}

// Where the first end of a turn behind `begin` ends, with the white space that the token takes along; npos: nowhere.
size_t ChatEncoder::end_of_turn(std::string_view text, size_t begin) const {
  const size_t at = text.find(end_text_, begin);
  if (at == std::string_view::npos) return at;
  const size_t end = at + end_text_.size();
  const size_t next = end_strips_ ? text.find_first_not_of(" \t\n\v\f\r", end) : end;
  return std::min(next, text.size());
}

ChatIds ChatEncoder::tuned(const std::vector<ChatMessage>& messages, const Json& tools) const {
  check_learnable();
  const Safe all = safe(messages, false, tools);
  const std::string_view whole = all.text;
  ChatIds chat;
  const auto append = [&](size_t from, size_t to, bool learned) {
    const std::vector<int32_t> ids = encode(whole.substr(from, to - from), all.mark);
    chat.ids.insert(chat.ids.end(), ids.begin(), ids.end());
    chat.learned.resize(chat.ids.size(), learned ? 1 : 0);
  };
  size_t done = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    ++chat.turns;
    std::string turn, prompt;
    try {
      turn = format_.render(first_of(all.messages, i + 1), false, tools);
      prompt = format_.render(first_of(all.messages, i), true, tools);
    } catch (const Error&) {  // a template may refuse a conversation that the assistant begins
      if (i > 0) throw;
    }
    size_t end = end_of_turn(turn, prompt.size());
    if (prompt.empty() || prompt.size() < done || end == std::string::npos || !turn.starts_with(prompt) ||
        !whole.starts_with(std::string_view(turn).substr(0, end))) {
      ++chat.rewritten;
      continue;
    }
    end = end_of_turn(whole, prompt.size());  // `whole` may have white space after the token where `turn` ends
    append(done, prompt.size(), false);
    append(prompt.size(), end, true);
    done = end;
  }
  append(done, whole.size(), false);
  return chat;
}

void ChatEncoder::check_learnable() const {
  check(!end_text_.empty(),
        "chat: the chat template ({}) writes no token after the assistant's words, so a model that learned them would "
        "not learn to end; choose another by --chat-template",
        format_.about());
  if (continues_) return;
  const ChatMessage user{"user", kAsked}, assistant{"assistant", kSaid};
  const auto last = [](const std::string& text) {
    return text.substr(text.size() - std::min<size_t>(text.size(), 80));
  };
  fail(
      "chat: the chat template ({}) asks for an answer by '…{}' and writes that answer as '…{}', so that what is "
      "learned "
      "would not follow its prompt; choose another by --chat-template",
      format_.about(), last(format_.render({user}, true)), last(format_.render({user, assistant}, false)));
}

std::vector<int32_t> ChatEncoder::answer(const std::vector<ChatMessage>& messages) const {
  const ChatIds chat = tuned(messages);
  const auto last = std::find(chat.learned.rbegin(), chat.learned.rend(), 1);
  check(last != chat.learned.rend(), "chat: the chat template ({}) does not write this answer behind its prompt",
        format_.about());
  const auto before = std::find(last, chat.learned.rend(), 0);
  return {chat.ids.begin() + (chat.learned.rend() - before), chat.ids.begin() + (chat.learned.rend() - last)};
}

void ChatEncoder::check_system(const std::string& system) const {
  const ChatMessage user{"user", kAsked};
  check(
      format_.render({{"system", system}, user}, true) != format_.render({user}, true),
      "chat: the chat template ({}) writes the same text with a system message and without it, so the model would not "
      "read it",
      format_.about());
}

}  // namespace pg
