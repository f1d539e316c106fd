// The cores and the memory that the affinity and the control groups of this process leave it.
#include "tensor/base/cores.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "tensor/base/error.h"

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

// The number behind `name` in a file of lines "name number …"; the first number of the file if `name` is empty.
double number_in(const std::string& file, const std::string& name = "") {
  std::ifstream text(file);
  std::string word;
  while (!name.empty() && word != name) {
    if (!(text >> word)) return kNone;
  }
  double number = 0;
  return text >> number ? number : kNone;
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

namespace detail {

std::string own_groups() {
  std::ifstream file("/proc/self/cgroup");
  std::stringstream groups;
  if (file) groups << file.rdbuf();
  return groups.str();
}

void each_group(std::string_view groups, const std::string& root, std::string_view controller,
                const std::function<void(const std::string&)>& f) {
  const std::string name = fmt::format(",{},", controller);
  std::istringstream lines{std::string(groups)};
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/a/b" in version 1, "0::/a/b" in version 2
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && fmt::format(",{},", controllers).find(name) == std::string::npos) continue;
    const std::string mount = controllers.empty() ? root : root + "/" + controllers;
    // A container may see its own group mounted as the root: then the longer folders do not exist.
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      f(mount + path);
      if (path.find('/') == std::string::npos) break;
    }
  }
}

MachineMemory group_memory(std::string_view groups, const std::string& root) {
  MachineMemory m{kNone, kNone};
  const auto add = [&](double limit, double used, double cached) {
    m.limit = std::min(m.limit, limit);
    if (limit < kNone && used < kNone) m.free = std::min(m.free, limit - used + (cached < kNone ? cached : 0));
  };
  each_group(groups, root, "memory", [&](const std::string& folder) {
    add(number_in(folder + "/memory.max"), number_in(folder + "/memory.current"),
        number_in(folder + "/memory.stat", "inactive_file"));
    add(number_in(folder + "/memory.limit_in_bytes"), number_in(folder + "/memory.usage_in_bytes"),
        number_in(folder + "/memory.stat", "total_inactive_file"));
  });
  m.free = std::max(0.0, m.free);
  return m;
}

}  // namespace detail

MachineMemory machine_memory() {
  const MachineMemory groups = detail::group_memory(detail::own_groups(), detail::kGroupRoot);
  const double pages = static_cast<double>(sysconf(_SC_PHYS_PAGES)),
               all = pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double available = 1024 * number_in("/proc/meminfo", "MemAvailable:");  // in kB
  return {std::min(all, groups.limit), std::min({all, available, groups.free})};
}

}  // namespace pg
