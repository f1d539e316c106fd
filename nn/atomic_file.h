#pragma once
// Files that are never seen half written.
#include <cstddef>
#include <string>
#include <string_view>

namespace pg {

// Writes `path` through a temporary file beside it, `path`.<process>-<number>.tmp: whoever reads, and whenever the
// machine stops, there is the old file or the new one, never a part. Two processes that write one path do not disturb
// each other; the last rename wins. Error naming the path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();  // without commit(): the temporary file is removed, the old file stays
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t bytes);
  void commit();  // to the disk, then renamed into place

 private:
  [[noreturn]] void fail_with_errno(const char* action) const;

  std::string path_, temporary_;
  int file_ = -1;
};

void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace pg
