// The report's counts compared with counts computed by hand.
#include <fstream>
#include <string>

#include "tensor/sim/sim.h"
#include "tests/catch.h"
#include "tests/sim/device_array.h"
#include "tests/sim/kernels.h"
#include "tests/sim/must_find.h"

using namespace pg;
using namespace pg::testing;

namespace {

int line_number(const std::string& mark) {
  std::ifstream file("tests/sim/traffic.cu");
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    if (text.ends_with("// LINE: " + mark)) return line;
  }
  FAIL("no line is marked LINE: " << mark);
  return 0;
}

sim::LineStats stats_of(const sim::Report& report, const std::string& mark) {
  const int line = line_number(mark);
  for (const auto& stats : report.lines()) {
    if (stats.file == "tests/sim/traffic.cu" && stats.line == line) return stats;
  }
  FAIL("the report has no line " << line << " (" << mark << "):\n" << report.table());
  return {};
}

struct Traffic {
  uint64_t accesses, bytes, sectors, ideal;
};
void check_traffic(const sim::Report& report, const std::string& mark, const Traffic& expected) {
  const auto got = stats_of(report, mark);
  INFO(mark << "\n" << report.table());
  CHECK(got.accesses == expected.accesses);
  CHECK(got.bytes == expected.bytes);
  CHECK(got.sectors == expected.sectors);
  CHECK(got.ideal_sectors == expected.ideal);
  CHECK(got.shared_accesses == 0);
}

struct Banks {
  uint64_t accesses, passes, ideal;
  int ways;
};
void check_banks(const sim::Report& report, const std::string& mark, const Banks& expected) {
  const auto got = stats_of(report, mark);
  INFO(mark << "\n" << report.table());
  CHECK(got.shared_accesses == expected.accesses);
  CHECK(got.wavefronts == expected.passes);
  CHECK(got.ideal_wavefronts == expected.ideal);
  CHECK(got.worst_ways == expected.ways);
  CHECK(got.accesses == 0);
}

}  // namespace

TEST_CASE("sim report: sectors of coalesced and strided accesses", "[sim]") {
  needs_accesses();
  const int n = 256;  // 8 warps
  DeviceArray<float> x(std::vector<float>(8 * n + 8, 1.0f)), y(n);
  {
    const sim::Report report;
    strided_copy(x.data(), y.data(), n, 1, 0);
    check_traffic(report, "strided_copy reads", {8, 1024, 32, 32});  // 128 bytes per warp: 4 sectors
    check_traffic(report, "strided_copy writes", {8, 1024, 32, 32});
  }
  {
    const sim::Report report;
    strided_copy(x.data(), y.data(), n, 1, 1);
    check_traffic(report, "strided_copy reads", {8, 1024, 40, 32});  // shifted by 4 bytes: a fifth sector
  }
  {
    const sim::Report report;
    strided_copy(x.data(), y.data(), n, 2, 0);
    check_traffic(report, "strided_copy reads", {8, 1024, 64, 32});
  }
  {
    const sim::Report report;
    strided_copy(x.data(), y.data(), n, 8, 0);
    check_traffic(report, "strided_copy reads", {8, 1024, 256, 32});  // a sector per lane
    const auto& kernel = report.kernels().at("pg::testing::strided_copy_kernel");
    CHECK(kernel.bytes_requested == 2048);
    CHECK(kernel.bytes_moved == 32 * (256 + 32));
    CHECK(kernel.accesses == 16);
    CHECK(kernel.sectors == 256 + 32);
    CHECK(kernel.ideal_sectors == 32 + 32);
  }
}

TEST_CASE("sim report: a last warp of few lanes", "[sim]") {
  needs_accesses();
  DeviceArray<float> x(std::vector<float>(200, 1.0f)), y(200);
  const sim::Report report;
  strided_copy(x.data(), y.data(), 131, 1, 0);
  // Four warps of 32 lanes, and one of 3 lanes, whose 12 bytes are in one sector.
  check_traffic(report, "strided_copy reads", {5, 4 * 131, 17, 17});
  const auto& kernel = report.kernels().at("pg::testing::strided_copy_kernel");
  CHECK(kernel.launches == 1);
  CHECK(kernel.blocks == 2);
  CHECK(kernel.threads == 256);
}

TEST_CASE("sim report: the busiest warp", "[sim]") {
  needs_accesses();
  DeviceArray<float> x(std::vector<float>(1024, 1.0f)), y(1024);
  const sim::Report report;
  strided_copy(x.data(), y.data(), 1000, 1, 0);
  CHECK(report.kernels().at("pg::testing::strided_copy_kernel").accesses == 64);
  CHECK(report.kernels().at("pg::testing::strided_copy_kernel").busiest_warp == 2);  // a read and a write, in any block
  // Lane 31 reads 31 times; each lane writes once.
  for (const uint64_t launches : {1, 2}) {
    divergent_loop(x.data(), y.data());
    CHECK(report.kernels().at("pg::testing::divergent_loop_kernel").accesses == 32 * launches);
    CHECK(report.kernels().at("pg::testing::divergent_loop_kernel").busiest_warp == 32);
  }
}

TEST_CASE("sim report: vectors and bytes are one access each, a broadcast one sector", "[sim]") {
  needs_accesses();
  const int n = 512;
  DeviceArray<float> x(std::vector<float>(n, 1.0f)), y(n);
  DeviceArray<unsigned char> a(std::vector<unsigned char>(n, 1)), b(n);
  const sim::Report report;
  vector_copy(x.data(), y.data(), n);
  check_traffic(report, "vector_copy reads", {4, 2048, 64, 64});
  check_traffic(report, "vector_copy writes", {4, 2048, 64, 64});
  broadcast(x.data(), y.data(), n);
  check_traffic(report, "broadcast reads", {16, 2048, 16, 16});
  byte_copy(a.data(), b.data(), n);
  check_traffic(report, "byte_copy reads", {16, 512, 16, 16});
}

TEST_CASE("sim report: accesses of fewer than 16 bytes per lane are counted as narrow", "[sim]") {
  needs_accesses();
  const int n = 512;
  DeviceArray<float> x(std::vector<float>(n, 1.0f)), y(n);
  DeviceArray<unsigned char> a(std::vector<unsigned char>(n, 1)), b(n);
  const sim::Report report;
  strided_copy(x.data(), y.data(), 100, 1, 0);  // 3 warps, and one of 4 lanes
  vector_copy(x.data(), y.data(), n);
  byte_copy(a.data(), b.data(), n);
  shared_vectors(y.data());
  CHECK(stats_of(report, "strided_copy reads").narrow == 4);
  CHECK(stats_of(report, "strided_copy writes").narrow == 4);
  CHECK(stats_of(report, "vector_copy reads").narrow == 0);
  CHECK(stats_of(report, "byte_copy reads").narrow == 16);
  CHECK(stats_of(report, "shared_vectors reads").narrow == 0);  // shared memory is not counted
  CHECK(report.kernels().at("pg::testing::strided_copy_kernel").narrow == 8);
  CHECK(report.kernels().at("pg::testing::vector_copy_kernel").narrow == 0);
  CHECK(report.kernels().at("pg::testing::byte_copy_kernel").narrow == 32);
  // The table has the count beside that of all accesses.
  const std::string table = report.table();
  INFO(table);
  const auto row = [&](const std::string& mark) {
    const size_t at = table.find("tests/sim/traffic.cu:" + std::to_string(line_number(mark)));
    std::string kept;
    for (char c : table.substr(at, table.find('\n', at) - at)) {
      if (c != ' ' || kept.back() != ' ') kept += c;
    }
    return kept;
  };
  CHECK(contains(row("strided_copy reads"), " 4 4 13 13 100 %"));  // 3 · 4 sectors and one of 4 · 4 bytes
  CHECK(contains(row("vector_copy reads"), " 4 0 64 64 100 %"));
  CHECK(contains(table, "    global     narrow    sectors      ideal"));
}

TEST_CASE("sim report: lanes that leave a loop early", "[sim]") {
  needs_accesses();
  DeviceArray<float> x(std::vector<float>(1024, 1.0f)), y(32);
  const sim::Report report;
  divergent_loop(x.data(), y.data());
  // Lanes k+1 … 31 execute round k: 31 rounds and 496 loads. Lane l reads the bytes from 4l on of a row of 128 bytes.
  uint64_t sectors = 0, ideal = 0;
  for (int k = 0; k < 31; ++k) {
    sectors += 4 - (k + 1) / 8;
    ideal += (4 * (31 - k) + 31) / 32;
  }
  check_traffic(report, "divergent_loop reads", {31, 4 * 496, sectors, ideal});
}

TEST_CASE("sim report: bank conflicts of a column, and the padded tile", "[sim]") {
  needs_accesses();
  DeviceArray<float> y(32);
  {
    const sim::Report report;
    column_of_tile(y.data(), 32);
    check_banks(report, "column_of_tile writes", {32, 32, 32, 1});
    check_banks(report, "column_of_tile reads", {1, 32, 1, 32});
    CHECK(report.kernels().at("pg::testing::column_of_tile_kernel").wavefronts == 32 + 32);
    CHECK(report.kernels().at("pg::testing::column_of_tile_kernel").worst_ways == 32);
  }
  {
    const sim::Report report;
    column_of_tile(y.data(), 33);
    check_banks(report, "column_of_tile reads", {1, 1, 1, 1});
    CHECK(report.kernels().at("pg::testing::column_of_tile_kernel").worst_ways == 1);
  }
}

TEST_CASE("sim report: wide accesses to shared memory are split into passes without conflicts", "[sim]") {
  needs_accesses();
  DeviceArray<float> y(128);
  DeviceArray<double> z(32);
  const sim::Report report;
  shared_vectors(y.data());
  check_banks(report, "shared_vectors writes", {1, 4, 4, 1});
  check_banks(report, "shared_vectors reads", {1, 4, 4, 1});
  rows_of_doubles(z.data());
  check_banks(report, "rows_of_doubles reads", {1, 2, 2, 1});
}

TEST_CASE("sim report: barriers are counted in any build, and reports nest", "[sim]") {
  DeviceArray<float> y(64 * 70);
  const sim::Report outer;
  two_barrier_kernel(y.data(), 3);
  {
    const sim::Report inner;
    two_barrier_kernel(y.data(), 70);
    CHECK(inner.kernels().at("pg::testing::two_barrier_kernel_kernel").barriers == 140);
  }
  CHECK(outer.kernels().at("pg::testing::two_barrier_kernel_kernel").barriers == 6);
  CHECK(outer.kernels().at("pg::testing::two_barrier_kernel_kernel").launches == 1);
}

TEST_CASE("sim report: equal for any number of threads, and printed as a table", "[sim]") {
  needs_accesses();
  const int n = 4096;
  DeviceArray<float> x(std::vector<float>(4 * n, 1.0f)), y(n);
  std::string first;
  for (int threads : {1, 2}) {
    const Threads guard(threads);
    const sim::Report report;
    strided_copy(x.data(), y.data(), n, 4, 0);
    column_of_tile(y.data(), 32);
    const std::string table = report.table();
    if (first.empty()) first = table;
    CHECK(table == first);
  }
  INFO(first);
  CHECK(first.find(
            "strided_copy_kernel: 1 launches, 32 blocks, 4096 threads; 32.8 kB requested, 81.9 kB moved (40 % used)") !=
        std::string::npos);
  CHECK(first.find("tests/sim/traffic.cu:" + std::to_string(line_number("strided_copy reads"))) != std::string::npos);
}
