// Lines of results, and the folder that holds them.
#include "tools/pg/eval/eval_results.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "nn/module.h"
#include "nn/transformer_config.h"
#include "tasks/data/text_data.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tensor/base/sha256.h"
#include "tensor/base/text.h"

namespace pg::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWhat = "evaluation folder";

std::string dump(const Json& json, int indent = -1) { return json.dump(indent, Json::Utf8::replace); }

std::string made(std::string path) {
  make_folder(path);
  return path;
}

// Error for the first setting that differs. Paths may: equal weights are the same model.
void check_same(const Json& before, const Json& now, const std::string& path) {
  const auto differ = [&](const std::string& name, const Json& a, const Json& b) {
    check(a == b, "{} {}: it has {} {}, this command {}; take the same options, or another folder", kWhat, path, name,
          dump(a), dump(b));
  };
  for (const auto& [name, value] : now.items()) {
    check(before.contains(name), "{} {}: its evaluation.json lacks '{}'", kWhat, path, name);
    if (name != "models") differ(name, before[name], value);
  }
  const Json &old_models = before["models"], &models = now["models"];
  check(old_models.is_array(), "{} {}: its evaluation.json has no list of models", kWhat, path);
  differ("a number of models of", old_models.size(), models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    check(old_models[i].is_object() && old_models[i].contains("weights"), "{} {}: its evaluation.json lacks weights",
          kWhat, path);
    check(old_models[i]["weights"] == models[i]["weights"],
          "{} {}: it was made with other weights than those of {} (model {}); take another folder", kWhat, path,
          models[i].value("run", ""), i + 1);
  }
}

}  // namespace

std::string eval_line(int64_t model, const rl::EvalResponse& r) {
  Json line = {
      {"model", model},         {"problem", r.problem},   {"sample", r.sample},
      {"question", r.question}, {"response", r.response}, {"answer", r.answer ? Json(*r.answer) : Json(nullptr)},
      {"expected", r.expected}, {"reward", r.reward},     {"parts", Json::object()},
      {"solved", r.solved},     {"finished", r.finished}, {"length", r.length},
      {"subject", r.subject},   {"level", r.level}};
  for (const auto& [name, value] : r.parts) line["parts"][name] = value;
  if (!r.described.empty() && r.described != r.question) line["described"] = r.described;
  return dump(line);
}

rl::EvalResponse eval_response(const std::string& line, int64_t model, const std::string& where) {
  const Json json = Json::try_parse(shallow_json(line, where));
  check(json.is_object(), "{}: expected a JSON object, got '{}'", where, excerpt(line));
  rl::EvalResponse r;
  int64_t of = 0;
  try {
    json.at("model").get_to(of);
    json.at("problem").get_to(r.problem);
    json.at("sample").get_to(r.sample);
    json.at("question").get_to(r.question);
    json.at("response").get_to(r.response);
    if (!json.at("answer").is_null()) r.answer = json.at("answer").get<std::string>();
    json.at("expected").get_to(r.expected);
    json.at("reward").get_to(r.reward);
    for (const auto& [name, value] : json.at("parts").items()) r.parts.emplace_back(name, value.get<double>());
    json.at("solved").get_to(r.solved);
    json.at("finished").get_to(r.finished);
    json.at("length").get_to(r.length);
    json.at("subject").get_to(r.subject);
    json.at("level").get_to(r.level);
    r.described = json.value("described", "");  // not in all lines
  } catch (const Error& e) {
    fail("{}: it is no result: {}", where, e.what());
  }
  check(of == model, "{}: expected model {}, got {}", where, model, of);
  return r;
}

std::string weights_hash(Transformer& model) {
  std::string all = to_json(model.config);
  for (const auto& [name, tensor] : state_dict(model)) {
    const Tensor packed = tensor.contiguous_copy().to(Device{});
    const auto bytes = static_cast<size_t>(packed.numel()) * size_of(packed.dtype());
    all += fmt::format(" {} {}", name, sha256({static_cast<const char*>(packed.view().data), bytes}));
  }
  return sha256(all);
}

EvalFolder::EvalFolder(std::string path, const Json& settings)
    : path_(made(std::move(path))), lock_(path_, kWhat, "evaluating into") {
  std::error_code error;
  bool empty = true;
  for (fs::directory_iterator next(path_, error), end; !error && next != end; next.increment(error)) {
    const std::string name = next->path().filename().string();
    const std::string_view of = name_of_temporary(name);
    if (of == "evaluation.json" || of == "summary.json" || of == "summary.md" || of == "audit.jsonl") {
      fs::remove(next->path());  // left by a process that was killed while writing
    } else {
      empty = false;
    }
  }
  check(!error, "{} {}: cannot list its files: {}", kWhat, path_, error.message());
  if (empty) {
    write("evaluation.json", dump(settings, 2) + "\n");
    return;
  }
  check(fs::exists(file("evaluation.json")), "{} {}: it has files, but no evaluation.json; take a new folder", kWhat,
        path_);
  const std::string text = read_file(file("evaluation.json"));
  const Json before = Json::try_parse(shallow_json(text, file("evaluation.json")));
  check(before.is_object(), "{} {}: its evaluation.json is damaged: '{}'", kWhat, path_, excerpt(text));
  check_same(before, settings, path_);
}

std::vector<rl::EvalResponse> EvalFolder::read(int64_t models, int64_t problems, int64_t samples) {
  std::vector<rl::EvalResponse> all;
  const std::string path = file("results.jsonl");
  if (!fs::exists(path)) return all;
  const std::string text = read_file(path);
  size_t begin = 0, whole = 0;  // whole: where the last whole problem ends
  for (size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin)) {
    const auto row = std::ssize(all);
    const std::string where = fmt::format("{}, line {}", path, row + 1);
    check(row < models * problems * samples, "{}: expected {} lines, it has more", path, models * problems * samples);
    rl::EvalResponse r = eval_response(text.substr(begin, end - begin), row / (problems * samples), where);
    const int64_t problem = row / samples % problems, sample = row % samples;
    check(r.problem == problem && r.sample == sample, "{}: expected problem {}, sample {}, got {}, {}", where, problem,
          sample, r.problem, r.sample);
    all.push_back(std::move(r));
    if (std::ssize(all) % samples == 0) whole = end + 1;
  }
  if (whole == text.size()) return all;
  all.resize(all.size() - all.size() % static_cast<size_t>(samples));
  std::error_code error;
  fs::resize_file(path, whole, error);
  check(!error, "{}: cannot remove its last line, which was cut off: {}", path, error.message());
  return all;
}

void EvalFolder::append(const std::vector<std::string>& lines) {
  const std::string path = file("results.jsonl");
  if (!results_) {
    results_.reset(std::fopen(path.c_str(), "abe"));
    check(results_ != nullptr, "{}: {}", path, std::strerror(errno));
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const bool ok = std::fwrite(text.data(), 1, text.size(), results_.get()) == text.size();
  check(ok && std::fflush(results_.get()) == 0, "{}: cannot write: {}", path, std::strerror(errno));
}

void EvalFolder::write(const std::string& name, const std::string& text) const {
  write_file_atomically(file(name), text);
}

}  // namespace pg::tools
