#pragma once
// Controls the weight β of the KL to the reference during training.
#include <cstdint>
#include <vector>

namespace pg::rl {

enum class KlSchedule : uint8_t {
  fixed,
  warmup,  // rises linearly from 0 over warmup_tokens
  adaptive,  // moves the KL towards a target: e = clip(KL/target - 1, ±0.2), β ← β·(1 + e·n/horizon) (Ziegler et al.
             // 2019, arXiv:1909.08593)
  stepped,  // moves the KL towards a target by the mean of the last ten updates: above 2 or 1.5 times the target, β·1.5
            // or β·1.1; below 0.5 or 0.75 times the target, β·0.7 or β·0.9; β is clamped to [1e-5, 1]. β does not
            // change before ten updates.
};

struct KlControlOptions {
  KlSchedule schedule = KlSchedule::fixed;
  double beta = 0.05;
  double warmup_tokens = 0;
  double target = 6;       // nats per response; for adaptive and stepped
  double horizon = 10000;  // responses; for adaptive; must be more than a fifth of the responses of one update
};

class KlControl {
 public:
  explicit KlControl(const KlControlOptions& options = {});
  double beta() const;  // for the next update
  // Called after an update with the mean KL per response in nats, and its number of responses and tokens.
  void update(double kl, double responses, double tokens);

  // State saved in a checkpoint.
  struct State {
    double beta = 0, tokens = 0;
    std::vector<double> recent = {};  // KLs of the last updates, oldest first; for stepped
  };
  State state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  void step_towards_target(double kl);

  KlControlOptions options_;
  State state_;
};

}  // namespace pg::rl
