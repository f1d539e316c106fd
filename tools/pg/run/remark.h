#pragma once
// Text that accompanies a long computation: how far it is, where its files are. It is no result.
#include <fmt/core.h>

#include <cstdio>
#include <string_view>
#include <utility>

namespace pg {

// Writes the text to `out` at once. Never throws and reports no failure: a full disk, a closed terminal or a pipe that
// nobody reads loses the text, and must not end the computation. (With a broken pipe, SIGPIPE must be ignored.)
void write_remark(std::FILE* out, std::string_view text) noexcept;

template <class... Args>
void remark(std::FILE* out, fmt::format_string<Args...> format, Args&&... args) {
  write_remark(out, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace pg
