// The report of --profile.
#include "tools/pg/run/profile_report.h"

#include <sys/resource.h>

#include "tools/pg/run/progress.h"

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
  remark(out, "{}\n{}memory of a step in MB: {}; {:.1f} resident at most\n", profile_->table(), timeline_->text(), line,
         mb(resident()));
  if (m.formula > 0) {
    remark(out, "weights, gradients and optimizer of this rank: {:.1f} MB, by the formula of ZeRO {:.1f}\n",
           mb(m.weights + m.gradients + m.optimizer), mb(m.formula));
  }
}

}  // namespace pg::tools
