// Writes a file under a temporary name and renames it when it is complete.
#include "tensor/base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {

namespace {

// Locks the temporary file of this process. False if another process removes it as one that nobody holds, between its
// creation and now. On a file system without such locks nobody removes it.
bool hold(int file) {
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat status = {};
  return ::fstat(file, &status) != 0 || status.st_nlink > 0;
}

// Removes the temporary files for `path` that no process holds: those of processes that were killed.
void remove_abandoned(const std::string& path) {
  const std::filesystem::path file(path);
  const auto folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code error;
  for (std::filesystem::directory_iterator next(folder, error), end; !error && next != end; next.increment(error)) {
    if (name_of_temporary(next->path().filename().string()) != file.filename().string()) continue;
    const int abandoned = ::open(next->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (abandoned < 0) continue;
    if (::flock(abandoned, LOCK_EX | LOCK_NB) == 0) ::unlink(next->path().c_str());
    ::close(abandoned);
  }
}

}  // namespace

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  std::error_code unknown;  // what cannot be looked at is an error below
  const auto type = std::filesystem::status(path_, unknown).type();
  const bool is_file = type == std::filesystem::file_type::regular || type == std::filesystem::file_type::directory;
  check(unknown || is_file || type == std::filesystem::file_type::not_found,
        "write {}: it is a device or a pipe, which the file would replace; expected the name of a file", path_);
  remove_abandoned(path_);
  for (int i = 0; file_ < 0; ++i) {
    temporary_ = fmt::format("{}.{}-{}.tmp", path_, ::getpid(), i);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) fail_with_errno("open");
    if (file_ >= 0 && !hold(file_)) {
      ::close(file_);
      file_ = -1;
    }
  }
}

AtomicFile::~AtomicFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file_, next, std::min<size_t>(bytes, 1 << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_with_errno("write");
    next += written;
    bytes -= static_cast<size_t>(written);
  }
}

void AtomicFile::rewrite(size_t offset, const void* data, size_t bytes) {
  const off_t end = ::lseek(file_, 0, SEEK_CUR);
  if (end < 0) fail_with_errno("seek in");
  check(bytes <= static_cast<size_t>(end) && offset <= static_cast<size_t>(end) - bytes,
        "write {}: the bytes [{}, {}) are to be replaced, and {} are written", path_, offset, offset + bytes, end);
  if (::lseek(file_, static_cast<off_t>(offset), SEEK_SET) < 0) fail_with_errno("seek in");
  write(data, bytes);
  if (::lseek(file_, end, SEEK_SET) < 0) fail_with_errno("seek in");
}

void AtomicFile::commit() {
  if (::fsync(file_) != 0) fail_with_errno("sync");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with_errno("rename");
  ::close(file_);
  file_ = -1;
  // The new name itself must reach the disk too. Some file systems refuse to sync a folder; the file is complete
  // anyway.
  const auto folder = std::filesystem::path(path_).parent_path();
  const int handle = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return;
  ::fsync(handle);
  ::close(handle);
}

void AtomicFile::fail_with_errno(const char* action) const {
  fail("write {}: cannot {} {}: {}", path_, action, temporary_, std::strerror(errno));
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  check(!error && std::filesystem::is_directory(path, error), "cannot make the folder '{}': {}", path,
        error ? error.message() : "there is a file of that name");
}

void write_file_atomically(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

std::string_view name_of_temporary(std::string_view temporary) {
  const auto drop = [&](std::string_view end) {
    if (!temporary.ends_with(end)) return false;
    temporary.remove_suffix(end.size());
    return true;
  };
  const auto drop_number = [&] {
    const size_t size = temporary.find_last_not_of("0123456789") + 1;
    const bool found = size < temporary.size();
    temporary = temporary.substr(0, size);
    return found;
  };
  const bool has_form = drop(".tmp") && drop_number() && drop("-") && drop_number() && drop(".");
  return has_form ? temporary : std::string_view();
}

std::string machine_file(std::string_view kind, std::string_view machine) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  std::string folder = variable("POLICYGRAD_CACHE");
  if (folder.empty() && !variable("XDG_CACHE_HOME").empty()) folder = variable("XDG_CACHE_HOME") + "/policygrad";
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.cache/policygrad";
  return folder.empty() ? "" : fmt::format("{}/{}-{:016x}.txt", folder, kind, checksum(machine));
}

}  // namespace pg
