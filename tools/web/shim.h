#pragma once
// What C++20 has and the library of emscripten 3.1.6 does not have. Every file of the browser's build includes it
// first.
#ifdef __cplusplus
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <iterator>
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

// Those algorithms of std::ranges that the engine and the lessons call, with the arguments that they give.
namespace ranges {
#define PG_OVER_RANGE(name)                                        \
  template <class R, class... Args>                                \
  auto name(R&& range, Args... args) {                             \
    return std::name(std::begin(range), std::end(range), args...); \
  }
PG_OVER_RANGE(all_of)
PG_OVER_RANGE(any_of)
PG_OVER_RANGE(copy_if)
PG_OVER_RANGE(count)
PG_OVER_RANGE(find)
PG_OVER_RANGE(for_each)
PG_OVER_RANGE(reverse)
PG_OVER_RANGE(sort)
PG_OVER_RANGE(transform)
#undef PG_OVER_RANGE

template <class R, class F>
auto count_if(const R& range, F f) {
  return std::count_if(std::begin(range), std::end(range), [&](const auto& x) { return std::invoke(f, x); });
}
template <class R, class T, class F>
auto find(R&& range, const T& value, F of) {
  return std::find_if(std::begin(range), std::end(range), [&](const auto& x) { return std::invoke(of, x) == value; });
}
template <class R, class F>
auto min_element(R&& range, std::less<> less, F of) {
  return std::min_element(std::begin(range), std::end(range),
                          [&](const auto& a, const auto& b) { return less(std::invoke(of, a), std::invoke(of, b)); });
}
template <class R>
auto min(const R& range) {
  return *std::min_element(std::begin(range), std::end(range));
}
template <class R>
auto max(const R& range) {
  return *std::max_element(std::begin(range), std::end(range));
}
template <class R, class S>
bool equal(const R& a, const S& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b));
}
}  // namespace ranges

}  // namespace std
#endif
