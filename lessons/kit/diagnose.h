#pragma once
// The catalogue of known mistakes. Each is a transformation of the expected numbers; when one reproduces the learner's
// numbers to 1e-6, its name is worth more than any difference. Numbers that agree with the expected ones to 1e-6 were
// computed in float: no other mistake is looked for in them.
#include <optional>
#include <string>
#include <vector>

#include "lessons/kit/value.h"

namespace pg::kit {

// A mistake that only one check knows: the numbers it gives, and what to say.
struct Mistake {
  std::string says;
  Value value;
};

// What is wrong with `got`, in one sentence, or "" when no known mistake explains it. `before` is what the result
// held when the learner's function was called, for results that must be added to; `exact` asks for every bit.
std::string diagnose(const Value& got, const Value& want, const std::vector<Mistake>& known = {},
                     const std::optional<Value>& before = {}, bool exact = false);

}  // namespace pg::kit
