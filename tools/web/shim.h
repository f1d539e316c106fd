#pragma once
// What C++20 has and the library of emscripten 3.1.6 does not have. Every file of the browser's build includes it
// first.
#ifdef __cplusplus
#include <charconv>
#include <cstdlib>
#include <string>
#include <version>

namespace std {

#ifndef __cpp_lib_bit_cast
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
#endif
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const string text(first, last);
  char* end = nullptr;
  const double x = strtod(text.c_str(), &end);
  if (end == text.c_str()) return {first, errc::invalid_argument};
  value = x;
  return {first + (end - text.c_str()), errc{}};
}

}  // namespace std
#endif
