#pragma once
// The only exception type of policygrad. A message names the operation, what was expected and what was given, and adds
// a hint if a fix is known:
//   matmul: inner sizes differ: a is [256, 768], b is [700, 3072] (768 vs 700); did you mean transpose(b)?
#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace pg {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws Error with the formatted message.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

// Throws Error with the formatted message unless `ok`. Arguments are always evaluated, but formatted only on failure.
template <class... Args>
inline void check(bool ok, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]]
    fail(format, std::forward<Args>(args)...);
}

}  // namespace pg
