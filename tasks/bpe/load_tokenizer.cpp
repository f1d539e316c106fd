// Finds out which kind of tokenizer a path leads to, or a JSON text is, and reads it.
#include <algorithm>
#include <filesystem>

#include "tasks/bpe/tokenizer_files.h"
#include "tasks/data/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/files/gguf.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

namespace fs = std::filesystem;

// The two files of a vocabulary, by the ends of their names.
constexpr std::pair<const char*, const char*> kPairs[] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};
constexpr const char* kKinds =
    "a file tokenizer.json, a *.tiktoken, a *.gguf, a vocab.json with merges.txt beside it, an encoder.json with "
    "vocab.bpe beside it, or a folder with one of these";

std::unique_ptr<Tokenizer> shared(BpeTokenizer tokenizer) {
  return std::make_unique<BpeTokenizer>(std::move(tokenizer));
}

struct Type {
  const char* name;
  std::unique_ptr<Tokenizer> (*read)(std::string_view json);
};
// What to_json() writes as the "type" of a tokenizer that is no BpeTokenizer.
constexpr Type kTypes[] = {
    {"char",
     [](std::string_view json) -> std::unique_ptr<Tokenizer> {
       return std::make_unique<CharTokenizer>(CharTokenizer::from_json(json));
     }},
    {"list",
     [](std::string_view json) -> std::unique_ptr<Tokenizer> {
       return std::make_unique<TokenList>(TokenList::from_json(json));
     }},
};

std::unique_ptr<Tokenizer> load_file(const std::string& path, const std::string& pattern);

std::unique_ptr<Tokenizer> load_folder(const std::string& path, const std::string& pattern) {
  for (const char* name : {"tokenizer.json", "vocab.json", "encoder.json"}) {
    if (fs::exists(fs::path(path) / name)) return load_file((fs::path(path) / name).string(), pattern);
  }
  std::vector<std::string> found = gguf_files_in(path);
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".tiktoken") found.push_back(entry.path().string());
  }
  check(found.size() <= 1, "{}: the folder has {} GGUF or *.tiktoken files; name one of them", path, found.size());
  check(!found.empty(), "{}: the folder has no tokenizer; expected {}", path, kKinds);
  return load_file(found[0], pattern);
}

std::unique_ptr<Tokenizer> read_kind(const std::string& path, const std::string& pattern) {
  if (path.ends_with(".tiktoken")) {
    return shared(bpe_from_tiktoken(read_file(path), pattern));
  }
  if (is_gguf_path(path)) return shared(bpe_from_gguf(gguf_vocabulary(GgufFile(path))));
  for (const auto& [vocab, merges] : kPairs) {
    for (const std::string name : {vocab, merges}) {
      if (!path.ends_with(name)) continue;
      const std::string begin = path.substr(0, path.size() - name.size());
      return shared(
          bpe_from_vocab(read_file(begin + vocab), read_file(begin + merges), pattern.empty() ? "gpt2" : pattern));
    }
  }
  const std::string text = read_file(path);
  const size_t first = text.find_first_not_of(" \t\r\n");
  check(first != std::string::npos && text[first] == '{', "{}: this is no tokenizer; expected {}", path, kKinds);
  return tokenizer_from_json(text);
}

std::unique_ptr<Tokenizer> load_file(const std::string& path, const std::string& pattern) {
  try {
    return read_kind(path, pattern);
  } catch (const Error& e) {
    const std::string message = e.what();
    if (message.starts_with(path) || message.starts_with("read ")) throw;
    fail("{}: {}", path, message);
  }
}

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view text) {
  if (is_tokenizer_json(text)) return shared(bpe_from_json(text));
  const Json json = Json::try_parse(shallow_json(text, "tokenizer"));
  check(json["type"].is_string(), "tokenizer: expected a JSON object with a \"type\", got {:.80}", text);
  std::string known;
  for (const Type& type : kTypes) {
    if (json["type"] == type.name) return type.read(text);
    known += fmt::format(" {}", type.name);
  }
  fail("tokenizer: the type '{:.40}' is not known; known are:{}", json["type"].get<std::string>(), known);
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path, const std::string& pattern) {
  check(fs::exists(path), "{}: there is no such file or folder; expected {}", path, kKinds);
  return fs::is_directory(path) ? load_folder(path, pattern) : load_file(path, pattern);
}

}  // namespace pg
