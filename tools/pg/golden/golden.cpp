// Replays golden cases: reads files, runs forward and backward, compares.
#include "tools/pg/golden/golden.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "autograd/ops.h"
#include "nn/files/safetensors.h"
#include "tensor/base/json.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/golden/ops.h"

namespace pg::tools {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// The tensors of one case. It records which were used, to report the others.
class Case {
 public:
  explicit Case(const SafetensorsFile& file) : file_(file) {}

  const std::string& metadata(const std::string& key) const { return file_.metadata_at(key); }
  double tolerance(DType dtype) const {
    const auto found = file_.metadata.find("rtol");
    if (found == file_.metadata.end()) return default_tolerance(dtype);
    char* end = nullptr;
    const double rtol = std::strtod(found->second.c_str(), &end);
    check(!found->second.empty() && *end == 0 && rtol >= 0, "golden: {}: rtol: expected a number, got '{}'", file_.path,
          found->second);
    return rtol;
  }
  // Undefined if there is none of that name.
  Tensor find(const std::string& name) {
    const Tensor* tensor = file_.find(name);
    if (tensor) used_.insert(name);
    return tensor ? *tensor : Tensor{};
  }
  // "in.0", "in.1", … up to the first missing index.
  std::vector<Tensor> all(const std::string& prefix) {
    std::vector<Tensor> result;
    for (Tensor t; (t = find(fmt::format("{}.{}", prefix, result.size()))).defined();) result.push_back(t);
    return result;
  }
  void check_all_used() const {
    for (const auto& [name, tensor] : file_.tensors)
      check(used_.contains(name), "golden: {}: tensor '{}' is not one of in.0 …, out.0 …, grad_out, grad.0 …",
            file_.path, name);
  }

 private:
  const SafetensorsFile& file_;
  std::set<std::string> used_;
};

// The view of the stored tensor `x` that the op gets (docs/GOLDENS.md, "Inputs that are not contiguous").
Tensor laid_out(const Tensor& x, const std::string& layout) {
  if (layout == "transposed") return x.view_transpose(-2, -1);
  if (layout == "strided") return x.view_slice(-1, 0, x.size(-1), 2);
  check(layout == "expanded", "golden: unknown layout '{}'; known: transposed, strided, expanded", layout);
  Shape shape = x.shape();
  shape.insert(0, 3);
  return x.view_expand(shape);
}

void apply_layouts(std::vector<Tensor>& inputs, const GoldenAttributes& attributes) {
  for (const auto& [name, layout] : attributes.layout()) {
    size_t i = 0;
    while (i < inputs.size() && name != fmt::format("in.{}", i)) ++i;
    check(i < inputs.size(), "golden: layout of '{}': there is no such input", name);
    inputs[i] = laid_out(inputs[i], layout);
  }
}

void run_backward(const std::vector<Tensor>& outputs, const std::vector<Tensor>& cotangents) {
  check(cotangents.size() == outputs.size(), "golden: {} results, but {} gradients of them", outputs.size(),
        cotangents.size());
  if (outputs.size() == 1) {
    backward(outputs[0], cotangents[0]);
    return;
  }
  Tensor total;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor part = sum(mul(outputs[i], cotangents[i]));
    total = total.defined() ? add(total, part) : part;
  }
  backward(total);
}

// An infinite error becomes null.
Json to_json(const GoldenResult& result) {
  Json tensors = Json::array();
  for (const GoldenError& t : result.tensors) {
    tensors.push_back({{"name", t.name}, {"error", t.error}, {"tolerance", t.tolerance}});
  }
  return {{"name", result.name}, {"ok", result.ok()}, {"tensors", tensors}};
}

GoldenError compare(const std::string& name, const Tensor& got, const Tensor& want, const Case& source) {
  check(got.dtype() == want.dtype(), "golden: {}: expected {}, got {}", name, want.dtype(), got.dtype());
  return {name, relative_error(name, got, want), source.tolerance(want.dtype())};
}

}  // namespace

std::vector<GoldenCase> load_goldens(const std::string& path) {
  SafetensorsFile file = load_safetensors(path);
  if (file.metadata.contains("op")) return {{std::filesystem::path(path).stem().string(), std::move(file)}};
  std::map<std::string, SafetensorsFile> cases;  // by name
  const auto case_of = [&](const std::string& name) {
    const size_t slash = name.rfind('/');
    check(slash != std::string::npos && slash > 0,
          "golden: {}: '{}' is not named CASE/NAME, and the metadata name no op as those of a single case do", path,
          name);
    SafetensorsFile& its = cases[name.substr(0, slash)];
    its.path = path + ":" + name.substr(0, slash);
    return std::pair<SafetensorsFile&, std::string>(its, name.substr(slash + 1));
  };
  for (const auto& [key, text] : file.metadata) {
    const auto [its, name] = case_of(key);
    its.metadata[name] = text;
  }
  for (const auto& [key, tensor] : file.tensors) {
    const auto [its, name] = case_of(key);
    its.tensors.emplace_back(name, tensor);
  }
  check(!cases.empty(), "golden: {}: there is no case in it", path);
  std::vector<GoldenCase> result;
  for (auto& [name, its] : cases) result.push_back({name, std::move(its)});
  return result;
}

GoldenResult replay_golden(const GoldenCase& golden) {
  Case source(golden.file);
  const std::string& op = source.metadata("op");
  const GoldenAttributes attributes(op, source.metadata("attributes"));
  std::vector<Tensor> inputs = source.all("in");
  apply_layouts(inputs, attributes);

  std::vector<Tensor> cotangents = source.all("grad_out");
  if (const Tensor single = source.find("grad_out"); single.defined()) cotangents = {single};
  std::vector<std::pair<size_t, Tensor>> gradients;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor want = source.find(fmt::format("grad.{}", i));
    if (!want.defined()) continue;
    inputs[i].set_requires_grad();
    gradients.emplace_back(i, want);
  }
  const std::vector<Tensor> wanted = source.all("out");

  const std::vector<Tensor> outputs = apply_golden_op(op, inputs, attributes);
  source.check_all_used();
  check(gradients.empty() == cotangents.empty(), "golden: grad_out and grad.0 … go together, {} has only one",
        golden.file.path);
  check(outputs.size() == wanted.size(), "golden: {} has {} results, the file expects {}", op, outputs.size(),
        wanted.size());
  GoldenResult result{golden.name, {}};
  for (size_t i = 0; i < wanted.size(); ++i)
    result.tensors.push_back(compare(fmt::format("out.{}", i), outputs[i], wanted[i], source));
  if (!gradients.empty()) run_backward(outputs, cotangents);
  for (const auto& [i, want] : gradients) {
    const Tensor got = inputs[i].grad();
    check(got.defined(), "golden: {}: no gradient arrived at in.{}", op, i);
    result.tensors.push_back(compare(fmt::format("grad.{}", i), got, want, source));
  }
  return result;
}

std::vector<std::string> golden_files(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code failure;
    check(fs::exists(path, failure), "golden: there is no '{}'", path);
    if (!fs::is_directory(path, failure)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path, failure))
      if (entry.path().extension() == ".safetensors") found.push_back(entry.path().string());
    check(!found.empty(), "golden: no *.safetensors file in '{}'", path);
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

int run_golden(const std::vector<std::string>& paths, std::FILE* out, bool json) {
  Json cases = Json::array();
  size_t count = 0, failed = 0;
  const auto fails = [&](const std::string& what, const std::exception& error) {
    ++failed;
    if (json) {
      cases.push_back({{"ok", false}, {"error", error.what()}, {"file", what}});
    } else {
      fmt::print(out, "{:<6} {}\n       {}\n", "FAILED", what, error.what());
    }
  };
  for (const std::string& file : golden_files(paths)) {
    std::vector<GoldenCase> loaded;
    try {
      loaded = load_goldens(file);
    } catch (const std::exception& error) {  // including out of memory: a file may declare any size
      ++count;
      fails(file, error);
    }
    for (const GoldenCase& golden : loaded) {
      ++count;
      try {
        const GoldenResult result = replay_golden(golden);
        failed += !result.ok();
        if (json) {
          cases.push_back(to_json(result));
          cases.back()["file"] = file;
        } else {
          fmt::print(out, "{}\n", result.to_string());
        }
      } catch (const std::exception& error) {
        fails(golden.file.path, error);
      }
    }
  }
  if (json) {
    const Json all = {{"cases", cases}, {"failed", failed}};
    fmt::print(out, "{}\n", all.dump(-1, Json::Utf8::replace));
    return failed == 0 ? 0 : 1;
  }
  fmt::print(out, "{} cases, {} within tolerance, {} failed\n", count, count - failed, failed);
  return failed == 0 ? 0 : 1;
}

Command golden_command() {
  struct Options {
    std::vector<std::string> paths;
    bool json = false;
  };
  const auto o = std::make_shared<Options>();
  return {.name = "golden",
          .about = "replay cases made by PyTorch",
          .fields = {json_field(o->json)},
          .run = [o](Given&) { return run_golden(o->paths, stdout, o->json); },
          .arguments = {{"paths", &o->paths, "case files, or folders of them"}}};
}

double relative_error(const std::string& name, const Tensor& got, const Tensor& want) {
  check(got.shape() == want.shape(), "golden: {}: expected shape {}, got {}", name, want.shape(), got.shape());
  const std::vector<double> g = got.to_vector(), w = want.to_vector();
  if (!is_floating(want.dtype())) return g == w ? 0 : kInfinite;
  double largest = 0;  // scale of the squared values, so that neither huge nor denormal values overflow or underflow
  for (double x : w)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  if (largest == 0) largest = 1;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    if (std::isfinite(w[i]) && std::isfinite(g[i])) {
      difference += std::pow((g[i] - w[i]) / largest, 2);
      norm += std::pow(w[i] / largest, 2);
    } else if (g[i] != w[i] && !(std::isnan(g[i]) && std::isnan(w[i]))) {
      return kInfinite;
    }
  }
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

double default_tolerance(DType dtype) { return dtype == f64 ? 1e-10 : dtype == f32 ? 1e-5 : 0; }

bool GoldenResult::ok() const {
  return std::all_of(tensors.begin(), tensors.end(), [](const GoldenError& t) { return t.ok(); });
}

std::string GoldenResult::to_string() const {
  std::string line = fmt::format("{:<6} {:<40}", ok() ? "ok" : "FAILED", name);
  for (const GoldenError& t : tensors)
    line += t.ok() ? fmt::format("  {} {:.1e}", t.name, t.error)
                   : fmt::format("  {} {:.1e} > {:.0e}", t.name, t.error, t.tolerance);
  return line;
}

}  // namespace pg::tools
