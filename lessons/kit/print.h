#pragma once
// For learners: print(x) shows a tensor, and so do std::cout << x and fmt::print("{}\n", x).
#include <fmt/ranges.h>

#include <iosfwd>
#include <string>

#include "tensor/tensor.h"

namespace pg {

namespace kit {

// The shape, the dtype, whether x is on the tape, strides that are not those of row-major order; then one line per row
// of numbers behind its index, with 4 significant digits (whole numbers in full). At most 20 lines of 80 columns: where
// x is larger, the first and last indices of a dimension are shown, at most three of each, and "..." between them.
//   [3, 2] f32, strides [1, 3]
//     [0]  0  3
//     [1]  1  4
//     [2]  2  5
std::string text_of(const Tensor& x);
std::string text_of(const View& x);  // in the memory of the CPU

// Prints `text` and the end of a line, and flushes, so that it is there even if the next line of the program crashes.
void print_text(const std::string& text);

}  // namespace kit

std::ostream& operator<<(std::ostream& out, const Tensor& x);
std::ostream& operator<<(std::ostream& out, const View& x);

// Prints the values on one line, with spaces between them: print(x), print("scores", scores), print("t", t, x.shape()).
// What has several lines ends with an end of line.
template <class... T>
requires(sizeof...(T) > 0 && (fmt::is_formattable<T>::value && ...)) void print(const T&... values) {
  std::string text;
  const auto append = [&](const std::string& one) {
    const bool lines = text.find('\n') != std::string::npos;
    text += (text.empty() ? "" : lines ? "\n" : " ") + one;
  };
  (append(fmt::format("{}", values)), ...);
  kit::print_text(text);
}

}  // namespace pg

template <>
struct fmt::formatter<pg::View> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const auto& x, fmt::format_context& context) const {
    return fmt::format_to(context.out(), "{}", pg::kit::text_of(x));
  }
};
template <>
struct fmt::formatter<pg::Tensor> : fmt::formatter<pg::View> {};
