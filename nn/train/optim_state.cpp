// The state of an optimizer, as checkpoints hold it: whole tensors, or the parts of ranks. And the options of AdamW and
// of the schedule as fields.
#include <algorithm>
#include <charconv>
#include <map>

#include "nn/optim.h"
#include "nn/train/schedule.h"
#include "tensor/base/error.h"
#include "tensor/base/fields.h"

namespace pg {

NamedTensors Optimizer::state() const {
  NamedTensors result;
  for (const auto& [prefix, tensor] : all_state()) {
    for (auto& entry : slab_.named_views(tensor, prefix)) result.push_back(std::move(entry));
  }
  return result;
}

NamedTensors Optimizer::all_state() const {
  NamedTensors all = own_state();
  if (slab_.rounded().defined()) all.emplace_back("master.", slab_.params());
  return all;
}

namespace {

// The elements of a parameter, in row-major order from `begin` on.
struct StatePart {
  int64_t begin = 0;
  const Tensor* values = nullptr;
  int64_t end() const { return begin + values->numel(); }
};
using StateParts = std::map<std::string, std::vector<StatePart>>;

StateParts parts_of(const NamedTensors& state) {
  StateParts parts;
  for (const auto& [name, tensor] : state) {
    int64_t begin = 0;
    const size_t bracket = name.ends_with(']') ? name.rfind('[') : std::string::npos;
    if (bracket != std::string::npos) {
      const char* at = name.data() + bracket + 1;
      const auto [stop, error] = std::from_chars(at, name.data() + name.size(), begin);
      const bool named = error == std::errc() && *stop == ':' && begin >= 0 && begin <= INT64_MAX - tensor.numel();
      check(
          named && tensor.rank() == 1 && name.substr(bracket) == fmt::format("[{}:{}]", begin, begin + tensor.numel()),
          "optimizer state: '{}' has shape {}; a part of a tensor has rank 1 and is named NAME[BEGIN:END]", name,
          tensor.shape());
    }
    parts[name.substr(0, bracket)].push_back({begin, &tensor});
  }
  for (auto& [name, of_name] : parts) {
    std::sort(of_name.begin(), of_name.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  }
  return parts;
}

// Copies the elements of a segment that are in `own` into `to`, which has the layout of the slab.
void copy_part(const std::vector<StatePart>& parts, const ParamSlab::Segment& segment, const Shard& own,
               const Tensor& to) {
  for (const StatePart& part : parts) {
    const int64_t begin = std::max(segment.begin + part.begin, own.begin);
    const int64_t end = std::min(segment.begin + part.end(), own.end);
    if (begin >= end) continue;
    const Tensor flat = part.values->view_reshape({part.values->numel()});
    const int64_t first = segment.begin + part.begin;
    to.view_slice(0, begin, end).copy_from(flat.view_slice(0, begin - first, end - first));
  }
}

}  // namespace

void Optimizer::load_state(const NamedTensors& state, int64_t steps) {
  const StateParts given = parts_of(state);
  const NamedTensors own = all_state();
  size_t known = 0;
  for (const auto& [prefix, tensor] : own) {
    for (const ParamSlab::Segment& segment : slab_.segments()) {
      const std::string name = prefix + segment.name;
      const auto found = given.find(name);
      check(found != given.end(), "optimizer state: '{}' is missing; was it saved by another optimizer?", name);
      ++known;
      int64_t end = 0;
      for (const StatePart& part : found->second) {
        const Tensor& values = *part.values;
        const bool whole = found->second.size() == 1 && values.shape() == segment.shape;
        check((whole || values.rank() == 1) && values.dtype() == tensor.dtype(),
              "optimizer state: '{}' is {} {}, expected {} {}", name, values.dtype(), values.shape(), tensor.dtype(),
              segment.shape);
        check(part.begin == end, "optimizer state: the elements of '{}' from {} on are {}", name,
              std::min(part.begin, end), part.begin < end ? "there twice" : "missing");
        end = part.end();
      }
      const int64_t expected = segment.end - segment.begin;
      check(end == expected, "optimizer state: '{}' has {} elements, expected {} {}", name, end, expected,
            segment.shape);
    }
  }
  check(given.size() == known, "optimizer state: {} tensors, expected {}; was it saved by another optimizer?",
        given.size(), known);
  check(steps >= 0, "optimizer state: the number of steps must not be negative, got {}", steps);
  for (const auto& [prefix, tensor] : own) {
    for (const ParamSlab::Segment& segment : slab_.segments()) {
      for (const Shard& shard : slab_.own()) copy_part(given.at(prefix + segment.name), segment, shard, tensor);
    }
  }
  if (slab_.rounded().defined()) {
    if (rounds_to_nearest()) slab_.round_params();
    slab_.bump_version();
  }
  steps_ = steps;
}

std::vector<Field> fields(AdamWOptions& o) {
  return {{"beta1", &o.beta1, "AdamW: decay of the mean", kBelowOne},
          {"beta2", &o.beta2, "AdamW: decay of the mean square", kBelowOne},
          {"adam-eps", &o.eps, "AdamW: added to the root of the mean square", kPositive},
          {"weight-decay", &o.weight_decay, "AdamW: weight decay of matrices", kNotNegative}};
}

std::vector<Field> fields(Schedule& s) {
  using Kind = Schedule::Kind;
  return {
      {"schedule",
       named_field<Kind>(s.kind, {{"constant", Kind::constant}, {"linear", Kind::linear}, {"cosine", Kind::cosine}}),
       "shape of the learning rate's decay"},
      {"lr", &s.lr, "highest learning rate", kNotNegative},
      {"min-lr", &s.min_lr, "last learning rate, for linear and cosine", kNotNegative},
      {"warmup", &s.warmup_steps, "steps of rising learning rate", whole_from(0)}};
}

void check_schedule(std::string_view owner, const Schedule& s, int64_t steps) {
  check(s.kind == Schedule::Kind::constant || s.min_lr <= s.lr,
        "{}: min-lr {} is above lr {}, so the learning rate would rise; take a min-lr of at most {}", owner, s.min_lr,
        s.lr, s.lr);
  check(s.warmup_steps == 0 || s.warmup_steps < steps,
        "{}: a warmup of {} steps never ends in a run of {}; take a warmup below {}", owner, s.warmup_steps, steps,
        steps);
}

}  // namespace pg
