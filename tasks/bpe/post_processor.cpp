// Post-processors: templates of special tokens around a text.
#include "tasks/bpe/post_processor.h"

#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/table.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

void add(PostProcessor& all, const Json& part);

std::vector<int32_t> ids_of(const Json& tokens, const std::string& name) {
  const Json& ids = tokens[name]["ids"];
  check(ids.is_array(), "tokenizer: the template names '{}', which is not among its special_tokens", excerpt(name, 40));
  std::vector<int32_t> result;
  for (const Json& id : ids) {
    check(id.is_integer_in(0, std::numeric_limits<int32_t>::max() - 1),
          "tokenizer: expected ids of the special token '{}' in the template, got {}", excerpt(name, 40),
          excerpt(id.dump(), 40));
    result.push_back(id.get<int32_t>());
  }
  return result;
}

void add_template(PostProcessor& all, const Json& part) {
  const Json& single = part["single"];
  check(single.is_array(), "tokenizer: a TemplateProcessing needs a list \"single\"");
  int texts = 0;
  std::vector<int32_t> before, after;
  for (const Json& item : single) {
    const Json& special = item["SpecialToken"]["id"];
    if (special.is_string()) {
      const auto ids = ids_of(part["special_tokens"], special.text());
      std::vector<int32_t>& side = texts == 0 ? before : after;
      side.insert(side.end(), ids.begin(), ids.end());
    } else {
      check(item["Sequence"]["id"] == "A", "tokenizer: expected a SpecialToken or the Sequence A in a template, got {}",
            excerpt(item.dump()));
      ++texts;
    }
  }
  check(texts == 1, "tokenizer: a template must contain the Sequence A once, got it {} times", texts);
  all.before.insert(all.before.begin(), before.begin(), before.end());
  all.after.insert(all.after.end(), after.begin(), after.end());
}

struct ProcessorType {
  const char* name;
  void (*add)(PostProcessor&, const Json&);
};
const std::vector<ProcessorType>& processor_types() {
  static const std::vector<ProcessorType> types = {
      {"ByteLevel", [](PostProcessor&, const Json&) {}},
      {"TemplateProcessing", add_template},
      {"Sequence", [](PostProcessor& all, const Json& part) {
         const Json& processors = part["processors"];
         check(processors.is_array(), "tokenizer: the post-processor Sequence needs a list \"processors\"");
         for (const Json& inner : processors) add(all, inner);
       }}};
  return types;
}

void add(PostProcessor& all, const Json& part) {
  if (part.is_null()) return;
  check(part["type"].is_string(), "tokenizer: expected a post-processor with a \"type\", or null");
  const std::string& type = part["type"].text();
  find_row(processor_types(), "tokenizer: type of a post-processor", type).add(all, part);
}

}  // namespace

PostProcessor post_processor(std::string_view json) {
  PostProcessor all;
  const Json parsed = sorted_by_key(Json::try_parse(json));
  all.json = parsed.dump();
  add(all, parsed);
  return all;
}

PostProcessor surrounding(const std::vector<std::pair<int32_t, std::string>>& before,
                          const std::vector<std::pair<int32_t, std::string>>& after) {
  const auto text = [](const char* id, int type) { return Json{{"Sequence", {{"id", id}, {"type_id", type}}}}; };
  Json single = Json::array(), pair = Json::array(), tokens = Json::object();
  const auto add_tokens = [&](Json& side, const auto& specials, int type) {
    for (const auto& [id, content] : specials) {
      side.push_back({{"SpecialToken", {{"id", content}, {"type_id", type}}}});
      tokens[content] = {{"id", content}, {"ids", {id}}, {"tokens", {content}}};
    }
  };
  add_tokens(single, before, 0);
  single.push_back(text("A", 0));
  add_tokens(single, after, 0);
  pair = single;
  add_tokens(pair, before, 1);
  pair.push_back(text("B", 1));
  add_tokens(pair, after, 1);
  const Json all = {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
  return post_processor(all.dump());
}

}  // namespace pg
