// SGD and AdamW over a slab of parameters; the fields and checks of the learning rate schedule.
#include "nn/optim.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "autograd/ops.h"
#include "tensor/base/error.h"
#include "tensor/kernels.h"

namespace pg {

std::vector<Field> fields(AdamWOptions& o) {
  return {{"beta1", &o.beta1, "AdamW: decay of the mean", kBelowOne},
          {"beta2", &o.beta2, "AdamW: decay of the mean square", kBelowOne},
          {"adam-eps", &o.eps, "AdamW: added to the root of the mean square", kPositive},
          {"weight-decay", &o.weight_decay, "AdamW: weight decay of matrices", kNotNegative}};
}

void Optimizer::step(double lr, double grad_scale) {
  NoGrad guard;
  slab_.fill_missing_grads();
  slab_.refresh_masters();
  ++steps_;
  update(lr, grad_scale);
  slab_.gather_params();
  slab_.bump_version();
}

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

Sgd::Sgd(ParamSlab& slab, const SgdOptions& options) : Optimizer(slab), options_(options) {
  check(options.momentum >= 0 && options.momentum < 1, "Sgd: momentum must be in [0, 1), got {}", options.momentum);
  check(!options.nesterov || options.momentum > 0, "Sgd: nesterov needs a momentum");
  if (options.momentum > 0) momentum_ = slab.zeros();
}

NamedTensors Sgd::own_state() const {
  return momentum_.defined() ? NamedTensors{{"momentum.", momentum_}} : NamedTensors{};
}

void Sgd::update(double lr, double grad_scale) {
  const Kernels& k = kernels(slab_.params().device());
  for (const Shard& own : slab_.own()) {
    const auto part = [&](const Tensor& slab) { return slab.view_slice(0, own.begin, own.end); };
    Tensor g = affine(part(slab_.grads()), grad_scale, 0);
    if (options_.weight_decay != 0) g = g + part(slab_.params()) * options_.weight_decay;
    if (momentum_.defined()) {
      k.accumulate(part(momentum_), g, options_.momentum);
      g = options_.nesterov ? g + part(momentum_) * options_.momentum : part(momentum_);
    }
    k.accumulate(part(slab_.params()), g * -lr, 1);
  }
  slab_.round_params();
}

namespace {

// A flag for each kDecayUnit elements of the slab: 1 for segments with decay (AdamWArgs::decayed).
Tensor decay_flags(const ParamSlab& slab) {
  const Tensor flags = Tensor::zeros({(slab.size() + kDecayUnit - 1) / kDecayUnit}, u8);
  const auto of_unit = flags.data<uint8_t>();
  static_assert(ParamSlab::kAlign % kDecayUnit == 0);  // no unit has elements of two segments
  for (const ParamSlab::Segment& segment : slab.segments()) {
    if (!segment.decay) continue;
    for (int64_t i = segment.begin; i < segment.end; i += kDecayUnit) of_unit[static_cast<size_t>(i / kDecayUnit)] = 1;
  }
  return flags.to(slab.params().device());
}

}  // namespace

AdamW::AdamW(ParamSlab& slab, const AdamWOptions& o)
    : Optimizer(slab),
      options_(o),
      m_(slab.zeros()),
      v_(slab.zeros()),
      now_(Tensor::zeros({4}, f64, slab.params().device())) {
  check(o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1, "AdamW: betas must be in [0, 1), got {} and {}",
        o.beta1, o.beta2);
  check(o.eps > 0 && o.weight_decay >= 0, "AdamW: eps must be positive and weight_decay not negative, got {} and {}",
        o.eps, o.weight_decay);
  if (o.weight_decay > 0) decayed_ = decay_flags(slab);
}

NamedTensors AdamW::own_state() const { return {{"m.", m_}, {"v.", v_}}; }

void AdamW::update(double lr, double grad_scale) {
  send_numbers(lr, steps_);
  run({.grad_scale = grad_scale});
}

void AdamW::begin_step(double lr) {
  slab_.refresh_masters();
  send_numbers(lr, steps_ + 1);
}

void AdamW::update_by_norm(const Tensor& squared_norm, double max_norm) {
  slab_.fill_missing_grads();
  run({.sum_of_squares = squared_norm, .max_norm = max_norm});
  slab_.gather_params();
}

void AdamW::end_step() {
  ++steps_;
  slab_.bump_version();
}

void AdamW::send_numbers(double lr, int64_t step) {
  const auto t = static_cast<double>(step);
  const double numbers[] = {lr, 1 - std::pow(options_.beta1, t), 1 - std::pow(options_.beta2, t), t};
  now_.copy_from(Tensor::from(std::span<const double>(numbers), {4}));
}

void AdamW::run(AdamWArgs args) {
  args.beta1 = options_.beta1;
  args.beta2 = options_.beta2;
  args.eps = options_.eps;
  args.now = now_;
  args.stochastic_rounding = options_.stochastic_rounding;
  args.seed = options_.seed;
  args.weight_decay = options_.weight_decay;
  if (decayed_.defined()) args.decayed = decayed_;
  // Gaps between segments hold zeros in all four slabs and remain zero.
  for (const Shard& own : slab_.own()) {
    const auto part = [&](const Tensor& slab) { return slab.view_slice(0, own.begin, own.end); };
    if (slab_.rounded().defined()) args.rounded = part(slab_.rounded());
    args.first = own.begin;
    kernels(slab_.params().device()).adamw(part(slab_.params()), part(slab_.grads()), part(m_), part(v_), args);
  }
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
