// The thread pool: coverage, determinism, exceptions, fork.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/base/parallel.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::Threads;

namespace {

double sum_of_chunks(int64_t n, int64_t grain) {
  std::vector<double> partial((n + grain - 1) / grain);
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) sum += std::sin(static_cast<double>(i)) / 3;
    partial[begin / grain] = sum;
  });
  double sum = 0;
  for (double p : partial) sum += p;
  return sum;
}

}  // namespace

TEST_CASE("parallel_for covers every index once in chunks of the grain", "[pool]") {
  for (int threads : {1, 2, 3, 8}) {
    Threads guard(threads);
    for (int64_t n : {0, 1, 2, 7, 64, 1000, 1001}) {
      for (int64_t grain : {1, 3, 64, 1000, 5000}) {
        std::vector<std::atomic<int>> seen(n);
        std::mutex mutex;
        std::set<std::pair<int64_t, int64_t>> borders;
        parallel_for(n, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) seen[i].fetch_add(1);
          std::lock_guard lock(mutex);
          borders.insert({begin, end});
        });
        for (const auto& count : seen) REQUIRE(count.load() == 1);
        std::set<std::pair<int64_t, int64_t>> expected;
        for (int64_t begin = 0; begin < n; begin += grain) expected.insert({begin, std::min(n, begin + grain)});
        REQUIRE(borders == expected);
      }
    }
  }
}

TEST_CASE("parallel_for gives the same bits for any number of threads", "[pool]") {
  double expected;
  {
    Threads guard(1);
    expected = sum_of_chunks(100000, 77);
  }
  for (int threads : {2, 3, 5}) {
    Threads guard(threads);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const double sum = sum_of_chunks(100000, 77);
      REQUIRE(std::memcmp(&sum, &expected, sizeof(sum)) == 0);
    }
  }
}

TEST_CASE("parallel_for really uses the other threads", "[pool]") {
  Threads guard(2);
  std::atomic<int> arrived{0};
  std::atomic<bool> met{false};
  // Each of the two chunks waits for the other one: only two threads can finish before the deadline.
  parallel_for(2, 1, [&](int64_t, int64_t) {
    arrived.fetch_add(1);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived.load() < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (arrived.load() == 2) met = true;
  });
  CHECK(met.load());
}

TEST_CASE("parallel_for rethrows an exception and works afterwards", "[pool]") {
  for (int threads : {1, 2, 3}) {
    Threads guard(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::string message;
      try {
        parallel_for(100, 1, [&](int64_t begin, int64_t) {
          if (begin == 41) fail("chunk {}", begin);
        });
      } catch (const Error& error) {
        message = error.what();
      }
      REQUIRE(message == "chunk 41");
      std::atomic<int> count{0};
      parallel_for(100, 1, [&](int64_t, int64_t) { count.fetch_add(1); });
      REQUIRE(count.load() == 100);
    }
  }
  CHECK_THROWS_AS(set_num_threads(0), Error);
}

TEST_CASE("a nested parallel_for runs inline with the same borders", "[pool]") {
  for (int threads : {1, 3}) {
    Threads guard(threads);
    std::vector<std::atomic<int>> seen(40 * 30);
    std::atomic<int> inner_chunks{0}, elsewhere{0};
    parallel_for(40, 4, [&](int64_t begin, int64_t end) {
      const auto me = std::this_thread::get_id();
      for (int64_t i = begin; i < end; ++i) {
        parallel_for(30, 7, [&](int64_t from, int64_t to) {
          inner_chunks.fetch_add(1);
          if (std::this_thread::get_id() != me) elsewhere.fetch_add(1);
          for (int64_t j = from; j < to; ++j) seen[i * 30 + j].fetch_add(1);
        });
      }
    });
    for (const auto& count : seen) REQUIRE(count.load() == 1);
    CHECK(inner_chunks.load() == 40 * 5);
    CHECK(elsewhere.load() == 0);
  }
}

TEST_CASE("threads that call parallel_for at the same time all get their results", "[pool]") {
  Threads guard(3);
  const double expected = sum_of_chunks(5000, 10);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        if (sum_of_chunks(5000, 10) != expected) wrong.fetch_add(1);
      }
    });
  }
  for (auto& caller : callers) caller.join();
  CHECK(wrong.load() == 0);
}

TEST_CASE("many short calls next to busy threads stay correct and finish", "[pool]") {
  Threads guard(3);
  std::atomic<bool> stop{false};
  std::vector<std::thread> hogs;
  for (int i = 0; i < 2; ++i) {
    hogs.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
      }
    });
  }
  int64_t total = 0;
  for (int call = 0; call < 2000; ++call) {
    std::vector<int64_t> partial(16);
    parallel_for(16, 1, [&](int64_t begin, int64_t) { partial[begin] = begin + call; });
    for (int64_t p : partial) total += p;
  }
  stop = true;
  for (auto& hog : hogs) hog.join();
  CHECK(total == int64_t{2000} * 120 + int64_t{16} * (1999 * 2000 / 2));
}

TEST_CASE("the number of threads can change between calls", "[pool]") {
  const double expected = sum_of_chunks(3000, 7);
  for (int repeat = 0; repeat < 30; ++repeat) {
    const Threads guard(1 + repeat % 4);
    REQUIRE(num_threads() == 1 + repeat % 4);
    REQUIRE(sum_of_chunks(3000, 7) == expected);
  }
}

TEST_CASE("a forked child can compute and exit", "[pool]") {
#if defined(__SANITIZE_THREAD__)
  SKIP_TEST("ThreadSanitizer does not allow new threads in a forked child");
#endif
  Threads guard(2);
  const double expected = sum_of_chunks(1000, 10);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(sum_of_chunks(1000, 10) == expected ? 7 : 1);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}
