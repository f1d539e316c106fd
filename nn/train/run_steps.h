#pragma once
// The loop of every training: the steps, with evaluations and checkpoints when they are due.
#include <cstdint>
#include <functional>

namespace pg {

struct StepLoop {
  int64_t last = 0;                                    // the step after which the training ends
  int64_t eval_interval = 0, checkpoint_interval = 0;  // steps between them; 0: only at the end
  std::function<int64_t()> steps;                      // the number of steps done
  std::function<bool()> step;                          // does the next step; false if it was left out to stop
  std::function<void(int64_t step)> on_eval = {};      // with an interval also at step 0
  std::function<void(int64_t step)> on_checkpoint = {};
  std::function<bool()> should_stop = {};  // asked before every step
};

// Steps until `last` or until should_stop answers true or a step is left out: true if `last` was reached. Evaluation
// and checkpoint of a step run before the next step, and after the last one. Where a resumed training begins, they are
// left out: the training that stopped there has done them.
inline bool run_steps(const StepLoop& loop) {
  const int64_t start = loop.steps();
  for (;;) {
    const int64_t steps = loop.steps();
    const bool done = steps >= loop.last, repeated = steps == start && start > 0 && !done;
    const auto due = [&](int64_t interval) { return done || (interval > 0 && steps % interval == 0 && !repeated); };
    if (loop.on_eval && due(loop.eval_interval)) loop.on_eval(steps);
    if (loop.on_checkpoint && steps > 0 && due(loop.checkpoint_interval)) loop.on_checkpoint(steps);
    if (done) return true;
    if ((loop.should_stop && loop.should_stop()) || !loop.step()) return false;
  }
}

}  // namespace pg
