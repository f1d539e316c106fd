#pragma once
// Controls the weight β of the KL to the reference during training.
#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/base/table.h"

namespace pg::rl {

struct KlControlOptions;
// What changes from update to update, saved in a checkpoint.
struct KlControlState {
  double beta = 0, tokens = 0;
  std::vector<double> recent = {};  // KLs of the last updates, oldest first; for stepped
};

// How β changes. {beta} and other names of options in braces are replaced by their values when the formula is printed.
struct KlSchedule {
  static constexpr const char* axis = "kl-schedule";
  static const std::vector<KlSchedule>& table();

  const char *name, *formula;
  // Throws Error for options that the schedule cannot use.
  std::function<void(const KlControlOptions&)> check_options;
  // β for the next update. Empty: the state's.
  std::function<double(const KlControlOptions&, const KlControlState&)> beta;
  // Called after an update with the mean KL per response in nats, and the number of responses. Empty: β stays.
  std::function<void(const KlControlOptions&, KlControlState&, double kl, double responses)> update;
  bool has_horizon = false;  // whether the horizon must be above a fifth of the responses of an update
};

struct KlControlOptions {
  Choice<KlSchedule> schedule = "fixed";
  double beta = 0.05;
  double warmup_tokens = 0;
  double target = 6;       // nats per response; for adaptive and stepped
  double horizon = 10000;  // responses; for adaptive; must be more than a fifth of the responses of one update
};

class KlControl {
 public:
  using State = KlControlState;
  explicit KlControl(const KlControlOptions& options = {});
  double beta() const;  // for the next update
  // Called after an update with the mean KL per response in nats, and its number of responses and tokens.
  void update(double kl, double responses, double tokens);
  State state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  KlControlOptions options_;
  State state_;
};

}  // namespace pg::rl
