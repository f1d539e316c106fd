#pragma once
// The weight β of the KL to the reference, as training goes on.
#include <cstdint>
#include <vector>

namespace pg::rl {

enum class KlSchedule : uint8_t {
  fixed,
  warmup,  // rises linearly from 0 over warmup_tokens
  adaptive,  // holds the KL near a target: e = clip(KL/target - 1, ±0.2), β ← β·(1 + e·n/horizon) (Ziegler et al. 2019,
             // arXiv:1909.08593)
  stepped,  // likewise, by the mean of the last ten updates: above 2, 1.5 times the target β·1.5, β·1.1; below 0.5,
            // 0.75 times β·0.7, β·0.9; held within [1e-5, 1]. Before ten updates β stays.
};

struct KlControlOptions {
  KlSchedule schedule = KlSchedule::fixed;
  double beta = 0.05;
  double warmup_tokens = 0;
  double target = 6;       // nats per response; adaptive and stepped
  double horizon = 10000;  // responses; adaptive; more than a fifth of those of one update
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
    std::vector<double> recent = {};  // KLs of the last updates, oldest first; stepped
  };
  State state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  void step_towards_target(double kl);

  KlControlOptions options_;
  State state_;
};

}  // namespace pg::rl
