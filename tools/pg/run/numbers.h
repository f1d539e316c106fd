#pragma once
// The ranges of options that are numbers, declared beside the option:
//   app.add_option("--steps", o.steps, "optimizer steps")->transform(whole(1));
// Text becomes a number in one way on the command line and in YAML files: decimal digits, for numbers with a fraction
// also a point and an exponent, nothing behind them. What does not fit is an error that states the range.
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
// true or false; 1 and 0 mean the same.
CLI::Validator truth();
// One of these words.
CLI::Validator one_of(std::vector<std::string> words);

// Gives every option of `app` that is a number or true/false and has no range the range of its type.
void parse_strictly(CLI::App& app);

// Error when the learning rate would rise after the warm-up or never leave it. `constant`: min_lr has no effect.
void check_rates(double lr, double min_lr, int64_t warmup, int64_t steps, bool constant);

}  // namespace pg::tools
