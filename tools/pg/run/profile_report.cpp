// The report of --profile.
#include "tools/pg/run/profile_report.h"

#include <sys/resource.h>

#include "tools/pg/bench/ceilings.h"
#include "tools/pg/cli/progress.h"

namespace pg::tools {
namespace {

// The most memory that the process had, in bytes.
size_t resident() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return static_cast<size_t>(usage.ru_maxrss);
#else
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
#endif
}

}  // namespace

void ProfileReport::print(std::FILE* out, const StepMemory& m,
                          const std::vector<std::pair<std::string, size_t>>& more) const {
  if (!profile_) return;
  std::vector<std::pair<std::string, size_t>> kinds = {
      {"weights", m.weights}, {"gradients", m.gradients}, {"optimizer", m.optimizer}, {"activations", m.activations}};
  if (m.most_weights > m.weights) kinds.insert(kinds.begin() + 1, {"gathered weights", m.most_weights - m.weights});
  kinds.insert(kinds.end(), more.begin(), more.end());
  const auto mb = [](size_t bytes) { return static_cast<double>(bytes) / 1e6; };
  std::string line;
  for (const auto& [name, bytes] : kinds) line += fmt::format("{}{} {:.1f}", line.empty() ? "" : ", ", name, mb(bytes));
  remark(out, "{}\n{}", profile_->table(), timeline_->text());
  if (m.weights > 0) remark(out, "memory of a step in MB: {}; ", line);
  remark(out, "{:.1f} MB resident at most\n", mb(resident()));
  if (m.formula > 0) {
    remark(out, "weights, gradients and optimizer of this rank: {:.1f} MB, by the formula of ZeRO {:.1f}\n",
           mb(m.weights + m.gradients + m.optimizer), mb(m.formula));
  }
}

rl::MachineRates measured_rates(bool wanted, DType dtype, const Device& device) {
  if (!wanted || !device.on_host()) return {};
  const Ceilings ceilings = measure_ceilings(dtype, 20);
  return {ceilings.flops, ceilings.bytes};
}

void SpeedReport::add(const rl::Metrics& m) {
  if (!m.has("time/rollout_bound_share")) return;
  const double rollout = m.at("time/rollout_s"), update = m.at("time/update_s");
  rollout_seconds_ += rollout;
  update_seconds_ += update;
  sampled_ += rollout * m.at("time/rollout_tokens_per_s");
  computed_ += update * m.at("time/update_tokens_per_s");
  bound_ += rollout * m.at("time/rollout_bound_share");
  flops_ += update * m.at("time/update_peak_share");
}

void SpeedReport::print(std::FILE* out, const rl::MachineRates& rates) const {
  if (rollout_seconds_ == 0) return;
  remark(out,
         "this machine: {:.1f} GFLOP/s, {:.1f} GB/s read from memory\n"
         "rollout: {:.0f} tokens/s, {:.0f} % of what reading the weights and arithmetic allow\n"
         "update: {:.0f} tokens/s forward and backward, {:.0f} % of the arithmetic peak\n",
         rates.flops / 1e9, rates.bytes / 1e9, sampled_ / rollout_seconds_, 100 * bound_ / rollout_seconds_,
         computed_ / update_seconds_, 100 * flops_ / update_seconds_);
}

}  // namespace pg::tools
