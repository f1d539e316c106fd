// The file that stores which cuBLASLt algorithm was fastest.
#include "tensor/cuda/gemm/plan_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <utility>

#include "tensor/base/atomic_file.h"
#include "tensor/base/text.h"

namespace pg::cuda {
namespace {

constexpr const char* kHead = "# policygrad cuBLASLt plans 2, ";
constexpr int64_t kMostBytes = int64_t{16} << 20;
constexpr size_t kMostNumbers = 64;  // per key

// An open file; closing it releases its lock.
struct File {
  int descriptor;
  File(const std::string& path, int flags) : descriptor(open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (descriptor >= 0) close(descriptor);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
};

void write_all(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written <= 0) return;  // a line that is cut off is ignored by who reads it
    done += static_cast<size_t>(written);
  }
}

}  // namespace

PlanFile::PlanFile(std::string path, std::string machine) : path_(std::move(path)), machine_(std::move(machine)) {
  find({});
}

std::string PlanFile::line_of(const Key& key, const Algorithm& algorithm) const {
  std::string line = std::to_string(key.size());
  for (const int64_t number : key) line += fmt::format(" {}", number);
  for (const uint64_t word : algorithm) line += fmt::format(" {}", word);
  return line + fmt::format(" {}\n", checksum(machine_ + line));
}

// Adds the entry of a line, which ends with a newline.
void PlanFile::take(std::string_view line) {
  if (line.front() == '#' || line == "\n") return;
  std::istringstream numbers{std::string(line)};
  size_t count = 0;
  Key key;
  Algorithm algorithm{};
  if (numbers >> count && count <= kMostNumbers) {
    key.resize(count);
    for (int64_t& number : key) numbers >> number;
    for (uint64_t& word : algorithm) numbers >> word;
    if (numbers && line_of(key, algorithm) == line) {
      plans_.emplace(std::move(key), algorithm);
      return;
    }
  }
  if (std::exchange(warned_, true)) return;
  fmt::print(stderr, "warning: {}: damaged lines are ignored, and algorithms for these matrix products chosen again\n",
             path_);
}

// Reads the lines that were added since the last call.
void PlanFile::read(int file) {
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > kMostBytes) return;
  if (status.st_ino != inode_ || status.st_size < read_) read_ = 0;  // another file
  inode_ = status.st_ino;
  std::string text(static_cast<size_t>(status.st_size - read_), '\0');
  const ssize_t got = pread(file, text.data(), text.size(), read_);
  text.resize(static_cast<size_t>(got < 0 ? 0 : got));
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    take(std::string_view(text).substr(begin, end + 1 - begin));
    read_ += static_cast<int64_t>(end + 1 - begin);
  }
}

const PlanFile::Algorithm* PlanFile::find(const Key& key) {
  auto at = plans_.find(key);
  if (at == plans_.end()) {
    if (const File file(path_, O_RDONLY | O_NONBLOCK); file.descriptor >= 0) read(file.descriptor);
    at = plans_.find(key);
  }
  return at == plans_.end() ? nullptr : &at->second;
}

PlanFile::Algorithm PlanFile::add(const Key& key, const Algorithm& algorithm) {
  const std::filesystem::path path = path_;
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  const File file(path_, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK);
  if (file.descriptor >= 0) {
    flock(file.descriptor, LOCK_EX);
    read(file.descriptor);
  }
  const auto [entry, fresh] = plans_.emplace(key, algorithm);
  struct stat status;
  if (!fresh || file.descriptor < 0 || fstat(file.descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size > kMostBytes) {
    return entry->second;
  }
  std::string text;
  if (status.st_size == 0) text += fmt::format("{}{}\n", kHead, machine_);
  if (read_ < status.st_size) text += '\n';  // ends a line that a process could not complete
  text += line_of(key, algorithm);
  write_all(file.descriptor, text);
  fdatasync(file.descriptor);  // a run that is resumed after a power cut needs the algorithms that it has used
  return entry->second;
}

std::string plan_path(const std::string& machine) { return machine_file("cublaslt", kHead + machine); }

}  // namespace pg::cuda
