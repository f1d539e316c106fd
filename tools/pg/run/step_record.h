#pragma once
// `pg rl --record-step N`: one step of a run as a file for the page microscope.html of `make web`
// (tools/web/microscope.h), RUN/step_N.json. It has the responses with their rewards and, for each token, the
// log-probability by the sampler, by the policy before the update and after each of its optimizer steps, by the
// reference, the critic's value and the entropy; every number with all its digits.
#include <string>
#include <vector>

#include "rl/text/trainer.h"

namespace pg::tools {

class StepRecorder {
 public:
  // `step` counts from 1. The others must outlive the recorder. Throws Error for a step that would be too large a file,
  // and for a temperature that changes: the log-probabilities would be at another one.
  StepRecorder(int64_t step, const rl::RlConfig& config, const TextTask& task, const Transformer& policy);
  // The hooks, which then also record. The file is written at the end of the step.
  rl::RlHooks added_to(rl::RlHooks hooks, std::string path);

 private:
  void begin(const rl::Experience& experience, const rl::Batch& batch);
  void add_update(const rl::UpdateReport& report);
  std::string text_of(const rl::Metrics& metrics) const;

  const int64_t step_;
  const rl::RlConfig& config_;
  const TextTask& task_;
  const Transformer& policy_;
  bool now_ = false;  // whether the step to record is running
  rl::Experience experience_;
  rl::Batch batch_;
  Tensor entropy_;
  std::vector<rl::UpdateReport> updates_;
  std::vector<Tensor> log_probs_;  // [k]: after k + 1 optimizer steps, f64 [B, T]
};

}  // namespace pg::tools
