// A step of an optimizer, and AdamW over a slab of parameters.
#include "nn/optim.h"

#include <cmath>

#include "autograd/ops.h"
#include "tensor/base/error.h"
#include "tensor/kernels.h"

namespace pg {

void Optimizer::step(double lr, double grad_scale) {
  NoGrad guard;
  slab_.fill_missing_grads();
  slab_.refresh_masters();
  ++steps_;
  update(lr, grad_scale);
  slab_.gather_params();
  slab_.bump_version();
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

}  // namespace pg
