// Collectives by NCCL between simulated devices: each rank is a thread with a device of its own.
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tensor/comm/nccl_rank.h"
#include "tensor/comm/shared_group.h"
#include "tensor/comm/socket_meeting.h"
#include "tensor/sim/sim.h"
#include "tests/catch.h"

using namespace pg;

namespace {

using Work = std::function<void(Comm& comm)>;

// Runs `work` on so many ranks, and returns the message of each rank's Error, or "". Ranks of several machines meet
// over sockets, others share memory.
std::vector<std::string> errors_of(int ranks, const Work& work, const NcclOptions& options = {},
                                   bool machines = false) {
  SharedGroup* group = SharedGroup::create(ranks, 2, 1800);
  SocketOptions meeting{.size = ranks, .timeout = 20, .sees_processes = false};
  int port = 0;
  if (machines) meeting.listener = listen_at(meeting.address, port);
  meeting.port = port;
  std::vector<std::string> errors(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      errors[static_cast<size_t>(r)] = testing::error_of([&] {
        SocketOptions own = meeting;
        own.rank = r;
        const auto bootstrap = machines ? meeting_rank(r, ranks, meet(own).connections) : shared_memory_rank(*group, r);
        const auto comm = nccl_rank(*bootstrap, r, options);
        work(*comm);
      });
      group->set_left(r);
    });
  }
  for (std::thread& thread : threads) thread.join();
  group->destroy();
  return errors;
}
void on_ranks(int ranks, const Work& work, const NcclOptions& options = {}) {
  const std::vector<std::string> errors = errors_of(ranks, work, options);
  for (int r = 0; r < ranks; ++r) {
    INFO("rank " << r << " of " << ranks);
    REQUIRE(errors[static_cast<size_t>(r)] == "");
  }
}

std::vector<double> values_of(int rank, int64_t n, DType dtype) {
  Generator generator(1000 + static_cast<uint64_t>(rank));
  std::vector<double> values(static_cast<size_t>(n));
  for (double& x : values) {
    x = (generator.uniform() - 0.5) * std::exp2(static_cast<double>(generator.integer(16)));
    if (dtype == i32) x = static_cast<double>(generator.integer(1 << 20)) - 500000;
    if (dtype == u8) x = static_cast<double>(generator.integer(256));
  }
  return values;
}
Tensor on_cpu(int rank, int64_t n, DType dtype) { return Tensor::from(values_of(rank, n, dtype), {n}).to(dtype); }
std::vector<double> numbers(const Tensor& x) { return x.to(Device{}).to(f64).to_vector(); }

// Compares with the sum in f64 of `terms` ranks' elements [shard) and of `plus`. The bound: each of the k additions and
// the rounding of the result are off by at most half a unit of the type's precision, relative to the sum of magnitudes.
void near_sum(const Tensor& x, int terms, int64_t n, const Shard& shard, const std::vector<double>& plus = {}) {
  const double unit = x.dtype() == f64 ? 0x1p-53 : x.dtype() == f32 ? 0x1p-24 : x.dtype() == bf16 ? 0x1p-8 : 0;
  const std::vector<double> got = numbers(x);
  check(std::ssize(got) == shard.size(), "{} elements instead of {}", got.size(), shard.size());
  std::vector<double> sum = plus, size = plus;
  sum.resize(got.size());
  size.resize(got.size());
  for (double& m : size) m = std::fabs(m);
  for (int r = 0; r < terms; ++r) {
    const std::vector<double> term = numbers(on_cpu(r, n, x.dtype()));
    for (size_t i = 0; i < got.size(); ++i) {
      const double t = term[static_cast<size_t>(shard.begin) + i];
      sum[i] += t;
      size[i] += std::fabs(t);
    }
  }
  for (size_t i = 0; i < got.size(); ++i) {
    const double bound = (terms + 2) * unit * size[i];
    check(std::fabs(got[i] - sum[i]) <= bound, "element {} of {} {}: {} instead of {}, bound {}", i, got.size(),
          name_of(x.dtype()), got[i], sum[i], bound);
  }
}
void same(const std::vector<double>& a, const std::vector<double>& b, const std::string& what) {
  check(a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0),
        "{}: the bits differ", what);
}

const std::vector<int64_t>& lengths() {
  static const std::vector<int64_t> all = {0, 1, 2, 3, 12, 13, 1000};
  return all;
}

// Replaces the elements of a shard.
void put(std::vector<double>& all, const Shard& shard, const std::vector<double>& part) {
  std::copy(part.begin(), part.end(), all.begin() + shard.begin);
}
std::vector<double> part_of(const std::vector<double>& all, const Shard& shard) {
  return {all.begin() + shard.begin, all.begin() + shard.end};
}

}  // namespace

TEST_CASE("NCCL: all_reduce is near the sum and repeats bit for bit on all ranks", "[cuda][nccl]") {
  for (const int ranks : {1, 2, 3, 4}) {
    on_ranks(ranks, [](Comm& comm) {
      for (const DType dtype : {f32, f64, bf16, i32}) {
        for (const int64_t n : lengths()) {
          const auto run = [&] {
            const Tensor x = on_cpu(comm.rank(), n, dtype).to(comm.device());
            comm.all_reduce(x);
            return x;
          };
          const Tensor x = run();
          near_sum(x, comm.size(), n, {0, n});
          const std::vector<double> sum = numbers(x);
          same(sum, numbers(run()), "again");
          if (n == 0) continue;
          const Tensor first = x.clone();
          comm.broadcast(first, 0);
          same(sum, numbers(first), "rank 0's");
        }
      }
    });
  }
}

TEST_CASE("NCCL: reduce_scatter with units, a target, sums that go on and absent terms", "[cuda][nccl]") {
  for (const int ranks : {1, 2, 3, 4}) {
    on_ranks(ranks, [](Comm& comm) {
      for (const DType dtype : {f32, f64, bf16, i32}) {
        for (const int64_t n : lengths()) {
          for (const int64_t unit : {1, 4, 600}) {
            const Shard own = shard_of(n, comm.rank(), comm.size(), unit);
            for (int terms = 0; terms <= comm.size(); ++terms) {
              const int used = terms == 0 ? comm.size() : terms;
              const Tensor before = on_cpu(comm.rank(), n, dtype);
              const auto fresh = [&] { return before.to(comm.device()); };
              const std::vector<double> old = numbers(before);
              const Tensor x = fresh();
              comm.reduce_scatter(x, {.unit = unit, .terms = terms});
              std::vector<double> after = numbers(x);
              near_sum(x.view_slice(0, own.begin, own.end), used, n, own);
              put(after, own, part_of(old, own));
              same(after, old, "the other shards");

              for (const bool add : {false, true}) {
                const Tensor y = fresh(), into = on_cpu(77, own.size(), dtype).to(comm.device());
                const std::vector<double> held = numbers(into);
                comm.reduce_scatter(y, {.unit = unit, .into = into, .add = add, .terms = terms});
                near_sum(into, used, n, own, add ? held : std::vector<double>{});
                same(numbers(y), old, "x");
              }
            }
          }
        }
      }
    });
  }
}

TEST_CASE("NCCL: a sum that goes on is complete in the collective that was started after it", "[cuda][nccl]") {
  for (const int ranks : {1, 2, 3}) {
    on_ranks(ranks, [](Comm& comm) {
      for (const DType dtype : {f32, i32}) {
        const int64_t n = 1001;
        const Tensor total = on_cpu(90, n, dtype).to(comm.device()),
                     x = on_cpu(comm.rank(), n, dtype).to(comm.device());
        const Shard own = shard_of(n, comm.rank(), comm.size());
        const ReduceOptions options{.into = total.view_slice(0, own.begin, own.end), .add = true};
        comm.start_reduce_scatter(x, options);
        comm.wait(comm.start_all_gather(total));
        near_sum(total, comm.size(), n, {0, n}, numbers(on_cpu(90, n, dtype)));
      }
    });
  }
}

TEST_CASE("NCCL: all_gather and broadcast copy the bits of every type", "[cuda][nccl]") {
  for (const int ranks : {1, 2, 3, 4}) {
    on_ranks(ranks, [](Comm& comm) {
      for (const DType dtype : {f32, f64, bf16, i32, u8}) {
        for (const int64_t n : lengths()) {
          for (const int64_t unit : {1, 4, 600}) {
            const Tensor x = on_cpu(comm.rank(), n, dtype).to(comm.device());
            comm.all_gather(x, unit);
            std::vector<double> expected(static_cast<size_t>(n));
            for (int r = 0; r < comm.size(); ++r) {
              const Shard shard = shard_of(n, r, comm.size(), unit);
              put(expected, shard, part_of(numbers(on_cpu(r, n, dtype)), shard));
            }
            same(numbers(x), expected, "all_gather");
          }
          for (int root = 0; root < comm.size(); ++root) {
            const Tensor x = on_cpu(comm.rank(), n, dtype).to(comm.device());
            comm.broadcast(x, root);
            same(numbers(x), numbers(on_cpu(root, n, dtype)), "broadcast");
          }
        }
      }
    });
  }
}

TEST_CASE("NCCL: started collectives of all kinds in a random order, beside kernels", "[cuda][nccl]") {
  for (const int ranks : {2, 4}) {
    on_ranks(ranks, [](Comm& comm) {
      Generator same_for_all(7), own(static_cast<uint64_t>(comm.rank()) + 50);
      for (int i = 0; i < 60; ++i) {
        const auto mark = [&](int rank) { return static_cast<double>((i + 1) * 16 + rank); };
        double sum = 0;
        for (int r = 0; r < comm.size(); ++r) sum += mark(r);
        struct Started {
          int64_t kind;
          Tensor x;
          double expected;
        };
        std::vector<Started> started;
        Comm::Ticket last = 0;
        for (int64_t j = same_for_all.integer(4); j >= 0; --j) {
          const int64_t kind = same_for_all.integer(4), n = same_for_all.integer(3000);
          const int root = static_cast<int>(same_for_all.integer(comm.size()));
          const Tensor x = Tensor::full({n}, mark(comm.rank()), f64, comm.device());
          if (kind == 0) last = comm.start_all_reduce(x);
          if (kind == 1) last = comm.start_broadcast(x, root);
          if (kind == 2) last = comm.start_reduce_scatter(x);
          if (kind == 3) comm.barrier();
          started.push_back({kind, x, kind == 1 ? mark(root) : kind == 3 ? mark(comm.rank()) : sum});
          if (own.integer(3) == 0) Tensor::full({100}, 1, f32, comm.device()).to(Device{});  // a kernel and a wait
        }
        comm.wait(last);
        for (const Started& s : started) {
          const Shard shard = shard_of(s.x.numel(), comm.rank(), comm.size());
          const Tensor part = s.kind == 2 ? s.x.view_slice(0, shard.begin, shard.end) : s.x;
          for (const double v : numbers(part)) check(v == s.expected, "call {}: {} not {}", i, v, s.expected);
        }
      }
    });
  }
}

TEST_CASE("NCCL: a kernel that does not wait for the collective is reported", "[cuda][nccl]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  const auto work = [](bool waits, Comm& comm) {
    const Tensor x = Tensor::full({1000}, 1, f32, comm.device());
    const Comm::Ticket ticket = comm.start_all_reduce(x);
    if (waits) comm.wait(ticket);
    x.fill(2);
  };
  on_ranks(3, [&](Comm& comm) { work(true, comm); });
  for (const std::string& error : errors_of(3, [&](Comm& comm) { work(false, comm); })) {
    INFO(error);
    CHECK(testing::contains(error, "Fill"));
    CHECK(testing::contains(error, "ncclAllReduce"));
    CHECK(testing::contains(error, "the two are not ordered"));
  }
}

TEST_CASE("NCCL: a collective that does not wait for the kernels is reported", "[cuda][nccl]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  const auto work = [](Comm& comm) { comm.all_reduce(Tensor::full({1000}, 1, f32, comm.device())); };
  on_ranks(2, work);
  for (const std::string& error : errors_of(2, work, {.waits_for_kernels = false})) {
    INFO(error);
    CHECK(testing::contains(error, "ncclAllReduce on stream"));
    CHECK(testing::contains(error, "Fill"));
    CHECK(testing::contains(error, "the two are not ordered"));
  }
}

TEST_CASE("NCCL: ranks that call different collectives say which", "[cuda][nccl]") {
  const auto work = [](Comm& comm) {
    comm.all_reduce(Tensor::zeros({3}, f32, comm.device()));
    comm.all_reduce(Tensor::zeros({comm.rank() == 2 ? 5 : 4}, f32, comm.device()));
  };
  // With and without comparing first: then the timeout ends it.
  const bool machines = GENERATE(false, true);
  for (const bool compares : {true, false}) {
    for (const std::string& error : errors_of(3, work, {.timeout = 0.3, .compare_calls = compares}, machines)) {
      INFO(error);
      CHECK(testing::contains(error, "rank 0: all_reduce of 4 f32, call 2; rank 2: all_reduce of 5 f32, call 2"));
    }
  }
}

TEST_CASE("NCCL: a rank that ends or fails is named by the others", "[cuda][nccl]") {
  const auto begin = std::chrono::steady_clock::now();
  const bool machines = GENERATE(false, true);
  const auto all_reduce = [](Comm& comm) { comm.all_reduce(Tensor::zeros({4}, f32, comm.device())); };
  std::vector<std::string> errors = errors_of(
      3,
      [&](Comm& comm) {
        all_reduce(comm);
        if (comm.rank() != 1) all_reduce(comm);
      },
      {.timeout = 0.3}, machines);
  CHECK(errors[1] == "");
  for (const int r : {0, 2}) {
    INFO(errors[static_cast<size_t>(r)]);
    CHECK(testing::contains(errors[static_cast<size_t>(r)], "all_reduce of 4 f32, call 2"));
    CHECK(testing::contains(errors[static_cast<size_t>(r)], "rank 1 has ended"));
  }
  errors = errors_of(
      3,
      [&](Comm& comm) {
        all_reduce(comm);
        if (comm.rank() == 1) comm.abandon("its disk is full");
        all_reduce(comm);
      },
      {.timeout = 0.3}, machines);
  for (const std::string& error : errors) {
    INFO(error);
    CHECK(testing::contains(error, "rank 1 has failed: its disk is full"));
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("NCCL: arguments are checked", "[cuda][nccl]") {
  on_ranks(1, [](Comm& comm) {
    const auto error = [&](const std::function<void()>& f) { return testing::error_of(f); };
    check(testing::contains(error([&] { comm.all_reduce(Tensor::zeros({3})); }), "the tensor is on cpu"), "device");
    check(testing::contains(error([&] { comm.wait(5); }), "ticket 5 of 0"), "ticket");
    check(!comm.sums_in_order() && comm.name() == std::string("NCCL"), "name");
    const auto other = single_rank();
    check(testing::contains(error([&] { nccl_rank(*other, 99); }), "cuda:99, but this machine has"), "index");
    check(testing::contains(error([&] { nccl_rank(comm, 0); }), "on the CPU"), "bootstrap");
  });
}
