// Writes status text that is not part of the result.
#include "tools/pg/run/remark.h"

#include <unistd.h>

#include <cerrno>

namespace pg {

// The text bypasses the buffer of `out`: a buffer keeps what could not be written and fails again later.
void write_remark(std::FILE* out, std::string_view text) noexcept {
  std::fflush(out);
  const int file = fileno(out);
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace pg
