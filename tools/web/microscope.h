#pragma once
// The policy gradient of a recorded step (tools/pg/run/step_record.h) under any algorithm of the table: what each token
// is credited with, its advantage, ratio and loss, and the derivative of the loss by its log-probability. All numbers
// are the engine's own, in f64: advantages(), token_losses() and the tape.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rl/methods/algorithm.h"
#include "rl/methods/batch.h"
#include "rl/text/experience.h"
#include "tensor/base/json.h"

namespace pg::web {

class Microscope {
 public:
  // Reads a recorded step. Throws Error naming what is missing or has the wrong length; then the step is the one
  // before.
  void load(const Json& file);

  // request: {"algorithm": name, "set": {field: text}, "update": k, "group": p}. k counts the optimizer steps that the
  // policy has made since the rollout, p the prompts. Returns
  //   loss, policy_loss, kl_loss, beta   over all responses of the step
  //   explain     the formulas
  //   constants   the numeric fields that act: name, about, value, low, high (null: none), whole
  //   responses   those to prompt p, each with lists of a number per token: reward, credit, advantage, log_prob, old,
  //               ratio (null without one), weight, kl (null without one), loss, gradient = d loss / d log π, stopped
  //               (-1, 0 or 1: Surrogate::stopped)
  // Throws Error for an unknown name, a value out of its range, choices that contradict each other, and what the
  // algorithm needs and the file has not.
  Json examine(const Json& request) const;

  // The table: algorithms [{name, source}].
  static Json table();

 private:
  rl::Batch batch_;                // reward is that before a KL is subtracted
  std::vector<Tensor> log_probs_;  // [k]: after k optimizer steps, f64 [B, T]
  rl::Experience scored_;          // of each response its score alone, for the groups that have a signal
  std::string algorithm_;
  std::map<std::string, std::string> fields_;  // of that algorithm in the recorded run
  double longest_ = 0;                         // tokens that a response may have
};

// A request and its answer as JSON texts: {"do": "table"}, {"do": "load", "file": {…}} or {"do": "examine", …} →
// {"value": …}, or {"error": text}.
std::string microscope(std::string_view request);

}  // namespace pg::web
