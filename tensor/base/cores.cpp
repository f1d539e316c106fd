// Affinity and CPU quota.
#include "tensor/base/cores.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

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
  std::istringstream lines{std::string(groups)};
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/a/b" in version 1, "0::/a/b" in version 2
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const std::string mount = controllers.empty() ? root : root + "/" + controllers;
    // A container may see its own group mounted as the root: then the longer folders do not exist.
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      smallest = std::min(smallest, quota_in(mount + path));
      if (path.find('/') == std::string::npos) break;
    }
  }
  return smallest;
}

}  // namespace detail

int usable_cores() {
  std::ifstream file("/proc/self/cgroup");
  std::stringstream groups;
  if (file) groups << file.rdbuf();
  const double quota = std::ceil(detail::cpu_quota(groups.str(), "/sys/fs/cgroup"));
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  return static_cast<int>(std::max(1.0, std::min(cores, quota)));
}

}  // namespace pg
