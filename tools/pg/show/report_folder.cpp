// Reads the folders of runs and evaluations for a report.
#include "tools/pg/show/report_folder.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tasks/data/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"
#include "tools/pg/cli/options.h"

namespace pg::tools {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNotesPerFile = 10;

std::string dump(const Json& json) { return json.dump(-1, Json::Utf8::replace); }

bool exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The text with U+FFFD for bytes that are no UTF-8.
std::string repaired(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    const size_t length = first_character(text).length;
    all += length == 0 ? "\xef\xbf\xbd" : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return all;
}

// A JSON value, or null. Names the reason in `why`.
Json parsed(std::string_view text, std::string& why) {
  try {
    Json json = Json::try_parse(shallow_json(text, "JSON"));
    if (!json.is_discarded()) return json;
    why = "it is no JSON";
  } catch (const Error&) {
    why = "it nests too deep";
  }
  return nullptr;
}

// The KIND of "# pg KIND" in the first line of config.yaml.
std::string kind_in(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line.starts_with("# pg ") ? line.substr(5, line.find_first_of(" \r", 5) - 5) : "";
}

std::string last_name(const std::string& folder) {
  fs::path path = fs::path(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  const std::string name = path.filename().string();
  return name.empty() || name == "." ? folder : name;
}

void read_metrics(ReportSource& source, ReportNotes& notes) {
  const std::string path = source.path + "/metrics.jsonl";
  std::map<std::string, int64_t> not_finite;
  const bool there = read_jsonl(path, notes, [&](const Json& object, int64_t line) {
    if (!object["step"].is_integer_in(INT64_MIN, INT64_MAX)) {
      notes.add(path, fmt::format("line {} has no whole number \"step\"; its values are not in the curves", line));
      return;
    }
    const auto step = object["step"].get<int64_t>();
    for (const auto& [name, value] : object.items()) {
      if (name == "step") continue;
      if (value.is_number()) {
        source.curves[name][step] = value.get<double>();
      } else if (value.is_null()) {
        ++not_finite[name];
      } else {
        notes.add(path, fmt::format("line {}: \"{}\" is no number", line, excerpt(name)));
      }
    }
  });
  for (const auto& [name, count] : not_finite) {
    notes.add(path, fmt::format("\"{}\" was not finite {} times: the curve has gaps there", excerpt(name), count));
  }
  if (!there) {
    source.missing.push_back("no metrics.jsonl: the run has not made a step, or the file is gone; there are no curves");
  }
}

void read_health(ReportSource& source, ReportNotes& notes) {
  const std::string path = source.path + "/health.jsonl";
  std::vector<Json> checks;
  const auto check_of = [&](const std::string& name) -> Json& {
    for (Json& check : checks) {
      if (check["name"] == name) return check;
    }
    checks.push_back({{"name", name}, {"ok", 0}, {"failed", Json::array()}});
    return checks.back();
  };
  const bool there = read_jsonl(path, notes, [&](const Json& object, int64_t line) {
    try {
      const auto step = object.at("step").get<int64_t>();
      for (const Json& name : object.at("ok")) {
        Json& check = check_of(name.get<std::string>());
        check["ok"] = check["ok"].get<int64_t>() + 1;
        check["last"] = "ok";
      }
      for (const Json& failed : object.at("failed")) {
        Json& check = check_of(failed.at("name").get<std::string>());
        Json& spans = check["failed"];
        // Steps in a row become one span.
        if (check.value("last", "") == "failed" && !spans.empty()) {
          spans.back()[1] = step;
        } else {
          spans.push_back({step, step});
        }
        check["count"] = check.value("count", int64_t{0}) + 1;
        check["last"] = "failed";
        check["why"] = failed.at("why").get<std::string>();
        check["why_step"] = step;
      }
    } catch (const Error&) {
      notes.add(path, fmt::format("line {} is no result of health checks", line));
    }
  });
  for (Json& check : checks) source.health.push_back(std::move(check));
  if (!there && source.kind == "rl") source.missing.push_back("no health.jsonl: health checks were not recorded");
}

// Adds what a line says, with where it is from. A line without a response is kept as it is.
void add_sample(ReportData& data, Json& object, size_t source, const std::string& path, int64_t line) {
  if (!object.contains("response") || !object["response"].is_string()) {
    data.notes.add(path, fmt::format("line {} has no text \"response\"; the report shows what it has", line));
  }
  object["source"] = source;
  object["line"] = line;
  data.samples.push_back(dump(object));
  data.sample_sources.push_back(source);
}
void add_broken(ReportData& data, const std::string& text, size_t source, int64_t line) {
  data.samples.push_back(dump({{"broken", text}, {"source", source}, {"line", line}}));
  data.sample_sources.push_back(source);
}

void read_run(ReportData& data, const std::string& folder) {
  ReportSource source{.name = last_name(folder), .path = folder, .kind = kind_in(folder + "/config.yaml")};
  source.config = config_values(folder + "/config.yaml");
  if (source.config.empty()) {
    source.missing.push_back("no readable config.yaml: the options of the run are not known");
  }
  read_metrics(source, data.notes);
  read_health(source, data.notes);
  const size_t number = data.sources.size();
  const std::string samples = folder + "/samples.jsonl", episodes = folder + "/episodes.jsonl";
  const bool has_samples = read_jsonl(
      samples, data.notes, [&](Json& o, int64_t line) { add_sample(data, o, number, samples, line); },
      [&](const std::string& text, int64_t line) { add_broken(data, text, number, line); });
  const bool has_episodes = read_jsonl(episodes, data.notes, [&](Json& o, int64_t) {
    o["source"] = number;
    data.episodes.push_back(dump(o));
  });
  if (!has_samples && !has_episodes) {
    source.missing.push_back("no samples.jsonl: the run has recorded no responses");
  }
  data.sources.push_back(std::move(source));
}

// The object in a file; null, and a note, if it is damaged.
Json object_in(const std::string& path, ReportNotes& notes) {
  if (!exists(path)) return nullptr;
  std::string why;
  Json json = parsed(repaired(read_file(path)), why);
  if (json.is_object()) return json;
  notes.add(path, fmt::format("{}; it is left out", why.empty() ? "it is no JSON object" : why));
  return nullptr;
}

// The text of a member of an object; empty if it has none.
std::string text_in(const Json& object, const char* name) {
  const Json* found = object.find(name);
  if (!found) return "";
  return found->is_string() ? found->text() : dump(*found);
}

void read_evaluation(ReportData& data, const std::string& folder) {
  const std::string path = folder + "/results.jsonl";
  const Json settings = object_in(folder + "/evaluation.json", data.notes);
  Json summary = object_in(folder + "/summary.json", data.notes);
  const size_t first = data.sources.size();
  const auto add_model = [&](const Json& model) {
    const size_t i = data.sources.size() - first;
    const std::string run = model.is_object() ? text_in(model, "run") : "";
    ReportSource source{
        .name = fmt::format("{}: {}", static_cast<char>('A' + i % 26), run.empty() ? "model" : last_name(run)),
        .path = folder,
        .kind = "eval"};
    if (model.is_object()) source.config = {{"run", run}, {"step", text_in(model, "step")}};
    if (settings.is_object()) {
      for (const char* name : {"task", "problems", "samples", "greedy", "temperature", "seed"}) {
        if (settings.contains(name)) source.config[name] = text_in(settings, name);
      }
    }
    data.sources.push_back(std::move(source));
  };
  if (settings.is_object() && settings.contains("models") && settings["models"].is_array()) {
    for (const Json& model : settings["models"]) add_model(model);
  }
  const auto source_of = [&](const Json& object) {
    const Json* model = object.find("model");
    const int64_t i = model && model->is_integer_in(INT64_MIN, INT64_MAX) ? model->get<int64_t>() : 0;
    const auto models = static_cast<int64_t>(data.sources.size() - first);
    return first + static_cast<size_t>(std::clamp<int64_t>(i, 0, models - 1));
  };
  if (data.sources.size() == first) add_model(nullptr);
  const bool has_results = read_jsonl(
      path, data.notes,
      [&](Json& object, int64_t line) {
        const size_t source = source_of(object);
        object["step"] = object.contains("step") ? object["step"] : Json(nullptr);
        add_sample(data, object, source, path, line);
      },
      [&](const std::string& text, int64_t line) { add_broken(data, text, first, line); });
  ReportSource& source = data.sources[first];
  if (!has_results) source.missing.push_back("no results.jsonl: the evaluation has no responses yet");
  if (!summary.is_object()) {
    source.missing.push_back("no summary.json: the evaluation is not finished, so it has no table");
    return;
  }
  summary["first_source"] = first;
  data.evaluations.push_back(std::move(summary));
}

}  // namespace

void ReportNotes::add(const std::string& file, const std::string& sentence) {
  const auto found = std::ranges::find(files_, file, &std::pair<std::string, std::vector<std::string>>::first);
  if (found == files_.end()) {
    files_.push_back({file, {sentence}});
  } else {
    found->second.push_back(sentence);
  }
}

std::vector<std::string> ReportNotes::sentences() const {
  std::vector<std::string> all;
  for (const auto& [file, sentences] : files_) {
    const size_t shown = std::min(kNotesPerFile, sentences.size());
    for (size_t i = 0; i < shown; ++i) all.push_back(fmt::format("{}: {}", file, sentences[i]));
    if (sentences.size() > shown) all.push_back(fmt::format("{}: {} more", file, sentences.size() - shown));
  }
  return all;
}

bool read_jsonl(const std::string& path, ReportNotes& notes, const OnObject& f, const OnBroken& broken) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    if (exists(path)) notes.add(path, "it cannot be read");
    return exists(path);
  }
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    const bool cut = in.eof();  // no newline follows
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::string why;
    const bool sound = is_utf8(line);
    Json object = parsed(sound ? line : line = repaired(line), why);
    if (object.is_object()) {
      if (!sound) notes.add(path, fmt::format("line {} has bytes that are no UTF-8; they are shown as U+FFFD", number));
      f(object, number);
      continue;
    }
    if (why.empty()) why = "it is no JSON object";
    notes.add(path, cut ? fmt::format("line {}, the last one, is cut off; the run may still be writing it", number)
                        : fmt::format("line {} is broken: {}", number, why));
    if (broken && !cut) broken(line, number);
  }
  if (in.bad()) notes.add(path, "it cannot be read to its end");
  return true;
}

void read_report_folder(ReportData& data, const std::string& folder) {
  std::error_code error;
  check(fs::exists(folder, error), "report: {}: there is no such folder", folder);
  check(fs::is_directory(folder, error), "report: {}: expected the folder of a run or an evaluation, it is a file",
        folder);
  const auto has = [&](const char* name) { return exists(folder + "/" + name); };
  if (has("evaluation.json") || has("results.jsonl")) return read_evaluation(data, folder);
  check(has("config.yaml") || has("metrics.jsonl") || has("samples.jsonl"),
        "report: {}: it is no folder of a run or an evaluation: it has no config.yaml, metrics.jsonl or results.jsonl",
        folder);
  read_run(data, folder);
}

}  // namespace pg::tools
