// Describes model files and token files.
#include "tools/pg/show/model_info.h"

#include <filesystem>
#include <fstream>
#include <type_traits>
#include <variant>

#include "nn/files/pretrained.h"
#include "nn/files/tensor_source.h"
#include "tasks/bpe/tokenizer_files.h"
#include "tasks/chat/chat.h"
#include "tasks/data/text_data.h"
#include "tasks/data/token_file.h"
#include "tensor/base/error.h"
#include "tensor/base/files/gguf.h"
#include "tensor/base/text.h"
#include "tools/pg/run/run_model.h"

namespace pg::tools {
namespace {

namespace fs = std::filesystem;
Json value_of(const GgufValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, GgufArray>) {
          return {{"array_of", name_of(v.type)}, {"count", v.count}};
        } else {
          return v;
        }
      },
      value.value);
}

// The sizes of a language model: keys of the metadata after "ARCHITECTURE.", and their names for readers.
struct Size {
  const char *key, *name;
};
constexpr Size kSizes[] = {{"block_count", "layers"},
                           {"attention.head_count", "heads"},
                           {"attention.head_count_kv", "heads of keys and values"},
                           {"embedding_length", "width"},
                           {"feed_forward_length", "hidden width"},
                           {"context_length", "context"}};

// Counts a tensor among the parameters and the element types.
void add_tensor(Json& json, const StoredType& stored, uint64_t bytes) {
  const auto elements = static_cast<int64_t>(bytes) / stored.bytes * stored.block;
  json["parameters"] = json["parameters"].get<int64_t>() + elements;
  Json& type = json["types"][stored.name];
  if (type.is_null()) type = {{"tensors", 0}, {"elements", 0}, {"bytes", 0}};
  type["tensors"] = type["tensors"].get<int64_t>() + 1;
  type["elements"] = type["elements"].get<int64_t>() + elements;
  type["bytes"] = type["bytes"].get<uint64_t>() + bytes;
}

// What the chat template is, if the model carries one.
void add_chat_template(Json& json, const ChatTemplate& format) {
  if (format) json["chat_template"] = format.about();
}

Json describe_gguf(const std::string& path) {
  const GgufFile file(path);
  Json json = {{"file", path}, {"format", fmt::format("GGUF {}", file.version())}};
  const bool known = file.find("general.architecture");
  const std::string architecture(known ? file.string_at("general.architecture") : "");
  if (known) json["architecture"] = architecture;
  Json sizes = Json::object();
  for (const Size& size : kSizes) {
    const GgufValue* value = file.find(architecture + "." + size.key);
    if (value && !std::holds_alternative<GgufArray>(value->value)) sizes[size.key] = value_of(*value);
  }
  json["sizes"] = sizes;
  json["parameters"] = 0;
  json["types"] = Json::object();
  for (const GgufTensor& tensor : file.tensors()) add_tensor(json, *tensor.type, tensor.bytes);
  if (file.find("tokenizer.ggml.model")) {
    json["tokenizer"] = {{"model", file.string_at("tokenizer.ggml.model")}};
    if (file.find("tokenizer.ggml.pre")) json["tokenizer"]["pre"] = file.string_at("tokenizer.ggml.pre");
    if (file.find("tokenizer.ggml.tokens")) {
      json["tokenizer"]["tokens"] = file.strings_at("tokenizer.ggml.tokens").size();
    }
  }
  const char* const jinja = "tokenizer.chat_template";
  add_chat_template(json, ChatTemplate(file.find(jinja) ? std::string(file.string_at(jinja)) : ""));
  for (const auto& [key, value] : file.metadata()) json["metadata"][std::string(key)] = value_of(value);
  return json;
}

Json describe_token_file(const std::string& path) {
  const TokenFileHeader h = TokenFile(path).header();
  return {{"file", path},       {"format", "token file"},  {"tokens", h.tokens},
          {"bytes", h.bytes},   {"texts", h.texts},        {"vocabulary", h.vocab_size},
          {"end_id", h.end_id}, {"bytes_per_id", h.width}, {"tokenizer_sha256", h.vocabulary}};
}

// A folder with config.json and safetensors.
Json describe_folder(const std::string& path) {
  const std::string config_path = fs::path(path) / "config.json";
  const std::string text = read_file(config_path);
  const Json config = Json::try_parse(shallow_json(text, config_path));
  check(config.is_object(), "{}: expected a JSON object, got '{}'", config_path, excerpt(text));
  Json json = {{"file", path}, {"format", "Hugging Face folder"}};
  if (config["model_type"].is_string()) json["architecture"] = config["model_type"];
  const TensorSource source = open_tensors(path);
  json["sizes"] = Json::object();
  try {
    const TransformerConfig c = pretrained_config(path, source);
    json["sizes"] = {{"block_count", c.n_layer},
                     {"attention.head_count", c.n_head},
                     {"attention.head_count_kv", c.kv_heads()},
                     {"embedding_length", c.n_embd},
                     {"feed_forward_length", c.hidden_width()},
                     {"context_length", c.block_size}};
  } catch (const Error& e) {
    json["not_supported"] = e.what();
  }
  json["parameters"] = 0;
  json["types"] = Json::object();
  for (const SourceTensor& tensor : source.tensors()) add_tensor(json, *tensor.type, tensor.data.size());
  try {
    const auto tokenizer = load_tokenizer(path);
    json["tokenizer"] = {{"tokens", tokenizer->vocab_size()}};
    if (tokenizer->end_id() >= 0) json["tokenizer"]["end"] = tokenizer->end_id();
  } catch (const Error& e) {
    json["tokenizer"] = {{"error", e.what()}};
  }
  add_chat_template(json, chat_template_of(path, source));
  return json;
}

// A value of a file's metadata on one line.
std::string one_line(const Json& value) {
  if (value.is_object()) return fmt::format("{} × {}", value["count"].dump(), value["array_of"].get<std::string>());
  return excerpt(value.is_string() ? value.get<std::string>() : value.dump(), 60);
}

void print_model(const Json& json) {
  show("file", json["file"].get<std::string>());
  show("format", json["format"].get<std::string>());
  if (json.contains("architecture")) {
    std::string model = one_line(json["architecture"]);
    for (const Size& size : kSizes) {
      if (json["sizes"].contains(size.key))
        model += fmt::format(", {} {}", size.name, one_line(json["sizes"][size.key]));
    }
    show("model", model);
  }
  show("parameters", json["parameters"].dump());
  for (const auto& [name, type] : json["types"].items()) {
    show("type", fmt::format("{}, tensors {}, elements {}, bytes {}", name, type["tensors"].dump(),
                             type["elements"].dump(), type["bytes"].dump()));
  }
  if (json.contains("tokenizer")) {
    std::string text;
    for (const auto& [name, value] : json["tokenizer"].items()) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, one_line(value));
    }
    show("tokenizer", text);
  }
  if (json.contains("chat_template")) show("chat", excerpt(json["chat_template"].text(), 200));
  if (json.contains("not_supported")) show("not read", json["not_supported"].get<std::string>());
  if (!json.contains("metadata")) return;
  for (const auto& [key, value] : json["metadata"].items()) {
    show("metadata", fmt::format("{} = {}", excerpt(key), one_line(value)));
  }
}

void print_token_file(const Json& json) {
  show("file", json["file"].get<std::string>());
  show("format", json["format"].get<std::string>());
  show("tokens", fmt::format("{} of {} bytes each, of {} texts with {} bytes", json["tokens"].dump(),
                             json["bytes_per_id"].dump(), json["texts"].dump(), json["bytes"].dump()));
  show("end", json["end_id"].get<int64_t>() < 0 ? "no token follows a text"
                                                : fmt::format("{} follows a text", json["end_id"].dump()));
  show("tokenizer",
       fmt::format("{} tokens, SHA-256 {}", json["vocabulary"].dump(), json["tokenizer_sha256"].get<std::string>()));
}

}  // namespace

Json describe_file(const std::string& name) {
  std::error_code error;
  const std::string path = name == "smollm2" ? pretrained_path(name) : name;
  if (is_gguf_path(path)) return describe_gguf(path);
  if (is_token_file(path)) return describe_token_file(path);
  if (!fs::is_directory(path, error) || !is_pretrained(path)) return nullptr;
  return fs::exists(fs::path(path) / "config.json") ? describe_folder(path) : describe_gguf(gguf_files_in(path)[0]);
}

void print_file(const Json& json) { json.contains("tokenizer_sha256") ? print_token_file(json) : print_model(json); }

void show(const std::string& what, const std::string& value) { fmt::print("{:<15}{}\n", what, value); }

}  // namespace pg::tools
