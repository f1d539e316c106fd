// Affinity and CPU quota.
#include "tensor/base/cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "tensor/base/control_group.h"

namespace pg {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// The first two words of a text as a quotient; infinity unless both are numbers above 0.
double quotient(std::istream& text) {
  double quota = 0, period = 0;
  return text >> quota >> period && quota > 0 && period > 0 ? quota / period : kNone;
}

// That of the group in this folder.
double quota_in(const std::string& folder) {
  std::ifstream second(folder + "/cpu.max");
  std::ifstream quota(folder + "/cpu.cfs_quota_us"), period(folder + "/cpu.cfs_period_us");
  std::stringstream first;
  if (quota && period) first << quota.rdbuf() << ' ' << period.rdbuf();
  return std::min(quotient(second), quotient(first));
}

}  // namespace

namespace detail {

double cpu_quota(std::string_view groups, const std::string& root) {
  double smallest = kNone;
  each_group(groups, root, "cpu", [&](const std::string& folder) { smallest = std::min(smallest, quota_in(folder)); });
  return smallest;
}

}  // namespace detail

int usable_cores() {
  const double quota = std::ceil(detail::cpu_quota(detail::own_groups(), detail::kGroupRoot));
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<int>(std::max(1.0, std::min(cores, quota)));
}

}  // namespace pg
