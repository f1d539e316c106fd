#include "nn/run_dir.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tensor/error.h"

namespace pg {

namespace fs = std::filesystem;

RunDir RunDir::create(const std::string& root, const std::string& name) {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  const std::string base = fmt::format("{}/{}_{}", root, stamp, name);
  std::error_code error;
  fs::create_directories(root, error);
  std::string path = base;
  for (int i = 2; !fs::create_directory(path, error); ++i) {
    check(!error, "run folder {}: {}", path, error.message());
    path = fmt::format("{}_{}", base, i);
  }
  return RunDir(path);
}

RunDir RunDir::resume(const std::string& path, int64_t step) {
  check(fs::is_directory(path), "run folder {}: no such folder", path);
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() != ".jsonl") continue;
    std::string kept;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      // A line that a crash cut is no JSON object, and is dropped too.
      const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (!object.is_object() || !object.contains("step") || !object["step"].is_number_integer()) continue;
      if (object["step"].get<int64_t>() < step) kept += line + "\n";
    }
    write_file_atomically(entry.path().string(), kept);
  }
  return RunDir(path);
}

RunDir::RunDir(std::string path) : path_(std::move(path)), events_(path_) {
  metrics_.reset(std::fopen(file("metrics.jsonl").c_str(), "ab"));
  check(metrics_ != nullptr, "run folder {}: cannot write metrics.jsonl: {}", path_, std::strerror(errno));
}

void RunDir::log(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  nlohmann::ordered_json line = {{"step", step}};
  for (const auto& [name, value] : values) line[name] = std::isfinite(value) ? nlohmann::ordered_json(value) : nullptr;
  const std::string text = line.dump() + "\n";
  const bool ok = std::fwrite(text.data(), 1, text.size(), metrics_.get()) == text.size();
  check(ok && std::fflush(metrics_.get()) == 0, "run folder {}: cannot write metrics.jsonl: {}", path_,
        std::strerror(errno));
  for (const auto& [name, value] : values) events_.scalar(name, step, value);
}

}  // namespace pg
