#pragma once
// The folder of an evaluation, from which it goes on after an interruption.
//   evaluation.json   what is evaluated: models, task and options
//   results.jsonl     one JSON object per response: model by model, problem by problem
//   summary.json, summary.md   written when all responses are there
//   audit.jsonl       with --audit, then too: verdicts of the grader to look at
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "rl/text/evaluation.h"
#include "tensor/base/json.h"
#include "tools/pg/run/folder_lock.h"

namespace pg::tools {

// A line of results.jsonl without its newline, and the response of such a line. The text of a response is stored as
// UTF-8: bytes that are none become U+FFFD. Error naming `where` for a line that lacks something.
std::string eval_line(int64_t model, const rl::EvalResponse& response);
rl::EvalResponse eval_response(const std::string& line, int64_t model, const std::string& where);

// SHA-256 of the weights and the configuration of a model: equal for equal models, wherever they are stored.
std::string weights_hash(Transformer& model);

class EvalFolder {
 public:
  // A new folder, or one that an evaluation with the same settings has begun. `settings` has the models as an array
  // "models" of objects; their "run", a path, may differ. Throws Error that names the first setting that differs, for a
  // folder with other files, and if another process holds the folder.
  EvalFolder(std::string path, const Json& settings);

  // The responses that are there, at most `models` times `problems` times `samples`: of whole problems, in order. A
  // line that was cut off and the beginning of a problem are removed from the file. Throws Error that names the line
  // for one that is damaged or out of order.
  std::vector<rl::EvalResponse> read(int64_t models, int64_t problems, int64_t samples);
  // Appends lines and gives them to the system.
  void append(const std::vector<std::string>& lines);
  void write(const std::string& name, const std::string& text) const;
  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  std::string path_;
  FolderLock lock_;
  std::unique_ptr<std::FILE, Close> results_;  // opened by the first append()
};

}  // namespace pg::tools
