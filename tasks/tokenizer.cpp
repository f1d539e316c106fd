// Reads any tokenizer from JSON; text that one token adds.
#include "tasks/tokenizer.h"

#include <nlohmann/json.hpp>

#include "tasks/char_tokenizer.h"
#include "tasks/token_list.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

struct Type {
  const char* name;
  std::unique_ptr<Tokenizer> (*read)(std::string_view json);
};
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

}  // namespace

std::string Tokenizer::continuation(int32_t before, int32_t id) const {
  if (before < 0) return decode({&id, 1});
  const int32_t both[] = {before, id};
  return decode(both).substr(decode({&before, 1}).size());
}

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  check(json.is_object() && json.contains("type") && json["type"].is_string(),
        "tokenizer: expected a JSON object with a \"type\", got {:.80}", text);
  std::string known;
  for (const Type& type : kTypes) {
    if (json["type"] == type.name) return type.read(text);
    known += fmt::format(" {}", type.name);
  }
  fail("tokenizer: the type '{:.40}' is not known; known are:{}", json["type"].get<std::string>(), known);
}

}  // namespace pg
