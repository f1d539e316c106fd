// The options of AdamW and of the learning rate schedule as fields, and the checks of the schedule.
#include "nn/optim.h"
#include "nn/train/schedule.h"
#include "tensor/base/error.h"
#include "tensor/base/fields.h"

namespace pg {

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
