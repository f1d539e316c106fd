#pragma once
// The weight β of the KL to the reference, as training goes on.
#include <cstdint>

namespace pg::rl {

enum class KlSchedule : uint8_t {
  fixed,
  warmup,  // rises linearly from 0 over warmup_tokens
  adaptive,  // holds the KL near a target: e = clip(KL/target - 1, ±0.2), β ← β·(1 + e·n/horizon) (Ziegler et al. 2019,
             // arXiv:1909.08593)
};

struct KlControlOptions {
  KlSchedule schedule = KlSchedule::fixed;
  double beta = 0.05;
  double warmup_tokens = 0;
  double target = 6;       // nats per response
  double horizon = 10000;  // responses; more than a fifth of those of one update
};

class KlControl {
 public:
  explicit KlControl(const KlControlOptions& options = {});
  double beta() const;  // for the next update
  // After an update: the mean KL per response, in nats, and how many responses and tokens were in it.
  void update(double kl, double responses, double tokens);

  // What a checkpoint keeps.
  struct State {
    double beta = 0, tokens = 0;
  };
  State state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  KlControlOptions options_;
  State state_;
};

}  // namespace pg::rl
