// A lock on a folder, held until the process ends or lets it go.
#include "tools/pg/run/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tensor/base/error.h"

namespace pg {

FolderLock::FolderLock(const std::string& path, const std::string& what, const std::string& does)
    : file_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  check(file_ >= 0, "{} {}: {}", what, path, std::strerror(errno));
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;  // some file systems have no such locks
  ::close(file_);
  fail("{} {}: another process is {} it; wait until it ends, or stop it", what, path, does);
}

FolderLock::~FolderLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace pg
