#pragma once
// TEMPORARY, until rl/algorithm.h has this function: the fields of an Algorithm.
#include "rl/algorithm.h"
#include "tensor/base/fields.h"

namespace pg::rl {

std::vector<Field> fields(Algorithm& algorithm);

}  // namespace pg::rl
