// The ring all-reduce: its sums, what it sends, and how ranks that wait for each other end. The model of a link.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tensor/comm/comm.h"
#include "tensor/comm/link_model.h"
#include "tensor/comm/ring.h"
#include "tests/catch.h"

using namespace pg;

namespace {

std::vector<std::vector<float>> random_rows(int ranks, int64_t n) {
  std::vector<std::vector<float>> rows;
  for (int r = 0; r < ranks; ++r) {
    Generator generator(50 + static_cast<uint64_t>(r));
    std::vector<float>& row = rows.emplace_back();
    for (int64_t i = 0; i < n; ++i) row.push_back(static_cast<float>(generator.normal()));
  }
  return rows;
}

// Counts what passes a link.
class CountingRing : public Ring {
 public:
  explicit CountingRing(Ring& ring) : ring_(ring) {}
  int rank() const override { return ring_.rank(); }
  int size() const override { return ring_.size(); }
  void send(std::span<const float> x) override {
    sent += std::ssize(x);
    ++messages;
    ring_.send(x);
  }
  void receive(std::span<float> x) override { ring_.receive(x); }
  int64_t sent = 0, messages = 0;

 private:
  Ring& ring_;
};

std::string error_of(int ranks, const std::function<void(Ring&)>& work, double timeout = 0.2) {
  try {
    run_ring(ranks, work, timeout);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the ring adds chunk c in the order of the ranks from c on", "[comm][ring]") {
  for (const int n : {1, 2, 3, 4, 5, 8}) {
    for (const int64_t length : {0, 1, 2, 3, 4, 7, 8, 1001}) {
      const auto rows = random_rows(n, length);
      auto got = rows;
      std::vector<int64_t> sent(static_cast<size_t>(n)), messages = sent;
      run_ring(n, [&](Ring& ring) {
        CountingRing counting(ring);
        const auto r = static_cast<size_t>(ring.rank());
        ring_all_reduce(counting, got[r]);
        sent[r] = counting.sent;
        messages[r] = counting.messages;
      });
      REQUIRE(messages == std::vector<int64_t>(static_cast<size_t>(n), 2 * (n - 1)));
      int64_t all = 0;
      for (const int64_t one : sent) {
        all += one;
        REQUIRE(one <= 2 * (n - 1) * ((length + n - 1) / n));
      }
      REQUIRE(all == 2 * (n - 1) * length);
      for (int c = 0; c < n; ++c) {
        const Shard shard = shard_of(length, c, n);
        for (auto i = static_cast<size_t>(shard.begin); i < static_cast<size_t>(shard.end); ++i) {
          float sum = rows[static_cast<size_t>(c)][i];
          for (int k = 1; k < n; ++k) sum += rows[static_cast<size_t>((c + k) % n)][i];
          for (const auto& row : got) REQUIRE(row[i] == sum);
        }
      }
    }
  }
}

TEST_CASE("after the reduce phase rank r has the sum of chunk r + 1", "[comm][ring]") {
  const int n = 4, length = 10;
  auto got = random_rows(n, length);
  const auto rows = got;
  run_ring(n, [&](Ring& ring) {
    for (int s = 0; s < n - 1; ++s) ring_reduce_step(ring, got[static_cast<size_t>(ring.rank())], s);
  });
  for (int r = 0; r < n; ++r) {
    const Shard shard = shard_of(length, (r + 1) % n, n);
    for (auto i = static_cast<size_t>(shard.begin); i < static_cast<size_t>(shard.end); ++i) {
      double sum = 0;
      for (const auto& row : rows) sum += row[i];
      REQUIRE(std::abs(got[static_cast<size_t>(r)][i] - sum) < 1e-5);
    }
  }
}

TEST_CASE("ranks that wait for each other end with a sentence", "[comm][ring]") {
  for (const int n : {1, 2, 3, 4}) {
    const std::string send_first = error_of(n, [](Ring& ring) {
      std::vector<float> mine(3), its(3);
      ring.send(mine);
      ring.receive(its);
    });
    INFO(send_first);
    REQUIRE(send_first.find("both wait: deadlock") != std::string::npos);
    REQUIRE(send_first.find("step 0") != std::string::npos);
    REQUIRE(send_first.find("to receive") != std::string::npos);
    const std::string receive_first = error_of(n, [](Ring& ring) {
      std::vector<float> mine(3), its(3);
      ring.receive(its);
      ring.send(mine);
    });
    INFO(receive_first);
    REQUIRE(receive_first.find("both wait: deadlock") != std::string::npos);
    REQUIRE(receive_first.find("to send") != std::string::npos);
  }
  // The step is counted.
  const std::string later = error_of(2, [](Ring& ring) {
    std::vector<float> x(4);
    ring_reduce_step(ring, x, 0);
    ring.send(x);
  });
  INFO(later);
  REQUIRE(later.find("in step 1") != std::string::npos);
}

TEST_CASE("a ring ends if a rank sends another length or ends early or throws", "[comm][ring]") {
  const std::string lengths = error_of(3, [](Ring& ring) {
    std::vector<float> x(ring.rank() == 1 ? 5 : 3);
    ring_gather_step(ring, x, 0);
  });
  INFO(lengths);
  REQUIRE(lengths.find("elements in step") != std::string::npos);
  const std::string ended = error_of(3, [](Ring& ring) {
    std::vector<float> x(3);
    if (ring.rank() != 1) ring_all_reduce(ring, x);
  });
  INFO(ended);
  REQUIRE(ended.find("which has ended") != std::string::npos);
  std::atomic<int> others = 0;
  const std::string thrown = error_of(4, [&](Ring& ring) {
    std::vector<float> x(3);
    if (ring.rank() == 2) fail("rank 2 has no more power");
    try {
      for (;;) ring_all_reduce(ring, x);
    } catch (const Error& error) {
      others += std::string(error.what()).find("rank 2") != std::string::npos;
      throw;
    }
  });
  REQUIRE(thrown == "rank 2 has no more power");
  REQUIRE(others == 3);
  REQUIRE_THROWS_AS(run_ring(0, [](Ring&) {}), Error);
  REQUIRE_THROWS_AS(run_ring(65, [](Ring&) {}), Error);
}

TEST_CASE("a rank that computes for longer than the timeout is no deadlock", "[comm][ring]") {
  std::vector<std::vector<float>> x(3, std::vector<float>(5, 1.0F));
  run_ring(
      3,
      [&](Ring& ring) {
        if (ring.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(300));
        ring_all_reduce(ring, x[static_cast<size_t>(ring.rank())]);
      },
      0.1);
  for (const auto& row : x) REQUIRE(row == std::vector<float>(5, 3.0F));
}

TEST_CASE("the time of an all-reduce is that of its steps", "[comm][ring]") {
  const LinkModel link{.alpha = 3e-6, .beta = 2e9};
  for (const int n : {1, 2, 3, 8, 1024}) {
    double steps = 0;
    for (int s = 0; s < 2 * (n - 1); ++s) steps += link.message_seconds(1e6 / n);
    REQUIRE(std::abs(link.all_reduce_seconds(1e6, n) - steps) <= 1e-12 + 1e-9 * steps);
  }
  // With α = 0: two ranks, S bytes pass each link.
  const LinkModel plain{.alpha = 0, .beta = 10};
  const std::vector<BucketTimes> times = overlapped_times(plain, 2, {2, 2, 2}, {10, 50, 20});
  const std::vector<std::vector<double>> want = {{2, 2, 3}, {4, 4, 9}, {6, 9, 11}};
  REQUIRE(times.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    REQUIRE(times[i].ready == want[i][0]);
    REQUIRE(times[i].begin == want[i][1]);
    REQUIRE(times[i].end == want[i][2]);
  }
}
