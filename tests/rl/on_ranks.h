#pragma once
// What a training computes on several ranks, as bytes: they must be those of one process.
#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tensor/base/parallel.h"
#include "tensor/comm/launch.h"
#include "tests/catch.h"

namespace pg::testing {

// The bytes, or the numbers, that a training ends with; without a group if `comm` is nullptr.
using Bytes = std::function<std::string(Comm* comm)>;
using Numbers = std::function<std::vector<double>(Comm* comm)>;

// The bytes of each rank; one process without a group if there are 0 ranks.
inline std::vector<std::string> bytes_on(int ranks, const Bytes& bytes) {
  const TempDir temp;
  const auto file = [&](int rank) { return temp.file(std::to_string(rank)); };
  std::string sentences;
  // One rank too runs in a process of its own, because a trainer changes the policy.
  const int status = run_ranks(
      std::max(1, ranks),
      [&](Comm& comm) {
        set_num_threads(1);
        std::ofstream out(file(comm.rank()), std::ios::binary);
        out << bytes(ranks == 0 ? nullptr : &comm);
        return out.flush() ? 0 : 1;
      },
      {.timeout = 120}, &sentences);
  INFO(sentences);
  REQUIRE(status == 0);
  std::vector<std::string> all;
  for (int r = 0; r < std::max(1, ranks); ++r) all.push_back(read_bytes(file(r)));
  return all;
}
inline std::vector<std::string> bytes_on(int ranks, const Numbers& numbers) {
  return bytes_on(ranks, [&](Comm* comm) {
    const std::vector<double> all = numbers(comm);
    return std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(double));
  });
}

// `training`: Bytes or Numbers.
template <class Training>
void check_equal_on_ranks(const Training& training, std::initializer_list<int> numbers_of_ranks = {1, 2, 3}) {
  const std::string expected = bytes_on(0, training)[0];
  REQUIRE(expected.size() > 1000);
  for (const int ranks : numbers_of_ranks) {
    INFO(ranks << " ranks");
    for (const std::string& of_rank : bytes_on(ranks, training)) {
      const bool same = of_rank == expected;  // the bytes are not for reading
      CHECK(same);
    }
  }
}

}  // namespace pg::testing
