// Maps files into memory.
#include "tensor/base/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tensor/base/error.h"

namespace pg {

MappedFile::MappedFile(std::string path) : path_(std::move(path)) {
  check(path_.find('\0') == std::string::npos, "open: the path contains a NUL character");
  // O_NONBLOCK: the open of a named pipe does not wait for a writer.
  file_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  check(file_ >= 0, "open {}: {}", path_, std::strerror(errno));
  try {
    struct stat status = {};
    check(::fstat(file_, &status) == 0, "open {}: {}", path_, std::strerror(errno));
    check(!S_ISDIR(status.st_mode), "open {}: it is a folder, expected a file", path_);
    check(S_ISREG(status.st_mode), "open {}: it is a device or a pipe, expected a file", path_);
    const auto size = static_cast<size_t>(status.st_size);
    if (size == 0) return;
    void* const address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_, 0);
    check(address != MAP_FAILED, "open {}: cannot map {} bytes: {}", path_, size, std::strerror(errno));
    bytes_ = {static_cast<const std::byte*>(address), size};
  } catch (...) {
    ::close(file_);
    throw;
  }
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(file_);
}

void MappedFile::check_size() const {
  struct stat status = {};
  check(::fstat(file_, &status) == 0, "read {}: {}", path_, std::strerror(errno));
  check(static_cast<size_t>(status.st_size) >= bytes_.size(),
        "read {}: the file has become shorter, {} bytes instead of {}", path_, status.st_size, bytes_.size());
}

}  // namespace pg
