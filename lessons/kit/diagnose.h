#pragma once
// The catalogue of known mistakes. Each is a transformation of the expected values. If one reproduces the learner's
// values to 1e-6, its name is more useful than any difference. Values that agree with the expected ones to 1e-6 were
// computed in float: they are not searched for any other mistake.
#include <optional>
#include <string>
#include <vector>

#include "lessons/kit/value.h"

namespace pg::kit {

// A mistake that is specific to one check: the values it gives, and the message.
struct Mistake {
  std::string says;
  Value value;
};

// The error of `got`, in one sentence, or "" if no known mistake explains it. `before` is the content of the result
// when the learner's function was called, for results that must be added to. `exact` requires every bit to agree.
std::string diagnose(const Value& got, const Value& want, const std::vector<Mistake>& known = {},
                     const std::optional<Value>& before = {}, bool exact = false);

}  // namespace pg::kit
