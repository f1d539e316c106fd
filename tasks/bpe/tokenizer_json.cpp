// Hugging Face's tokenizer.json: reading and writing.
#include <algorithm>

#include "tasks/bpe/tokenizer_files.h"
#include "tasks/bpe/vocabulary.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

constexpr int32_t kLargestId = std::numeric_limits<int32_t>::max();

// A field of the file that must be absent, null, or one of the values that change nothing.
void refuse(const Json& object, const char* name, std::initializer_list<Json> harmless = {}) {
  const Json& value = object[name];
  if (value.is_null() || std::find(harmless.begin(), harmless.end(), value) != harmless.end()) return;
  fail("tokenizer.json: {} {} is not supported", name, excerpt(value.dump(), 40));
}

bool flag(const Json& object, const char* name) {
  const Json& value = object[name];
  check(value.is_null() || value.is_boolean(), "tokenizer.json: {} must be true or false, got {}", name,
        excerpt(value.dump(), 40));
  return value.is_boolean() && value.get<bool>();
}

std::pair<std::string, std::string> pair_of(const Json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (!merge.is_string()) {
    fail("tokenizer.json: expected a merge \"a b\" or [\"a\", \"b\"], got {}", excerpt(merge.dump(), 40));
  }
  return split_merge(merge.text(), "tokenizer.json");
}

AddedToken added_token(const Json& token) {
  const Json &id = token["id"], &content = token["content"];
  check(id.is_integer_in(0, kLargestId) && content.is_string(),
        "tokenizer.json: expected an added token with an \"id\" and a \"content\", got {}", excerpt(token.dump()));
  return {.id = id.get<int32_t>(),
          .content = content.get<std::string>(),
          .single_word = flag(token, "single_word"),
          .lstrip = flag(token, "lstrip"),
          .rstrip = flag(token, "rstrip"),
          .normalized = flag(token, "normalized"),
          .special = flag(token, "special")};
}

}  // namespace

bool is_tokenizer_json(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == '"') {
      const size_t begin = ++i;
      while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
      if (depth != 1 || text.substr(begin, i - begin) != "model") continue;
      const size_t next = text.find_first_not_of(" \t\r\n", i + 1);
      if (next != std::string_view::npos && text[next] == ':') return true;
    } else if (depth == 0 && c != ' ' && c != '\n' && c != '\r' && c != '\t') {
      return false;
    }
  }
  return false;
}

BpeTokenizer bpe_from_json(std::string_view text) {
  const Json json = Json::try_parse(shallow_json(text, "tokenizer.json"));
  check(json.is_object(), "tokenizer.json: expected a JSON object, got {}", excerpt(text));
  const Json& model = json["model"];
  check(model.is_object(), "tokenizer.json: expected a \"model\" that is an object");
  const Json type = model.value("type", Json("BPE"));
  check(type == "BPE", "tokenizer.json: the model type {} is not supported; supported is \"BPE\"",
        excerpt(type.dump(), 40));
  refuse(model, "dropout", {0});
  refuse(model, "continuing_subword_prefix", {""});
  refuse(model, "end_of_word_suffix", {""});
  refuse(model, "byte_fallback", {false});

  BpeData data;
  const Json &vocab = model["vocab"], &merges = model["merges"];
  check(vocab.is_object(), "tokenizer.json: expected an object \"vocab\" in the model");
  check(merges.is_array(), "tokenizer.json: expected a list \"merges\" in the model");
  Vocabulary vocabulary("tokenizer.json", vocab.size());
  for (const auto& [token, id] : vocab.items()) {
    if (!id.is_integer_in(0, kLargestId)) {
      fail("tokenizer.json: the token '{}' has the id {}; expected one from 0 to {}", excerpt(token, 40),
           excerpt(id.dump(), 40), kLargestId);
    }
    vocabulary.add(token, id.get<int32_t>());
  }
  for (const Json& merge : merges) {
    const auto [left, right] = pair_of(merge);
    data.merges.push_back(vocabulary.merge(left, right));
  }
  data.whole_pieces = flag(model, "ignore_merges");

  const Json added = json.value("added_tokens", Json::array());
  check(added.is_array(), "tokenizer.json: added_tokens must be a list");
  for (const Json& token : added) {
    data.added.push_back(added_token(token));
    const AddedToken& last = data.added.back();
    // Older versions marked the token itself, which transformers reports at each load.
    if (model["ends_text"] == last.id || flag(token, "ends_text")) data.end = last.id;
    const int32_t id = vocabulary.find(last.content);
    check(id < 0 || id == last.id, "tokenizer.json: the added token '{}' has the id {}, in the vocabulary it has {}",
          excerpt(last.content, 40), last.id, id);
  }
  data.tokens = vocabulary.take();
  data.pre_tokenizer = sorted_by_key(json["pre_tokenizer"]).dump();
  data.normalizer = sorted_by_key(json["normalizer"]).dump();
  data.post_processor = post_processor(json["post_processor"].dump());
  return BpeTokenizer(std::move(data));
}

std::string json_of(const BpeTokenizer& tokenizer) {
  const BpeData& data = tokenizer.data();
  Json added = Json::array();
  std::vector<const AddedToken*> added_by_id(static_cast<size_t>(tokenizer.vocab_size()), nullptr);
  for (const AddedToken& token : data.added) {
    added_by_id[static_cast<size_t>(token.id)] = &token;
    Json entry = {{"id", token.id},          {"content", token.content}, {"single_word", token.single_word},
                  {"lstrip", token.lstrip},  {"rstrip", token.rstrip},   {"normalized", token.normalized},
                  {"special", token.special}};
    added.push_back(std::move(entry));
  }

  // An added token with an id of the vocabulary must be in it, or others would give it another id. The objects are
  // written by hand because Json looks through all keys for each new one.
  std::string vocab, merges;
  const auto quoted = [](const std::string& token) { return Json(token).dump(); };
  for (size_t id = 0; id < data.tokens.size(); ++id) {
    const std::string* token = &data.tokens[id];
    if (token->empty() && added_by_id[id]) token = &added_by_id[id]->content;
    if (!token->empty()) vocab += fmt::format("{}{}:{}", vocab.empty() ? "" : ",", quoted(*token), id);
  }
  std::vector<BpeData::Merge> ordered = data.merges;
  if (data.rank_is_id) {
    std::sort(ordered.begin(), ordered.end(), [](const BpeData::Merge& a, const BpeData::Merge& b) {
      return std::tuple(a.id, a.left, a.right) < std::tuple(b.id, b.left, b.right);
    });
  }
  for (const BpeData::Merge& merge : ordered) {
    merges += fmt::format("{}[{},{}]", merges.empty() ? "" : ",", quoted(data.tokens[static_cast<size_t>(merge.left)]),
                          quoted(data.tokens[static_cast<size_t>(merge.right)]));
  }
  const int32_t end = tokenizer.end_id();
  const std::string ends_text = end == usual_end(data.added) ? "" : fmt::format(R"("ends_text":{},)", end);
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},"normalizer":{},"pre_tokenizer":{},)"
      R"("post_processor":{},"decoder":{{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,)"
      R"("use_regex":true}},"model":{{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,)"
      R"("end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":{},{}"vocab":{{{}}},)"
      R"("merges":[{}]}}}})",
      added.dump(), data.normalizer, data.pre_tokenizer, data.post_processor.json, data.whole_pieces, ends_text, vocab,
      merges);
}

}  // namespace pg
