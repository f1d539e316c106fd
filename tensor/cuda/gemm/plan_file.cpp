// The file that stores which cuBLASLt algorithm was fastest.
#include "tensor/cuda/gemm/plan_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace pg::cuda {
namespace {

constexpr const char* kHead = "policygrad cuBLASLt plans 1, ";
constexpr size_t kMostBytes = size_t{16} << 20, kMostNumbers = 64;  // per file, per key

uint64_t checksum(const std::string& text) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string file_text(const std::string& machine, const std::map<PlanFile::Key, PlanFile::Algorithm>& plans) {
  std::string text = fmt::format("{}{}\n", kHead, machine);
  for (const auto& [key, algorithm] : plans) {
    text += std::to_string(key.size());
    for (const int64_t number : key) text += fmt::format(" {}", number);
    for (const uint64_t word : algorithm) text += fmt::format(" {}", word);
    text += '\n';
  }
  return text + fmt::format("{}\n", checksum(text));
}

}  // namespace

PlanFile::PlanFile(std::string path, std::string machine) : path_(std::move(path)), machine_(std::move(machine)) {
  read();
}

void PlanFile::read() {
  std::error_code error;
  if (const auto size = std::filesystem::file_size(path_, error); error || size > kMostBytes) return;
  std::ifstream file(path_);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream lines(text);
  std::string line;
  std::map<Key, Algorithm> found;
  std::getline(lines, line);  // the header line; the comparison with file_text() below checks it
  while (std::getline(lines, line)) {
    std::istringstream numbers(line);
    size_t count = 0;
    Algorithm algorithm{};
    if (!(numbers >> count) || count > kMostNumbers) break;  // the checksum
    Key key(count);
    for (int64_t& number : key) numbers >> number;
    for (uint64_t& word : algorithm) numbers >> word;
    if (!numbers) break;
    found.emplace(std::move(key), algorithm);
  }
  if (file_text(machine_, found) == text) plans_.merge(found);
}

const PlanFile::Algorithm* PlanFile::find(const Key& key) const {
  const auto at = plans_.find(key);
  return at == plans_.end() ? nullptr : &at->second;
}

void PlanFile::add(const Key& key, const Algorithm& algorithm) {
  std::map<Key, Algorithm> known;
  known.swap(plans_);
  read();               // entries that other processes added in the meantime
  plans_.merge(known);  // keeps their entry if both have one
  plans_.emplace(key, algorithm);
  if (path_.empty()) return;
  std::error_code error;
  const std::filesystem::path path = path_;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  const std::string temporary = fmt::format("{}.{}", path_, getpid());
  if (std::ofstream file(temporary); !(file << file_text(machine_, plans_) << std::flush)) {
    std::filesystem::remove(temporary, error);
    return;
  }
  std::filesystem::rename(temporary, path, error);
  if (error) std::filesystem::remove(temporary, error);
}

std::string plan_path(const std::string& machine) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  std::string folder = variable("POLICYGRAD_CACHE");
  if (folder.empty() && !variable("XDG_CACHE_HOME").empty()) folder = variable("XDG_CACHE_HOME") + "/policygrad";
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.cache/policygrad";
  return folder.empty() ? "" : fmt::format("{}/cublaslt-{:016x}.txt", folder, checksum(machine));
}

}  // namespace pg::cuda
