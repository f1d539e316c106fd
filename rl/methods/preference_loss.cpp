// Losses on preference pairs: Bradley-Terry and the variants of DPO.
#include "rl/methods/other_losses.h"
#include "tensor/base/error.h"

namespace pg::rl {

std::vector<Field> fields(DpoOptions& o) {
  return {{"beta", &o.beta, "weight of the KL to the initial policy", kPositive},
          {"kind",
           named_field<DpoKind>(o.kind, {{"sigmoid", DpoKind::sigmoid},
                                         {"robust", DpoKind::robust},
                                         {"hinge", DpoKind::hinge},
                                         {"ipo", DpoKind::ipo}}),
           "loss of a pair"},
          {"label-smoothing", &o.label_smoothing, "assumed share of flipped labels",
           Range{.low = 0, .high = 0.5, .open_high = true}}};
}
namespace {

void check_pairs(const char* what, std::initializer_list<const Tensor*> all) {
  const Tensor& first = **all.begin();
  for (const Tensor* x : all) {
    check(x->rank() == 1 && x->shape() == first.shape(), "{}: expected one number per pair [N] for all, got {} and {}",
          what, first.shape(), x->shape());
  }
}

Tensor minus_log_sigmoid(const Tensor& x) { return softplus(neg(x)); }

}  // namespace

Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  check_pairs("bradley_terry_loss", {&chosen, &rejected});
  Tensor difference = chosen - rejected;
  if (margin.defined()) {
    check_pairs("bradley_terry_loss", {&chosen, &margin});
    difference = difference - margin.detach();
  }
  const Tensor loss = minus_log_sigmoid(difference);
  if (centring == 0) return loss;
  const Tensor sum = chosen + rejected;
  return loss + centring * (sum * sum);
}

DpoLoss dpo_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen, const Tensor& ref_rejected,
                 const DpoOptions& o) {
  check_pairs("dpo_loss", {&chosen, &rejected, &ref_chosen, &ref_rejected});
  check(o.beta > 0, "dpo_loss: beta must be positive, got {}", o.beta);
  check(o.label_smoothing >= 0 && o.label_smoothing < 0.5, "dpo_loss: label_smoothing must be in [0, 1/2), got {}",
        o.label_smoothing);
  const Tensor c = chosen - ref_chosen.detach(), r = rejected - ref_rejected.detach(), delta = c - r;
  const Tensor scaled = o.beta * delta, right = minus_log_sigmoid(scaled), wrong = minus_log_sigmoid(neg(scaled));
  const double e = o.label_smoothing;
  DpoLoss result{{}, o.beta * c.detach(), o.beta * r.detach()};
  switch (o.kind) {
    case DpoKind::sigmoid:
      result.loss = e == 0 ? right : (1 - e) * right + e * wrong;
      break;
    case DpoKind::robust:
      result.loss = ((1 - e) * right - e * wrong) / (1 - 2 * e);
      break;
    case DpoKind::hinge:
      result.loss = relu(1 - scaled);
      break;
    case DpoKind::ipo: {
      const Tensor miss = delta - 1 / (2 * o.beta);
      result.loss = miss * miss;
      break;
    }
  }
  return result;
}

}  // namespace pg::rl
