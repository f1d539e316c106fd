// The learning rate schedule: its fields and checks.
#include "nn/schedule.h"

#include "tensor/base/error.h"

namespace pg {

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
