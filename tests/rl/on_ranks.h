#pragma once
// What a training computes on several ranks, as bytes: they must be those of one process.
#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tensor/base/parallel.h"
#include "tensor/comm/launch.h"
#include "tests/catch.h"

namespace pg::testing {

// The numbers that a training ends with; without a group if `comm` is nullptr.
using Numbers = std::function<std::vector<double>(Comm* comm)>;

// The bytes of the numbers of each rank; one process without a group if there are 0 ranks.
inline std::vector<std::string> bytes_on(int ranks, const Numbers& numbers) {
  const TempDir temp;
  const auto file = [&](int rank) { return temp.file(std::to_string(rank)); };
  std::string sentences;
  // One rank too runs in a process of its own, because a trainer changes the policy.
  const int status = run_ranks(
      std::max(1, ranks),
      [&](Comm& comm) {
        set_num_threads(1);
        const std::vector<double> all = numbers(ranks == 0 ? nullptr : &comm);
        std::ofstream out(file(comm.rank()), std::ios::binary);
        out.write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size() * sizeof(double)));
        return out.flush() ? 0 : 1;
      },
      {.timeout = 120}, &sentences);
  INFO(sentences);
  REQUIRE(status == 0);
  std::vector<std::string> all;
  for (int r = 0; r < std::max(1, ranks); ++r) {
    std::ifstream in(file(r), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return all;
}

inline void check_equal_on_ranks(const Numbers& numbers, std::initializer_list<int> numbers_of_ranks = {1, 2, 3}) {
  const std::string expected = bytes_on(0, numbers)[0];
  REQUIRE(expected.size() > 1000);
  for (const int ranks : numbers_of_ranks) {
    INFO(ranks << " ranks");
    for (const std::string& of_rank : bytes_on(ranks, numbers)) CHECK(of_rank == expected);
  }
}

}  // namespace pg::testing
