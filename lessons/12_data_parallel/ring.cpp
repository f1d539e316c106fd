// The demonstration of lesson 12, first part: what a ring of four ranks (rounds.cpp) sends, and what it costs.
#include "tensor/comm/ring.h"

#include <algorithm>
#include <cmath>

#include "lessons/12_data_parallel/checks.h"
#include "lessons/12_data_parallel/demo.h"
#include "tensor/base/clock.h"
#include "tensor/comm/launch.h"

namespace pg::lesson12 {
namespace {

void all_reduce(const Impl& impl, Ring& ring, std::span<float> x) {
  for (int step = 0; step < ring.size() - 1; ++step) impl.ring_reduce_step(ring, x, step);
  for (int step = 0; step < ring.size() - 1; ++step) impl.ring_gather_step(ring, x, step);
}

std::vector<float> random_values(int rank, size_t n) {
  Generator random(120 + static_cast<uint64_t>(rank));
  std::vector<float> values(n);
  for (float& x : values) x = static_cast<float>(random.normal());
  return values;
}

void show_bytes(kit::Demo& demo, const Impl& impl) {
  constexpr size_t length = 1'000'003;
  const double bytes = 4.0 * static_cast<double>(length);
  demo.say(
      "What one rank sends, counted, for {} elements (S = {:.2f} MB). \"All to all\" sends every rank's elements "
      "to every other rank.",
      length, bytes / 1e6);
  demo.line("ranks   messages   MB sent per rank   2·(n-1)/n·S   all to all, MB");
  std::vector<std::vector<float>> given;
  for (int r = 0; r < 8; ++r) given.push_back(random_values(r, length));
  double worst = 0, difference = 0;
  int64_t differ = 0;
  for (const int n : {2, 4, 8}) {
    std::vector<double> sent(static_cast<size_t>(n)), messages = sent;
    std::vector<std::vector<float>> all(given.begin(), given.begin() + n);
    run_ring(n, [&](Ring& ring) {
      const auto r = static_cast<size_t>(ring.rank());
      CountingRing counting(ring);
      all_reduce(impl, counting, all[r]);
      sent[r] = 4.0 * static_cast<double>(counting.sent);
      messages[r] = static_cast<double>(counting.messages);
    });
    const double formula = 2.0 * (n - 1) / n * bytes, most = *std::max_element(sent.begin(), sent.end());
    for (const double x : sent) worst = std::max(worst, std::abs(x / formula - 1));
    demo.line("{:5}   {:8}   {:16.3f}   {:11.3f}   {:14.1f}", n, messages[0], most / 1e6, formula / 1e6,
              (n - 1) * bytes / 1e6);
    for (const auto& one : all) {
      for (size_t i = 0; i < length; ++i) differ += one[i] != all[0][i];
    }
    for (size_t i = 0; i < length; i += 997) {
      double sum = 0;
      for (int r = 0; r < n; ++r) sum += given[static_cast<size_t>(r)][i];
      difference = std::max(difference, std::abs(all[0][i] - sum));
    }
  }
  demo.gap();
  demo.claim("bytes sent: error of the formula", 100 * worst, "%", kit::at_most(0.01));
  demo.claim("sums that differ between ranks", static_cast<double>(differ), "elements", kit::equals(0));
  demo.claim("largest error of a sum", difference, "", kit::at_most(1e-4));
  demo.gap();
}

// The median of some times of one call on every rank, in milliseconds.
double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return 1e3 * x[x.size() / 2];
}

void show_cost(kit::Demo& demo, const Impl& impl) {
  constexpr int n = 4, times = 7;
  constexpr size_t length = 1 << 20;
  std::vector<double> ring_times;
  run_ring(n, [&](Ring& ring) {
    std::vector<float> x(length, 1.0F);
    for (int i = 0; i < times; ++i) {
      const double start = wall_seconds();
      all_reduce(impl, ring, x);
      if (ring.rank() == 0) ring_times.push_back(wall_seconds() - start);
    }
  });
  const SharedNumbers shared(times);
  std::string sentences;
  const int status = run_ranks(
      n,
      [&](Comm& comm) {
        const Tensor x = Tensor::ones({static_cast<int64_t>(length)}, f32);
        for (size_t i = 0; i < times; ++i) {
          const double start = wall_seconds();
          comm.all_reduce(x);
          if (comm.rank() == 0) shared.all()[i] = static_cast<float>(wall_seconds() - start);
        }
        return 0;
      },
      {}, &sentences);
  check(status == 0, "lesson 12: the ranks of all_reduce failed: {}", sentences);
  demo.say(
      "The engine's own all_reduce of {} ranks in shared memory moves as many bytes in 2 rounds in place of {}: each "
      "rank reads its shard from all others, adds in the order of the ranks, and all read the sums. That needs a "
      "direct "
      "way from every rank to every other. A ring needs only neighbours, as cables between machines are. {} MB on this "
      "machine, median of {}: ring of threads {:.1f} ms, all_reduce of processes {:.1f} ms.",
      n, 2 * (n - 1), length * 4 / 1'000'000, times, median(ring_times),
      median({shared.all().begin(), shared.all().end()}));
}

}  // namespace

void show_ring(kit::Demo& demo, const Impl& impl) {
  demo.heading("Around the ring");
  show_rounds(demo, impl);
  show_bytes(demo, impl);
  show_cost(demo, impl);
}

}  // namespace pg::lesson12
