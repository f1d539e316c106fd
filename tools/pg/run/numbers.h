#pragma once
// Validators for numeric options, declared with the option:
//   app.add_option("--steps", o.steps, "optimizer steps")->transform(whole(1));
// Numbers are parsed in one way on the command line and in YAML files: decimal digits, for non-integers also a point
// and an exponent, with nothing after them. Anything else is an error that states the range.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace pg::tools {

// Whole numbers from `low` to `high`.
CLI::Validator whole(int64_t low, int64_t high = std::numeric_limits<int64_t>::max());
// Whole numbers from 0 to 2^64 - 1.
CLI::Validator seed_number();
// Finite numbers from `low` to `high`.
CLI::Validator number(double low, double high = std::numeric_limits<double>::infinity());
// Finite numbers above 0.
CLI::Validator above_zero();
// Numbers from 0 to less than `high`.
CLI::Validator below(double high);
// true or false; also 1 or 0.
CLI::Validator truth();
// One of these strings.
CLI::Validator one_of(std::vector<std::string> words);

// Adds the range of its type to every numeric or true/false option of `app` that has no range.
void parse_strictly(CLI::App& app);

// Throws Error if the learning rate would rise after the warm-up, or if the warm-up is not shorter than the run. With
// `constant`, min_lr has no effect.
void check_rates(double lr, double min_lr, int64_t warmup, int64_t steps, bool constant);

}  // namespace pg::tools
