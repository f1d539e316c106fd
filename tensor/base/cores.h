#pragma once
// How many threads a process should start.
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

}  // namespace pg
