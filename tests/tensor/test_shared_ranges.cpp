// The ranges of panels that the threads of a product share.
#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "tensor/cpu/gemm/shared_ranges.h"
#include "tests/catch.h"

using pg::cpu::SharedRanges;

TEST_CASE("shared ranges: every panel is taken once, whoever takes it") {
  for (const int64_t n : {0, 1, 2, 3, 7, 64, 255, 256}) {
    for (const int threads : {1, 2, 3, 16}) {
      SharedRanges ranges(n, threads);
      std::vector<std::atomic<int>> taken(static_cast<size_t>(n));
      std::vector<std::thread> running;
      for (int t = 0; t < threads; ++t) {
        running.emplace_back([&, t] {
          int64_t begin, end;
          while (ranges.take(t, begin, end)) {
            for (; begin < end; ++begin) ++taken.at(static_cast<size_t>(begin));
          }
        });
      }
      for (auto& thread : running) thread.join();
      for (const auto& count : taken) CHECK(count == 1);
    }
  }
}

TEST_CASE("shared ranges: a thread takes its own range in order, then the others' from their ends") {
  SharedRanges ranges(40, 2);
  std::vector<int64_t> order;
  int64_t begin, end;
  while (ranges.take(1, begin, end)) {
    CHECK(end - begin >= 1);
    CHECK(end - begin <= SharedRanges::kMostTaken);
    order.push_back(begin);
  }
  const auto others = std::find_if(order.begin(), order.end(), [](int64_t at) { return at < 20; });
  REQUIRE(others != order.end());
  CHECK(order.front() == 20);
  CHECK(std::is_sorted(order.begin(), others));
  CHECK(std::is_sorted(others, order.end(), std::greater<>()));
  CHECK(order.back() == 0);
  CHECK_FALSE(ranges.take(0, begin, end));
}
