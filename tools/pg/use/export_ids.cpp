// eos_token_id, bos_token_id and pad_token_id of an exported folder.
#include "tools/pg/use/export_ids.h"

#include <algorithm>
#include <filesystem>

#include "tasks/bpe/tokenizer_files.h"
#include "tasks/data/text_data.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tensor/base/files/gguf.h"
#include "tensor/base/text.h"

namespace pg::tools {
namespace {

namespace fs = std::filesystem;

// The object in a JSON file, or an empty one if there is no such file.
Json object_in(const fs::path& path) {
  if (!fs::is_regular_file(path)) return Json::object();
  const std::string name = path.string(), text = read_file(name);
  Json json = Json::try_parse(shallow_json(text, name));
  check(json.is_object(), "{}: expected a JSON object, got '{}'", name, excerpt(text));
  return json;
}

void add(std::vector<int32_t>& ids, int32_t id) {
  if (id >= 0 && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

// The id or the ids at a key; none if it is missing or null.
std::vector<int32_t> ids_at(const Json& json, const char* key, int64_t tokens, const std::string& where) {
  std::vector<int32_t> ids;
  const Json& value = json[key];
  if (value.is_null()) return ids;
  const Json list = value.is_array() ? value : Json::array({value});
  for (const Json& id : list) {
    check(id.is_integer_in(0, tokens - 1), "{}: \"{}\" must be a token of the model, below {}, got {}", where, key,
          tokens, excerpt(id.dump(), 40));
    add(ids, id.get<int32_t>());
  }
  return ids;
}

std::optional<int32_t> first_of(const std::vector<int32_t>& ids) {
  return ids.empty() ? std::nullopt : std::optional(ids[0]);
}

// What the source states itself.
TokenIds stated_ids(const std::string& run, int64_t tokens) {
  TokenIds ids;
  ids.generation = Json::object();
  std::string path = pretrained_path(run);
  if (path.empty()) return ids;
  if (fs::is_directory(path) && !fs::exists(fs::path(path) / "config.json")) path = gguf_files_in(path).at(0);
  if (!fs::is_directory(path)) {
    const GgufVocabulary v = gguf_vocabulary(GgufFile(path));
    add(ids.eos, v.eos);
    if (v.bos >= 0) ids.bos = v.bos;
    return ids;
  }
  const std::string config = (fs::path(path) / "config.json").string();
  const std::string generation = (fs::path(path) / "generation_config.json").string();
  ids.generation = object_in(generation);
  const auto read = [&](const Json& json, const std::string& where) {
    for (const int32_t id : ids_at(json, "eos_token_id", tokens, where)) add(ids.eos, id);
    if (!ids.bos) ids.bos = first_of(ids_at(json, "bos_token_id", tokens, where));
    if (!ids.pad) ids.pad = first_of(ids_at(json, "pad_token_id", tokens, where));
  };
  read(ids.generation, generation);
  read(object_in(config), config);
  return ids;
}

}  // namespace

TokenIds token_ids_of(const std::string& run, const RunModel& model) {
  TokenIds stated = stated_ids(run, model.model->config.vocab_size), ids;
  if (const auto* tokenizer = dynamic_cast<const BpeTokenizer*>(model.tokenizer.get())) {
    try {
      if (model.chat_template) {
        const ChatEncoder chat(*tokenizer, model.chat_template);
        add(ids.eos, chat.end_id());
        if (!stated.bos) stated.bos = chat.begin_id();
      }
    } catch (const Error&) {  // a template that is not supported is exported as it is
    }
  }
  for (const int32_t id : stated.eos) add(ids.eos, id);
  add(ids.eos, model.tokenizer->end_id());
  ids.bos = stated.bos;
  ids.pad = stated.pad ? stated.pad : first_of(ids.eos);
  ids.generation = std::move(stated.generation);
  return ids;
}

void write_token_ids(const TokenIds& ids, const std::string& folder) {
  const fs::path to(folder);
  Json config = object_in(to / "config.json"), generation = ids.generation;
  for (Json* const json : {&config, &generation}) {
    if (!ids.eos.empty()) (*json)["eos_token_id"] = ids.eos.size() == 1 ? Json(ids.eos[0]) : Json(ids.eos);
    if (ids.bos) (*json)["bos_token_id"] = *ids.bos;
    if (ids.pad) (*json)["pad_token_id"] = *ids.pad;
  }
  write_file_atomically((to / "config.json").string(), config.dump(2) + "\n");
  write_file_atomically((to / "generation_config.json").string(), generation.dump(2) + "\n");
}

}  // namespace pg::tools
