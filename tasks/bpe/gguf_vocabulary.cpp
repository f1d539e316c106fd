// The tokenizer in the metadata of a GGUF file.
#include "tasks/bpe/tokenizer_files.h"
#include "tensor/base/error.h"
#include "tensor/base/files/gguf.h"

namespace pg {

GgufVocabulary gguf_vocabulary(const GgufFile& file) {
  const std::string model(file.string_at("tokenizer.ggml.model"));
  check(model == "gpt2", "{}: the tokenizer is of the kind '{}'; only byte-level BPE, 'gpt2', can be read", file.path(),
        model);
  GgufVocabulary v;
  for (const std::string_view token : file.strings_at("tokenizer.ggml.tokens")) v.tokens.emplace_back(token);
  for (const std::string_view merge : file.strings_at("tokenizer.ggml.merges")) v.merges.emplace_back(merge);
  if (file.find("tokenizer.ggml.token_type")) {
    for (const int64_t type : file.integers_at("tokenizer.ggml.token_type")) {
      v.types.push_back(static_cast<int32_t>(type));
    }
  }
  if (file.find("tokenizer.ggml.pre")) v.pre = file.string_at("tokenizer.ggml.pre");
  const auto id = [&](const char* key) {
    if (!file.find(key)) return -1;
    const int64_t value = file.integer_at(key);
    check(value >= 0 && value < static_cast<int64_t>(v.tokens.size()), "{}: '{}' is {}, there are {} tokens",
          file.path(), key, value, v.tokens.size());
    return static_cast<int32_t>(value);
  };
  v.bos = id("tokenizer.ggml.bos_token_id");
  v.eos = id("tokenizer.ggml.eos_token_id");
  const auto flag = [&](const char* key) { return file.find(key) != nullptr && file.bool_at(key); };
  v.add_bos = flag("tokenizer.ggml.add_bos_token");
  v.add_eos = flag("tokenizer.ggml.add_eos_token");
  return v;
}

}  // namespace pg
