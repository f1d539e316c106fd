// The table of what each collective has, and the check of calls that come from other ranks.
#include "tensor/comm/collective_call.h"

#include <fmt/core.h>

#include <type_traits>

#include "tensor/dtype.h"

namespace pg {
namespace {

using Op = CollectiveCall::Op;

static_assert(std::has_unique_object_representations_v<CollectiveCall>);

// What a call of each operation has, in the order of Op.
struct Rule {
  const char* name;
  bool elements, adds_up, root, unit, into;
};
constexpr Rule kRules[] = {
    {"all_reduce", true, true, false, false, false},    //
    {"reduce_scatter", true, true, false, true, true},  //
    {"all_gather", true, false, false, true, false},    //
    {"broadcast", true, false, true, false, false},     //
    {"barrier", false, false, false, false, false},
};
constexpr int32_t kLastOp = std::size(kRules) - 1;
static_assert(static_cast<int32_t>(Op::barrier) == kLastOp);

// Null for a number that is no operation.
const Rule* rule_of(Op op) {
  const auto i = static_cast<int32_t>(op);
  return i >= 0 && i <= kLastOp ? &kRules[i] : nullptr;
}

}  // namespace

bool adds_up(Op op) {
  const Rule* rule = rule_of(op);
  return rule && rule->adds_up;
}

const char* name_of(Op op) {
  const Rule* rule = rule_of(op);
  return rule ? rule->name : "?";
}

std::string name_of(const CollectiveCall& call) {
  const std::string name = name_of(call.op);
  if (call.op == Op::barrier) return name;
  const bool known = call.dtype >= 0 && call.dtype <= static_cast<int32_t>(u8);
  std::string text = fmt::format("{} of {} {}", name, call.n, known ? name_of(static_cast<DType>(call.dtype)) : "?");
  if (call.op == Op::broadcast) text += fmt::format(" from rank {}", call.root);
  if (call.unit != 1) text += fmt::format(" in units of {}", call.unit);
  return text;
}

std::string defect_of(const CollectiveCall& call, int ranks) {
  const auto op = static_cast<int32_t>(call.op);
  const Rule* rule = rule_of(call.op);
  if (!rule) return fmt::format("operation {}, expected 0 to {}", op, kLastOp);
  const auto last_type = static_cast<int64_t>(rule->adds_up ? i32 : u8);
  const struct {
    const char* what;
    int64_t value, least, most;
  } numbers[] = {
      {"element type", call.dtype, 0, rule->elements ? last_type : 0},
      {"root", call.root, 0, rule->root ? ranks - 1 : 0},
      {"terms", call.terms, rule->adds_up, rule->adds_up ? ranks : 0},
      {"elements", call.n, 0, rule->elements ? INT64_MAX : 0},
      {"unit", call.unit, 1, rule->unit ? INT64_MAX : 1},
      {"add", call.add, 0, rule->into},
  };
  for (const auto& [what, value, least, most] : numbers) {
    if (value >= least && value <= most) continue;
    return least == most ? fmt::format("{} {}, expected {}", what, value, least)
                         : fmt::format("{} {}, expected {} to {}", what, value, least, most);
  }
  return "";
}

}  // namespace pg
