#pragma once
// Golden cases: files with inputs, results and gradients of one operation, computed by other software
// (docs/GOLDENS.md).
#include <cstdio>
#include <string>
#include <vector>

#include "nn/files/safetensors.h"
#include "tensor/tensor.h"

namespace pg::tools {

// The error of one tensor of a replayed case.
struct GoldenError {
  std::string name;  // "out.0", "grad.1", …
  double error = 0;  // ‖got − want‖ / ‖want‖; infinite if integers, or positions of infinities or NaN, differ
  double tolerance = 0;
  bool ok() const { return error <= tolerance; }
};

// The result of replaying a case: the error of every tensor.
struct GoldenResult {
  std::string name;  // of the case
  std::vector<GoldenError> tensors;
  bool ok() const;
  std::string to_string() const;  // one line
};

// ‖got − want‖ / ‖want‖ over all elements; ‖got‖ if all wanted elements are 0. Infinite if infinities or NaN are at
// different positions, or if `want` has an integer dtype and an element differs. Throws Error if the shapes differ;
// `name` is used in the message.
double relative_error(const std::string& name, const Tensor& got, const Tensor& want);
// 1e-10 for f64, 1e-5 for f32, 0 for integers.
double default_tolerance(DType dtype);

struct GoldenCase {
  std::string name;
  SafetensorsFile file;  // tensors and metadata of this case alone
};

// The cases of a file: one case, or those of an archive in order of name. Throws Error if the file is damaged or
// contains no case.
std::vector<GoldenCase> load_goldens(const std::string& path);

// Replays one case on the engine. Throws Error if the case is incomplete or names an op or attribute that the runner
// lacks, or if a result has a different shape or dtype.
GoldenResult replay_golden(const GoldenCase& golden);

// The case files that `paths` name. A folder stands for the *.safetensors files directly in it, ordered by name. Throws
// Error if a path does not exist or a folder has none.
std::vector<std::string> golden_files(const std::vector<std::string>& paths);

// `pg golden PATH…`: writes a line per case and a summary to `out`, or one object with `json`. Returns the exit status:
// 0 if every case is within tolerance, otherwise 1.
int run_golden(const std::vector<std::string>& paths, std::FILE* out = stdout, bool json = false);

}  // namespace pg::tools
