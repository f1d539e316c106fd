// Validation of numeric options.
#include "tools/pg/run/numbers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::tools {
namespace {

// The whole text as a number; nullopt if it is no number, has trailing characters or does not fit into T.
template <class T>
std::optional<T> parsed(const std::string& text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Accepts values for which `fits` is true and rewrites them in canonical form: 010 becomes 10. Messages use `kind` and
// `range` ("a number" and "above 0"); --help uses `range`.
template <class T, class Fits>
CLI::Validator validator(const std::string& kind, const std::string& range, Fits fits) {
  return {[kind, range, fits](std::string& text) {
            const std::optional<T> value = parsed<T>(text);
            if (!value || !fits(*value)) return fmt::format("expected {} {}, got {}", kind, range, text);
            text = fmt::format("{}", *value);
            return std::string();
          },
          "(" + range + ")"};
}

}  // namespace

CLI::Validator whole(int64_t low, int64_t high) {
  const auto fits = [=](int64_t x) { return low <= x && x <= high; };
  if (high == std::numeric_limits<int64_t>::max()) {
    return validator<int64_t>("a whole number of", fmt::format("at least {}", low), fits);
  }
  return validator<int64_t>("a whole number", fmt::format("from {} to {}", low, high), fits);
}

CLI::Validator seed_number() {
  return validator<uint64_t>("a whole number", "from 0 to 2^64 - 1", [](uint64_t) { return true; });
}

CLI::Validator number(double low, double high) {
  const auto fits = [=](double x) { return std::isfinite(x) && low <= x && x <= high; };
  if (std::isinf(high)) return validator<double>("a number of", fmt::format("at least {}", low), fits);
  return validator<double>("a number", fmt::format("from {} to {}", low, high), fits);
}

CLI::Validator above_zero() {
  return validator<double>("a number", "above 0", [](double x) { return std::isfinite(x) && x > 0; });
}

CLI::Validator below(double high) {
  return validator<double>("a number", fmt::format("from 0 to less than {}", high),
                           [high](double x) { return x >= 0 && x < high; });
}

CLI::Validator truth() {
  return {[](std::string& text) {
            if (text == "1") text = "true";
            if (text == "0") text = "false";
            const bool ok = text == "true" || text == "false";
            return ok ? "" : fmt::format("expected true or false, got {}", text);
          },
          ""};
}

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string range = fmt::format("one of {}", fmt::join(words, ", "));
  return {[range, words](std::string& text) {
            const bool known = std::find(words.begin(), words.end(), text) != words.end();
            return known ? "" : fmt::format("expected {}, got {}{}", range, text, did_you_mean(text, words));
          },
          "(" + fmt::format("{}", fmt::join(words, ", ")) + ")"};
}

void parse_strictly(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    // Only the plain type name: an option with a range has "INT:(range)".
    const std::string type = option->get_type_name();
    if (type == "INT")
      option->transform(validator<int64_t>("a whole number", "below 2^63", [](int64_t) { return true; }));
    if (type == "UINT") option->transform(seed_number());
    if (type == "FLOAT")
      option->transform(validator<double>("a", "finite number", [](double x) { return std::isfinite(x); }));
    if (type == "BOOLEAN") option->transform(truth());
  }
}

void check_rates(double lr, double min_lr, int64_t warmup, int64_t steps, bool constant) {
  check(constant || min_lr <= lr,
        "--min-lr {} is above --lr {}: the learning rate would rise; give a --min-lr of at most {}", min_lr, lr, lr);
  check(warmup == 0 || warmup < steps,
        "--warmup {} is not shorter than the run of {} steps: the learning rate would only rise; give a --warmup below "
        "{}",
        warmup, steps, steps);
}

}  // namespace pg::tools
