#pragma once
// What changes during training: the weight β of the KL to the reference, the temperature, and a penalty for responses
// that reach the length limit.
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

// DAPO's soft penalty for responses that reach the length limit (Yu et al. 2025, arXiv:2503.14476): 0 up to max_length
// - cache tokens, then falling linearly to -1 at max_length, -1 beyond. In the paper the limit is no answer's length.
// Here right answers may fill it, so the trainer asks only for responses that are not right and longer than such an
// answer.
double overlong_penalty(int64_t length, int64_t max_length, int64_t cache);

// Sampling temperature that rises when the rewards have little spread: base·target_std / std, clamped to [low, high].
// It is high if the last batch had no spread, and base before the first batch (std < 0). target_std should be the
// standard deviation of a good batch: rewards in [0, 1] never have more than 1/2, so a target of 1 would hold the
// temperature at `high`.
double adaptive_temperature(double base, double std, double target_std, double low, double high);

}  // namespace pg::rl
