// The CPU quota and the memory of control groups, from files as Linux shows them.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tensor/base/cores.h"
#include "tests/catch.h"

using pg::detail::cpu_quota;

namespace {

class Groups {
 public:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const pg::testing::TempDir dir;
  const std::string root = dir.file("cgroup");
};

}  // namespace

TEST_CASE("no control group has a quota", "[parallel]") {
  const Groups g;
  CHECK(std::isinf(cpu_quota("", g.root)));
  CHECK(std::isinf(cpu_quota("0::/\n", g.root)));
  g.write("cpu.max", "max 100000\n");
  CHECK(std::isinf(cpu_quota("0::/\n", g.root)));
  g.write("cpu/cpu.cfs_quota_us", "-1\n");
  g.write("cpu/cpu.cfs_period_us", "100000\n");
  CHECK(std::isinf(cpu_quota("1:cpu:/\n0::/\n", g.root)));
}

TEST_CASE("the smallest quota of a group and of those around it counts", "[parallel]") {
  const Groups g;
  g.write("cpu.max", "200000 100000\n");  // docker --cpus 2
  CHECK(cpu_quota("0::/\n", g.root) == 2);
  CHECK(cpu_quota("0::/../host/path\n", g.root) == 2);
  g.write("a/cpu.max", "150000 100000\n");
  g.write("a/b/cpu.max", "max 100000\n");
  CHECK(cpu_quota("0::/a/b\n", g.root) == 1.5);
  g.write("a/b/cpu.max", "50000 100000\n");
  CHECK(cpu_quota("0::/a/b\n", g.root) == 0.5);
  CHECK(cpu_quota("0::/a\n", g.root) == 1.5);
}

TEST_CASE("quotas of version 1 are read from the controller of the CPU", "[parallel]") {
  const Groups g;
  g.write("cpu,cpuacct/docker/x/cpu.cfs_quota_us", "300000\n");
  g.write("cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  g.write("cpuset/docker/x/cpu.cfs_quota_us", "100000\n");
  g.write("cpuset/docker/x/cpu.cfs_period_us", "100000\n");
  CHECK(cpu_quota("5:cpuset:/docker/x\n4:cpu,cpuacct:/docker/x\n", g.root) == 3);
}

TEST_CASE("a damaged file of a quota counts as none", "[parallel]") {
  const Groups g;
  for (const char* text : {"", "x", "0 100000", "100000", "100000 0", "-5 100000", "nan 1", "1 x"}) {
    g.write("cpu.max", text);
    INFO(text);
    CHECK(std::isinf(cpu_quota("0::/\n", g.root)));
  }
  CHECK(std::isinf(cpu_quota("nonsense\n::\n:\n\n", g.root)));
}

TEST_CASE("a process has at least a core and at most those of its affinity", "[parallel]") {
  CHECK(pg::usable_cores() >= 1);
  CHECK(pg::usable_cores() <= static_cast<int>(std::thread::hardware_concurrency()));
}

TEST_CASE("the limit of memory of a control group was not seen", "[parallel]") {
  const Groups g;
  const auto memory = [&](const char* groups) { return pg::detail::group_memory(groups, g.root); };
  CHECK(std::isinf(memory("0::/\n").limit));
  CHECK(std::isinf(memory("0::/\n").free));
  g.write("memory.max", "max\n");
  g.write("memory.current", "1000\n");
  CHECK(std::isinf(memory("0::/\n").limit));
  g.write("a/memory.max", "8000\n");
  g.write("a/memory.current", "3000\n");
  g.write("a/memory.stat", "anon 2500\nfile 500\ninactive_file 400\nactive_file 100\n");
  CHECK(memory("0::/a/b\n").limit == 8000);
  CHECK(memory("0::/a/b\n").free == 8000 - 3000 + 400);  // cached pages of files can be taken
  g.write("a/b/memory.max", "2000\n");
  g.write("a/b/memory.current", "2500\n");
  CHECK(memory("0::/a/b\n").limit == 2000);
  CHECK(memory("0::/a/b\n").free == 0);
  g.write("memory/docker/x/memory.limit_in_bytes", "5000\n");
  g.write("memory/docker/x/memory.usage_in_bytes", "1000\n");
  g.write("memory/docker/x/memory.stat", "inactive_file 1\ntotal_inactive_file 30\n");
  CHECK(memory("7:memory:/docker/x\n").limit == 5000);
  CHECK(memory("7:memory:/docker/x\n").free == 4030);
  CHECK(pg::machine_memory().limit > 1e8);
  CHECK(pg::machine_memory().free <= pg::machine_memory().limit);
}
