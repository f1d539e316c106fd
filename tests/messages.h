#pragma once
// Helpers for testing the messages of Errors.
#include <functional>
#include <string>
#include <string_view>

#include "tensor/base/error.h"

namespace pg::testing {

// The message of the Error that f throws, or "" if it throws none.
inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace pg::testing
