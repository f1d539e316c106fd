#pragma once
// The checks of lesson 11 by part, and what they share.
#include <optional>

#include "lessons/11_cuda/lesson.h"

namespace pg::lesson11 {

// checks_threads.cpp
void check_grid(kit::Grader& g, const Impl& impl);
void check_slot(kit::Grader& g, const Impl& impl);
// checks_rows.cpp
void check_reduce(kit::Grader& g, const Impl& impl);
void check_row_stats(kit::Grader& g, const Impl& impl);
// checks_product.cpp
void check_matmul(kit::Grader& g, const Impl& impl);

inline kit::Value value_of(const Numbers& x) { return std::vector<double>(x.begin(), x.end()); }
inline kit::Value value_of(const Matrix& x) {
  return {{x.rows, x.columns}, std::vector<double>(x.v.begin(), x.v.end())};
}

// Explains a message of the simulator or of CUDA, "" if it is not known.
std::string meaning(const std::string& message);

// Returns the result of `call`. A launch that fails is reported as WRONG with the simulator's message and what it means
// (`race`, if given, is what a race means), and nothing is returned.
template <class F>
auto launched(kit::Grader& g, const std::string& input, F call, const std::string& race = "")
    -> std::optional<decltype(call())> {
  try {
    return call();
  } catch (const Error& error) {
    const std::string message = error.what();
    const bool is_race = !race.empty() && message.find("race:") != std::string::npos;
    g.expect(false, input, message, "a launch without mistakes", is_race ? race : meaning(message));
    return {};
  }
}

template <class F>
Traffic traffic_of(F call) {
  const Meter meter;
  call();
  return meter.traffic();
}
// The note after an ok, which says so if this build cannot judge traffic.
std::string unless_counted(const std::string& note);

using Element = double (*)(const Matrix&, int64_t, int64_t);
inline double as_is(const Matrix& x, int64_t i, int64_t j) { return static_cast<double>(x.v[i * x.columns + j]); }
inline double turned(const Matrix& x, int64_t i, int64_t j) { return static_cast<double>(x.v[j * x.columns + i]); }

}  // namespace pg::lesson11
