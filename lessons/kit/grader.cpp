// Compares a learner's result with the expected one.
#include "lessons/kit/grader.h"

#include <cxxabi.h>

#include <cmath>
#include <cstdlib>
#include <new>
#include <typeinfo>

#include "lessons/kit/isolate.h"
#include "lessons/kit/print.h"
#include "lessons/kit/terminal.h"
#include "lessons/kit/todo.h"

namespace pg::kit {
namespace {

// The element with the largest difference, relative to the largest expected value of its row. Rows of which nothing but
// rounding errors is expected count only if all others are right; "x is 3, expected 4e-16" tells nobody much.
size_t worst_element(const Value& got, const Value& want) {
  const size_t columns = static_cast<size_t>(std::max<int64_t>(want.columns(), 1));
  const auto largest = [&](size_t first, size_t last) {
    double scale = 0;
    for (size_t i = first; i < last; ++i) {
      if (std::isfinite(want.v[i])) scale = std::max(scale, std::abs(want.v[i]));
    }
    return scale;
  };
  const double all = largest(0, want.v.size());
  size_t worst = 0, rounding_only = 0;
  double worst_share = 0, worst_of_rounding = 0;
  for (size_t row = 0; row < want.v.size(); row += columns) {
    const double scale = largest(row, row + columns);
    for (size_t i = row; i < row + columns; ++i) {
      if (got.v[i] == want.v[i] || (std::isnan(got.v[i]) && std::isnan(want.v[i]))) continue;
      const double difference = std::abs(got.v[i] - want.v[i]);
      if (!std::isfinite(difference)) return i;
      const bool rounding = scale <= 1e-12 * all;
      if (rounding && difference > worst_of_rounding) {
        rounding_only = i;
        worst_of_rounding = difference;
      } else if (!rounding && difference / scale > worst_share) {
        worst = i;
        worst_share = difference / scale;
      }
    }
  }
  return worst_share > 1e-9 || worst_of_rounding == 0 ? worst : rounding_only;
}

constexpr size_t kLongest = 16;  // the most elements that are printed all

// x as text, with as many digits as needed to distinguish the element `at` from that of `other`.
std::string describe(const Value& x, const Value& other, size_t at) {
  if (!(x.shape == other.shape)) {
    const std::string numbers = to_text(x, 8);
    return fmt::format("shape {}{}{}", x.shape, numbers.empty() ? "" : ": ", numbers);
  }
  if (x.v.empty()) return to_text(x);
  const auto digits = [&](int least) { return digits_to_differ(x.v[at], other.v[at], least); };
  if (std::string numbers = to_text(x, kLongest, digits(6)); !numbers.empty()) return numbers;
  return fmt::format("{:.{}g} at {} of {}", x.v[at], digits(9), index_text(x.shape, at), x.shape);
}

// The row of the element `at`: its numbers around it, with enough digits to see the difference.
void show_row(Case& shown, const Value& got, const Value& want, size_t at) {
  constexpr size_t kShown = 9;
  const size_t columns = static_cast<size_t>(want.columns()), first = at / columns * columns;
  const size_t column = at - first, begin = column < kShown ? 0 : column - kShown / 2;
  const size_t end = std::min(columns, begin + kShown);
  const int digits = digits_to_differ(got.v[at], want.v[at], 6);
  const auto text = [&](const Value& x) {
    std::string numbers = begin > 0 ? "..., " : "";
    for (size_t i = begin; i < end; ++i)
      numbers += fmt::format("{}{:.{}g}", i > begin ? ", " : "", x.v[first + i], digits);
    return numbers + (end < columns ? ", ..." : "");
  };
  shown.row = fmt::format("elements {} to {}", index_text(want.shape, static_cast<int64_t>(first + begin)),
                          index_text(want.shape, static_cast<int64_t>(first + end - 1)));
  shown.got_row = text(got);
  shown.want_row = text(want);
}

constexpr size_t kCasesKept = 12;

struct Stopped {};  // thrown at the first failure if the cases are shown

const std::string kTooMuchMemory = fmt::format(
    "more memory was asked for than a check may use ({} GB): a wrong size, or a loop that never stops adding",
    kCheckMemory >> 30);

}  // namespace

bool Grader::equal(const std::string& input, const Value& got, const Value& want, const Compare& how) {
  if (failed_) return false;
  const bool same_shape = got.shape == want.shape && got.v.size() == want.v.size();
  const double error = same_shape ? relative_error(got, want) : INFINITY;
  const bool ok = error <= how.rtol;
  if (ok) worst_ = std::max(worst_, error);
  const size_t at = same_shape && !want.v.empty() ? worst_element(got, want) : 0;
  Case shown{input, describe(got, want, at), describe(want, got, at)};
  if (!ok && same_shape && want.v.size() > kLongest) show_row(shown, got, want, at);
  return judge(ok, std::move(shown), ok ? "" : diagnose(got, want, how));
}

bool Grader::expect(bool ok, const std::string& input, const std::string& got, const std::string& want,
                    const std::string& diagnosis) {
  return !failed_ && judge(ok, {input, got, want}, diagnosis);
}

const char* const kForeignError =
    "an error is right, but not of this type: use fail(\"...\"), or check(condition, \"...\")";

bool Grader::expect_error(const std::string& input, const std::function<void()>& call, const std::string& words,
                          const std::string& advice) {
  const std::string want = words.empty() ? "an error" : fmt::format("an error that says \"{}\"", words);
  try {
    call();
  } catch (const Error& error) {
    const std::string got = error.what();
    return expect(
        got.find(words) != std::string::npos, input, got, want,
        fmt::format("it is refused, as it must be, but the text of the error does not contain \"{}\"", words));
  } catch (const Todo&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    return expect(false, input, describe_exception(), want, kForeignError);
  }
  return expect(false, input, "no error", want, advice);
}

bool Grader::judge(bool ok, Case shown, const std::string& diagnosis) {
  ++comparisons_;
  if (!ok) {
    failed_ = true;
    outcome_.state = State::wrong;
    outcome_.failure = shown;
    outcome_.diagnosis = diagnosis;
    if (outcome_.cases.size() == kCasesKept) outcome_.cases.pop_back();
  }
  if (shows_cases_) {
    std::string text = wrapped(shown.input, 2, fmt::format("case {:<3} {:6}", comparisons_, ok ? "ok" : "WRONG"));
    text.pop_back();
    print_text(text);
  }
  if (outcome_.cases.size() < kCasesKept) outcome_.cases.push_back(std::move(shown));
  if (!ok && shows_cases_) throw Stopped{};
  return ok;
}

Outcome Grader::outcome() const {
  Outcome result = outcome_;
  result.note = !note_.empty()      ? note_
                : comparisons_ == 1 ? fmt::format("1 comparison, error {:.1e}", worst_)
                                    : fmt::format("{} comparisons, worst error {:.1e}", comparisons_, worst_);
  return result;
}

bool same_text(Grader& g, const std::string& input, const std::string& got, const std::string& want,
               const std::vector<KnownText>& known, const std::string& otherwise) {
  std::string says = otherwise;
  for (const KnownText& one : known) {
    if (got == one.gives) says = one.says;
  }
  return g.expect(got == want, input, got, want, says);
}

Outcome grade(const std::function<void(Grader&)>& body, bool shows_cases) {
  Grader grader(shows_cases);
  const auto thrown = [&](const std::string& what, const std::string& diagnosis = "") {
    Outcome outcome = grader.outcome();
    if (grader.failed()) return outcome;
    outcome.state = State::wrong;
    outcome.failure = {"the call itself", what, "a result"};
    outcome.diagnosis = diagnosis;
    outcome.cases.push_back(outcome.failure);
    return outcome;
  };
  try {
    body(grader);
  } catch (const Stopped&) {
  } catch (const Todo&) {
    Outcome outcome;
    outcome.state = State::todo;
    return outcome;
  } catch (const std::bad_alloc&) {
    return thrown(describe_exception(), kTooMuchMemory);
  } catch (const std::exception& error) {
    const bool memory = std::string(error.what()).starts_with("out of memory");
    return thrown(describe_exception(), memory ? kTooMuchMemory : "");
  } catch (...) {
    return thrown(describe_exception(),
                  "threw a value that is no std::exception; to report an error, write fail(\"...\")");
  }
  return grader.outcome();
}

std::string describe_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    return fmt::format("an exception: {}", error.what());
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    int failed = 0;
    char* name = type ? abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed) : nullptr;
    const std::string text = name ? name : type ? type->name() : "unknown";
    std::free(name);
    return "an exception of type " + text;
  }
}

bool optimized_build() {
#if !defined(__OPTIMIZE__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return false;
#else
  return true;
#endif
#else
  return true;
#endif
}

}  // namespace pg::kit
