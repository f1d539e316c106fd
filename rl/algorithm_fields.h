#pragma once
// The fields of an Algorithm by name, as they are written on a command line or in a file.
#include <functional>
#include <string>
#include <vector>

#include "rl/algorithm.h"

namespace pg::rl {

struct AlgorithmField {
  std::string name;   // "clip-low"
  std::string about;  // one line; for an enum it lists all names
  std::function<std::string(const Algorithm&)> get;
  std::function<void(Algorithm&, const std::string&)> set;  // throws Error on an invalid value
  std::function<void(const Algorithm&)> check;              // Error when the value is out of the field's range
};
const std::vector<AlgorithmField>& algorithm_fields();

}  // namespace pg::rl
