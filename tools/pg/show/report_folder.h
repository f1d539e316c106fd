#pragma once
// Reads what `pg report` shows from the folders of runs and evaluations. Their files may be damaged or still being
// written: what cannot be read becomes a note with file and line, and everything else is kept.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tensor/base/json.h"
#include "tools/pg/show/report_curves.h"

namespace pg::tools {

// Sentences for the reader, each with a file and a line; of each file the first ten, and how many more there are.
class ReportNotes {
 public:
  void add(const std::string& file, const std::string& sentence);
  std::vector<std::string> sentences() const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> files_;  // in the order of their first sentence
};

// Calls f(object, line number) for each line of a JSONL file that is a JSON object. Bytes that are no UTF-8 are read as
// U+FFFD. A line that is no object goes to `broken` with its text, if there is one, and becomes a note, as does a last
// line that is cut off. A file that does not exist has no lines. False if there is none.
using OnObject = std::function<void(Json& object, int64_t line)>;
using OnBroken = std::function<void(const std::string& text, int64_t line)>;
bool read_jsonl(const std::string& path, ReportNotes& notes, const OnObject& f, const OnBroken& broken = {});

// A run, or one model of an evaluation.
struct ReportSource {
  std::string name, path, kind;  // kind: the command of pg that made it, "" if it is unknown; "eval" for a model
  RunValues config = {};
  std::map<std::string, CurvePoints> curves = {};  // by metric
  Json health = Json::array();   // {name, ok: steps, failed: [[first, last]], why, why_step} per check
  Json missing = Json::array();  // what the folder does not have, as sentences
};

struct ReportData {
  std::vector<ReportSource> sources;
  Json evaluations = Json::array();  // summary.json of each, with "sources": the numbers of its models
  // JSON objects: what samples.jsonl, or results.jsonl, says, with "source", "file" and "line".
  std::vector<std::string> samples;
  std::vector<size_t> sample_sources;  // of each
  std::vector<std::string> episodes;   // the same of episodes.jsonl
  ReportNotes notes;
};

// Adds a folder of a run or of an evaluation. Error if it is neither.
void read_report_folder(ReportData& data, const std::string& folder);

}  // namespace pg::tools
