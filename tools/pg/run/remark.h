#pragma once
// Status text of a long computation, such as progress and file locations. It is not part of the result.
#include <fmt/core.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace pg {

// Writes the text to `out` at once. It never throws and reports no failure: if the disk is full, the terminal is closed
// or nobody reads the pipe, the text is lost, and the computation continues. (With a broken pipe, SIGPIPE must be
// ignored.)
void write_remark(std::FILE* out, std::string_view text) noexcept;

template <class... Args>
void remark(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  write_remark(out, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace pg
