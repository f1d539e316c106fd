#pragma once
// The control groups of this process (docker, Kubernetes, systemd) and the memory that they leave it.
#include <functional>
#include <string>
#include <string_view>

namespace pg {

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
