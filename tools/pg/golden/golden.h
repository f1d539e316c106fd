#pragma once
// Golden cases: files with inputs, results and gradients of one operation, made elsewhere (docs/GOLDENS.md).
#include <cstdio>
#include <string>
#include <vector>

#include "nn/safetensors.h"
#include "tools/pg/golden/result.h"

namespace pg::tools {

struct GoldenCase {
  std::string name;
  SafetensorsFile file;  // tensors and metadata of this case alone
};

// The cases of a file: one, or those of an archive, by name. Error when the file is damaged or holds no case.
std::vector<GoldenCase> load_goldens(const std::string& path);

// Replays one case on the engine. Error when it is incomplete, names an op or attribute that the runner does not know,
// or when a result's shape or dtype is another.
GoldenResult replay_golden(const GoldenCase& golden);

// The case files that `paths` name: a folder stands for the *.safetensors files directly in it, by name.
// Error when a path does not exist or a folder has none.
std::vector<std::string> golden_files(const std::vector<std::string>& paths);

// `pg golden PATH…`: writes a line per case and a summary to `out`, or with `json` one object. Exit status: 0 when
// every case is within tolerance, 1 if not.
int run_golden(const std::vector<std::string>& paths, std::FILE* out = stdout, bool json = false);

}  // namespace pg::tools
