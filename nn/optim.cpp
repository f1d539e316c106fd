// SGD and AdamW over a slab of parameters; the fields and checks of the learning rate schedule.
#include "nn/optim.h"

#include <cmath>
#include <map>

#include "autograd/ops.h"
#include "tensor/base/error.h"

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
  slab_.bump_version();
}

NamedTensors Optimizer::state() const {
  NamedTensors result = own_state();
  if (slab_.rounded().defined()) {
    for (auto& entry : slab_.named_views(slab_.params(), "master.")) result.push_back(std::move(entry));
  }
  return result;
}

void Optimizer::load_state(const NamedTensors& state, int64_t steps) {
  const NamedTensors own = this->state();
  std::map<std::string, const Tensor*> given;
  for (const auto& [name, tensor] : state) given[name] = &tensor;
  for (const auto& [name, tensor] : own) {
    const auto found = given.find(name);
    check(found != given.end(), "optimizer state: '{}' is missing; was it saved by another optimizer?", name);
    check(found->second->shape() == tensor.shape() && found->second->dtype() == tensor.dtype(),
          "optimizer state: '{}' is {} {}, expected {} {}", name, found->second->dtype(), found->second->shape(),
          tensor.dtype(), tensor.shape());
  }
  check(given.size() == own.size(), "optimizer state: {} tensors, expected {}; was it saved by another optimizer?",
        given.size(), own.size());
  check(steps >= 0, "optimizer state: the number of steps must not be negative, got {}", steps);
  for (const auto& [name, tensor] : own) tensor.copy_from(*given[name]);
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
  return momentum_.defined() ? slab_.named_views(momentum_, "momentum.") : NamedTensors{};
}

void Sgd::update(double lr, double grad_scale) {
  const Kernels& k = kernels(slab_.params().device());
  Tensor g = affine(slab_.grads(), grad_scale, 0);
  if (options_.weight_decay != 0) g = g + slab_.params() * options_.weight_decay;
  if (momentum_.defined()) {
    k.accumulate(momentum_, g, options_.momentum);
    g = options_.nesterov ? g + momentum_ * options_.momentum : momentum_;
  }
  k.accumulate(slab_.params(), g * -lr, 1);
  slab_.round_params();
}

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
}

NamedTensors AdamW::own_state() const {
  NamedTensors result = slab_.named_views(m_, "m.");
  for (auto& entry : slab_.named_views(v_, "v.")) result.push_back(std::move(entry));
  return result;
}

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
  const auto& segments = slab_.segments();
  args.beta1 = options_.beta1;
  args.beta2 = options_.beta2;
  args.eps = options_.eps;
  args.now = now_;
  args.stochastic_rounding = options_.stochastic_rounding;
  args.seed = options_.seed;
  const auto decay = [&](size_t i) { return segments[i].decay ? options_.weight_decay : 0; };
  for (size_t first = 0; first < segments.size();) {
    size_t last = first;
    while (last + 1 < segments.size() && decay(last + 1) == decay(first)) ++last;
    // Gaps between segments hold zeros in all four slabs and remain zero.
    const auto part = [&](const Tensor& slab) { return slab.view_slice(0, segments[first].begin, segments[last].end); };
    if (slab_.rounded().defined()) args.rounded = part(slab_.rounded());
    args.weight_decay = decay(first);
    args.first = segments[first].begin;
    kernels(slab_.params().device()).adamw(part(slab_.params()), part(slab_.grads()), part(m_), part(v_), args);
    first = last + 1;
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
