#pragma once
// The checks of lesson 11 by part, and what they share.
#include <cmath>
#include <limits>
#include <optional>

#include "lessons/11_cuda/lesson.h"
#include "lessons/11_cuda/mistakes.h"

namespace pg::lesson11 {

// checks_threads.cpp
void check_grid(kit::Grader& g, const Impl& impl);
void check_slot(kit::Grader& g, const Impl& impl);
// checks_reduce.cpp
void check_reduce(kit::Grader& g, const Impl& impl);
// checks_stats.cpp
void check_row_stats(kit::Grader& g, const Impl& impl);
// checks_product.cpp
void check_matmul(kit::Grader& g, const Impl& impl);

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// x with all numbers below -3: a thread that takes part with 0 changes every maximum.
inline Matrix negative(Matrix x) {
  for (float& v : x.v) v = -3 - std::abs(v);
  return x;
}

inline kit::Value value_of(const Numbers& x) { return std::vector<double>(x.begin(), x.end()); }
inline kit::Value value_of(const Matrix& x) {
  return {{x.rows, x.columns}, std::vector<double>(x.v.begin(), x.v.end())};
}

// What errors of the simulator mean in one kernel. Where a text is empty, meaning() has one for every kernel.
struct Meanings {
  std::string race = "", both_write = "", bounds = "", uninitialised = "", shuffle = "";
};
// Explains a message of the simulator or of CUDA, "" if it is not known.
std::string meaning(const std::string& message, const Meanings& here);

// Returns the result of `call`. A launch that fails is reported as WRONG with the simulator's message and what it
// means, and nothing is returned.
template <class F>
auto launched(kit::Grader& g, const std::string& input, F call, const Meanings& here = {})
    -> std::optional<decltype(call())> {
  try {
    return call();
  } catch (const Error& error) {
    const std::string message = error.what();
    g.expect(false, input, message, "a launch without mistakes", meaning(message, here));
    return {};
  }
}

// The note after an ok, which says so if this build cannot judge traffic.
std::string unless_counted(const std::string& note);

using Element = double (*)(const Matrix&, int64_t, int64_t);
inline double as_is(const Matrix& x, int64_t i, int64_t j) { return static_cast<double>(x.v[i * x.columns + j]); }
inline double turned(const Matrix& x, int64_t i, int64_t j) { return static_cast<double>(x.v[j * x.columns + i]); }

}  // namespace pg::lesson11
