#pragma once
// A file mapped into memory, read only: its pages are loaded when they are touched, and they are the system's cache,
// not a copy.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace pg {

class MappedFile {
 public:
  // Error "open PATH: " and the system's reason, or that PATH is no regular file. A file without bytes is valid.
  explicit MappedFile(std::string path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  // Error if the file is shorter now than it was when it was mapped: a read of the missing pages would end the process
  // (SIGBUS). Call it before a large read. A file that is replaced by rename is another file and does no harm.
  void check_size() const;

 private:
  std::string path_;
  int file_ = -1;
  std::span<const std::byte> bytes_;
};

}  // namespace pg
