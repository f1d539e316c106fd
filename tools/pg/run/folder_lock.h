#pragma once
// A lock on a folder: while one process has it, another gets one sentence instead.
#include <string>
#include <utility>

namespace pg {

class FolderLock {
 public:
  // `what` names the folder's kind, `does` what a process does that has the lock: "run folder PATH: another process is
  // training in it". Throws Error if another process has it or the folder cannot be opened. A file system without locks
  // grants it to all.
  FolderLock(const std::string& path, const std::string& what, const std::string& does);
  FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  ~FolderLock();

 private:
  int file_;
};

}  // namespace pg
