#pragma once
// What this process may use of the machine: cores and memory, within its control groups (docker, Kubernetes, systemd).
#include <functional>
#include <string>
#include <string_view>

namespace pg {

// The cores that this process may use: those of its affinity, but no more than the CPU quota of its control group
// (docker --cpus, Kubernetes, systemd), rounded up. At least 1.
int usable_cores();

namespace detail {
// The smallest quota, in cores, of a process's control groups and of the groups around them; infinity if none has one.
// `groups`: the text of /proc/self/cgroup. `root`: the folder where the groups are mounted, /sys/fs/cgroup. Versions 1
// (cpu.cfs_quota_us) and 2 (cpu.max) are read. A file that is missing or damaged counts as none.
double cpu_quota(std::string_view groups, const std::string& root);
}  // namespace detail

// Bytes. Infinity where nothing is known.
struct MachineMemory {
  double limit;  // of the machine, or of the smallest control group
  double free;   // that can still be taken within both, without what the system caches of files
};
MachineMemory machine_memory();

namespace detail {
// The text of /proc/self/cgroup, and the folder where the groups are mounted.
std::string own_groups();
inline constexpr const char* kGroupRoot = "/sys/fs/cgroup";
// Calls f with the folder of each group of a process, and of the groups around it, that `controller` ("cpu", "memory")
// may limit, in versions 1 and 2. `groups`: the text of /proc/self/cgroup.
void each_group(std::string_view groups, const std::string& root, std::string_view controller,
                const std::function<void(const std::string& folder)>& f);
// The smallest limit and the least free memory of these groups. A file that is missing or damaged sets no limit.
MachineMemory group_memory(std::string_view groups, const std::string& root);
}  // namespace detail

}  // namespace pg
