// pg report: runs and evaluations as one HTML file.
#include <ctime>
#include <map>
#include <regex>
#include <set>

#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/show/report_folder.h"
#include "tools/report/page.h"

namespace pg::tools {
namespace {

constexpr size_t kPointsPerCurve = 600, kEpisodes = 100;

struct ReportOptions {
  std::vector<std::string> folders;
  std::string out;
  int64_t samples = 20000;
};

std::string dump(const Json& json) { return json.dump(-1, Json::Utf8::replace); }

// Null for what is not finite: then the curve has a gap.
Json numbers(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double x : values) all.push_back(std::strtod(fmt::format("{:.6g}", x).c_str(), nullptr));
  return all;
}

std::string name_of(const ReportData& data, const std::vector<size_t>& runs) {
  const std::string& first = data.sources[runs[0]].name;
  if (runs.size() == 1) return first;
  std::string seeds;
  for (const size_t i : runs) {
    const RunValues& config = data.sources[i].config;
    seeds += (seeds.empty() ? "" : ", ") + (config.contains("seed") ? config.at("seed") : "?");
  }
  return fmt::format("{} ({} runs, seeds {})", first, runs.size(), seeds);
}

// Names without the date of pg's folders, where they differ without it.
void shorten_names(std::vector<ReportSource>& sources) {
  const std::regex date("(^|: )[0-9]{8}-[0-9]{6}_(?=.)");
  std::map<std::string, int> uses;
  for (const ReportSource& source : sources) ++uses[std::regex_replace(source.name, date, "$1")];
  for (ReportSource& source : sources) {
    const std::string name = std::regex_replace(source.name, date, "$1");
    if (uses[name] == 1) source.name = name;
  }
}

// The runs by group, and for each metric the lines of the groups that have it.
void add_curves(Json& json, const ReportData& data) {
  std::vector<RunValues> configs;
  for (const ReportSource& source : data.sources)
    configs.push_back(source.kind == "eval" ? RunValues{} : source.config);
  const std::vector<std::vector<size_t>> groups = seed_groups(configs);
  json["groups"] = Json::array();
  std::vector<std::string> metrics;  // in the order of their first source, which is alphabetical in each
  for (const std::vector<size_t>& runs : groups) {
    json["groups"].push_back({{"name", name_of(data, runs)}, {"sources", runs}});
    for (const size_t i : runs) {
      for (const auto& [name, points] : data.sources[i].curves) {
        if (std::ranges::find(metrics, name) == metrics.end()) metrics.push_back(name);
      }
    }
  }
  json["curves"] = Json::array();
  for (const std::string& metric : metrics) {
    Json lines = Json::array();
    for (size_t g = 0; g < groups.size(); ++g) {
      std::vector<const CurvePoints*> points;
      for (const size_t i : groups[g]) {
        const auto found = data.sources[i].curves.find(metric);
        if (found != data.sources[i].curves.end()) points.push_back(&found->second);
      }
      if (points.empty()) continue;
      const Band band = thinned(band_of(points), kPointsPerCurve);
      Json line = {{"group", g}, {"x", band.x}, {"mean", numbers(band.mean)}};
      if (band.low != band.high) {
        line["low"] = numbers(band.low);
        line["high"] = numbers(band.high);
      }
      if (band.steps_per_point > 1) line["steps_per_point"] = band.steps_per_point;
      if (groups[g].size() > 1) line["runs"] = band.runs;
      lines.push_back(std::move(line));
    }
    json["curves"].push_back({{"name", metric}, {"lines", std::move(lines)}});
  }
}

// At most `most` samples, evenly spaced, as a JSON array. Each source keeps some.
std::string sample_array(const ReportData& data, int64_t most, size_t& kept) {
  const auto total = std::ssize(data.samples);
  const int64_t shown = most == 0 ? total : std::min(most, total);
  std::string text = "[";
  kept = 0;
  for (int64_t i = 0; i < total; ++i) {
    const bool first_of_source =
        i == 0 || data.sample_sources[static_cast<size_t>(i)] != data.sample_sources[static_cast<size_t>(i) - 1];
    if (!first_of_source && i * shown / total == (i - 1) * shown / total) continue;
    text += (kept++ ? ",\n" : "\n") + data.samples[static_cast<size_t>(i)];
  }
  return text + "\n]";
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
  return text;
}

int report(const ReportOptions& o) {
  ReportData data;
  std::set<std::string> seen;
  for (const std::string& folder : o.folders) {
    if (seen.insert(folder).second) read_report_folder(data, folder);
  }
  shorten_names(data.sources);
  size_t kept = 0;
  const std::string samples = sample_array(data, o.samples, kept);
  Json json = {{"kind", "runs"}, {"made", now_text()}, {"version", version()}, {"sources", Json::array()}};
  for (ReportSource& source : data.sources) {
    json["sources"].push_back({{"name", source.name},
                               {"path", source.path},
                               {"kind", source.kind},
                               {"config", source.config},
                               {"health", std::move(source.health)},
                               {"missing", std::move(source.missing)}});
  }
  if (kept < data.samples.size()) {
    json["samples_left_out"] = data.samples.size() - kept;
    data.notes.add("samples", fmt::format("{} of {} are in this report, evenly spaced; --samples 0 takes all", kept,
                                          data.samples.size()));
  }
  add_curves(json, data);
  json["evaluations"] = std::move(data.evaluations);
  std::string episodes = "[";
  const size_t left_out = data.episodes.size() - std::min(kEpisodes, data.episodes.size());
  for (size_t i = left_out; i < data.episodes.size(); ++i) episodes += (i == left_out ? "" : ",") + data.episodes[i];
  if (left_out > 0) data.notes.add("episodes", fmt::format("the first {} are left out", left_out));
  json["notes"] = data.notes.sentences();
  std::string text = dump(json);
  text.pop_back();
  text += ",\"episodes\":" + episodes + "]}";

  const std::string out = o.out.empty() ? o.folders[0] + "/report.html" : o.out;
  const std::string title = data.sources.size() == 1
                                ? data.sources[0].name
                                : fmt::format("{} and {} more", data.sources[0].name, data.sources.size() - 1);
  const std::string page = report_page(title, text, samples);
  write_file_atomically(out, page);
  for (const std::string& note : data.notes.sentences()) remark(stderr, "{}\n", note);
  fmt::print("{}: {} {}, {} samples, {:.1f} MB\n", out, data.sources.size(),
             data.sources.size() == 1 ? "run" : "runs or models", kept, static_cast<double>(page.size()) / 1e6);
  flush_output();
  return 0;
}

}  // namespace

Command report_command() {
  const auto o = std::make_shared<ReportOptions>();
  return {
      .name = "report",
      .about = "runs and evaluations as one HTML file: curves, health checks, responses, episodes",
      .fields = {not_in_files({"out", &o->out, "the file to write; by default report.html in the first folder"}),
                 {"samples", &o->samples, "responses in the report, evenly spaced, at most; 0: all", whole_from(0)}},
      .run = [o](Given&) { return report(*o); },
      .arguments = {{"folders", &o->folders, "folders of runs, and of evaluations (pg eval --out)"}}};
}

}  // namespace pg::tools
