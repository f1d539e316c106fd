// Collectives of every kind of ranks: their results, and how they end when ranks disagree.
#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/base/parallel.h"
#include "tensor/base/random.h"
#include "tests/catch.h"
#include "tests/tensor/ranks.h"

using namespace pg;

namespace {

// Whether the ranks of a kind have the pieces of another kind, or none, so that lengths around a piece show nothing.
bool few_lengths = false;

// Runs `work` on so many ranks of each kind, none of which may fail. The ranks share the processors, so each has one
// thread.
void on_ranks(int ranks, const std::function<void(Comm&)>& work) {
  for (const testing::Transport transport : testing::kTransports) {
    std::string sentences;
    few_lengths = transport == testing::Transport::attached || transport == testing::Transport::sockets;
    const int status = testing::run_on(
        transport, ranks,
        [&](Comm& comm) {
          set_num_threads(1);
          work(comm);
          return 0;
        },
        {}, &sentences);
    INFO(sentences);
    REQUIRE(status == 0);
  }
}

// What rank r brings: numbers of many sizes, so that another order of addition would give other bits.
std::vector<double> values_of(int rank, int64_t n) {
  Generator generator(1000 + static_cast<uint64_t>(rank));
  std::vector<double> values(static_cast<size_t>(n));
  for (double& x : values) x = (generator.uniform() - 0.5) * std::exp2(static_cast<double>(generator.integer(24)));
  return values;
}
Tensor tensor_of(const std::vector<double>& values, DType dtype) {
  return Tensor::from(values, {std::ssize(values)}).to(dtype);
}

// The sum in the order of the ranks, of elements as `dtype` holds them.
Tensor sum_of(int ranks, int64_t n, DType dtype) {
  return visit(dtype, [&]<class T>(std::type_identity<T>) {
    std::vector<computes_t<T>> sum(static_cast<size_t>(n));
    for (int r = 0; r < ranks; ++r) {
      const Tensor x = tensor_of(values_of(r, n), dtype);
      const std::span<const T> term = x.data<const T>();
      for (size_t i = 0; i < term.size(); ++i) {
        sum[i] = static_cast<computes_t<T>>(r == 0 ? static_cast<computes_t<T>>(term[i])
                                                   : sum[i] + static_cast<computes_t<T>>(term[i]));
      }
    }
    return Tensor::from(sum, {n}).to(dtype);
  });
}

void same(const Tensor& a, const Tensor& b, const std::string& what) {
  const size_t bytes = static_cast<size_t>(a.numel()) * size_of(a.dtype());
  check(a.dtype() == b.dtype() && a.numel() == b.numel() &&
            (bytes == 0 || std::memcmp(a.view().data, b.view().data, bytes) == 0),
        "{}: the bits differ", what);
}

// Lengths around the number of ranks and around the size of a piece of shared memory.
std::vector<int64_t> lengths() {
  std::vector<int64_t> all = {0, 1, 2, 3, 7, 8, 9, 1000};
  if (!few_lengths) all.push_back(2 * 65536 + 3);
  return all;
}

}  // namespace

TEST_CASE("shards cover all elements once and in order", "[comm]") {
  for (const int64_t n : {0, 1, 5, 7, 8, 1000003}) {
    for (const int ranks : {1, 2, 3, 8}) {
      int64_t next = 0;
      for (int r = 0; r < ranks; ++r) {
        const Shard shard = shard_of(n, r, ranks);
        REQUIRE(shard.begin == next);
        REQUIRE(shard.size() >= n / ranks);
        REQUIRE(shard.size() <= (n + ranks - 1) / ranks);
        next = shard.end;
      }
      REQUIRE(next == n);
    }
  }
  const int64_t huge = INT64_MAX;
  REQUIRE(shard_of(huge, 63, 64).end == huge);
  REQUIRE(testing::contains(testing::error_of([&] { shard_of(4, 2, 2); }), "rank 2 of 2"));
}

TEST_CASE("all_reduce adds in the order of the ranks", "[comm]") {
  for (const int ranks : {1, 2, 3, 8}) {
    on_ranks(ranks, [](Comm& comm) {
      for (const DType dtype : {f32, f64, bf16, i32}) {
        for (const int64_t n : lengths()) {
          const Tensor x = tensor_of(values_of(comm.rank(), n), dtype);
          comm.all_reduce(x);
          same(x, sum_of(comm.size(), n, dtype), fmt::format("{} ranks, {} {}", comm.size(), n, name_of(dtype)));
        }
      }
    });
  }
}

TEST_CASE("reduce_scatter changes the own shard only and all_gather completes it", "[comm]") {
  for (const int ranks : {2, 3, 5}) {
    on_ranks(ranks, [](Comm& comm) {
      for (const int64_t n : lengths()) {
        const Tensor before = tensor_of(values_of(comm.rank(), n), f32), x = before.clone();
        const Tensor sum = sum_of(comm.size(), n, f32);
        comm.reduce_scatter(x);
        const Shard own = shard_of(n, comm.rank(), comm.size());
        Tensor expected = before.clone();
        expected.view_slice(0, own.begin, own.end).copy_from(sum.view_slice(0, own.begin, own.end));
        same(x, expected, "reduce_scatter");
        comm.all_gather(x);
        same(x, sum, "all_gather");
      }
    });
  }
}

TEST_CASE("reduce_scatter adds up the first terms to another tensor", "[comm]") {
  for (const int ranks : {2, 3}) {
    on_ranks(ranks, [](Comm& comm) {
      for (const int64_t n : lengths()) {
        for (const int64_t unit : {1, 16, 1 << 20}) {
          for (int terms = 1; terms <= comm.size(); ++terms) {
            const Shard own = shard_of(n, comm.rank(), comm.size(), unit);
            const Tensor x = tensor_of(values_of(comm.rank(), n), f32);
            const Tensor into = Tensor::full({own.size()}, 0.25), before = x.clone();
            comm.reduce_scatter(x, {.unit = unit, .into = into, .add = true, .terms = terms});
            std::vector<float> expected(static_cast<size_t>(own.size()), 0.25F);
            for (int r = 0; r < terms; ++r) {
              const Tensor term = tensor_of(values_of(r, n), f32);
              for (size_t i = 0; i < expected.size(); ++i) {
                expected[i] += term.data<const float>()[static_cast<size_t>(own.begin) + i];
              }
            }
            same(into, Tensor::from(expected, {own.size()}), "into");
            same(x, before, "x");
          }
        }
      }
    });
  }
}

TEST_CASE("broadcast gives the root's elements to all ranks", "[comm]") {
  on_ranks(3, [](Comm& comm) {
    for (int root = 0; root < comm.size(); ++root) {
      for (const DType dtype : {f32, bf16, u8}) {
        for (const int64_t n : lengths()) {
          const auto bytes = [&](int rank) {
            const Tensor x = Tensor::from(values_of(rank, n), {n});
            return dtype == u8 ? Tensor::full({n}, rank + 1, u8) : x.to(dtype);
          };
          const Tensor x = bytes(comm.rank());
          comm.broadcast(x, root);
          same(x, bytes(root), "broadcast");
        }
      }
    }
  });
}

TEST_CASE("collectives of all kinds in a random order do not disturb one another", "[comm]") {
  for (const int ranks : {2, 4}) {
    on_ranks(ranks, [](Comm& comm) {
      Generator same_for_all(7), own(static_cast<uint64_t>(comm.rank()) + 50);
      for (int i = 0; i < 400; ++i) {
        const int64_t kind = same_for_all.integer(5), n = same_for_all.integer(i % 10 == 0 ? 300000 : 3000);
        const int root = static_cast<int>(same_for_all.integer(comm.size()));
        if (own.integer(20) == 0) {  // a rank that is late
          volatile double x = 0;
          for (int64_t j = own.integer(1 << 18); j > 0; --j) x = x + 1;
        }
        const auto mark = [&](int rank) { return static_cast<double>((i + 1) * 16 + rank); };
        const Tensor x = Tensor::full({n}, mark(comm.rank()), f64);
        double sum = 0;
        for (int r = 0; r < comm.size(); ++r) sum += mark(r);
        const auto all_are = [&](double value) { same(x, Tensor::full({n}, value, f64), fmt::format("call {}", i)); };
        if (kind == 0) comm.barrier();
        if (kind == 1) comm.all_reduce(x), all_are(sum);
        if (kind == 2) comm.broadcast(x, root), all_are(mark(root));
        if (kind == 3) comm.reduce_scatter(x), comm.all_gather(x), all_are(sum);
        if (kind == 4) {
          comm.all_gather(x);
          Tensor expected = x.clone();
          for (int r = 0; r < comm.size(); ++r) {
            const Shard shard = shard_of(n, r, comm.size());
            if (shard.size() > 0) expected.view_slice(0, shard.begin, shard.end).fill(mark(r));
          }
          same(x, expected, fmt::format("call {}", i));
        }
      }
    });
  }
}

TEST_CASE("collectives that are started take place in their order and end with wait", "[comm]") {
  on_ranks(3, [](Comm& comm) {
    Generator same_for_all(3);
    for (int round = 0; round < 30; ++round) {
      // A chain on one tensor: each collective needs the result of the one before.
      const int64_t n = 1 + same_for_all.integer(70000);
      const Tensor x = tensor_of(values_of(comm.rank(), n), f32), y = Tensor::full({n}, comm.rank() + 1, f64);
      const Comm::Ticket reduced = comm.start_reduce_scatter(x);
      const Comm::Ticket gathered = comm.start_all_gather(x);
      const Comm::Ticket other = comm.start_all_reduce(y);
      if (same_for_all.integer(2) == 0) comm.wait(reduced);
      if (same_for_all.integer(2) == 0) comm.barrier();  // after all that were started
      comm.wait(gathered);
      same(x, sum_of(comm.size(), n, f32), fmt::format("round {}", round));
      const Tensor z = Tensor::full({5}, comm.rank(), f64);
      comm.broadcast(z, 2);  // waits for `other`, too
      same(z, Tensor::full({5}, 2, f64), "broadcast");
      comm.wait(other);
      comm.wait(other);
      same(y, Tensor::full({n}, 6, f64), "all_reduce");
    }
    check(testing::contains(testing::error_of([&] { comm.wait(1000000); }), "ticket 1000000"),
          "wait(1000000) succeeds");
  });
}

TEST_CASE("a started collective that fails throws in wait and in all later calls", "[comm]") {
  for (const testing::Transport transport : testing::kTransports) {
    std::string sentences;
    const int status = testing::run_on(
        transport, 2,
        [](Comm& comm) {
          const Tensor x = Tensor::zeros({comm.rank() == 1 ? 4 : 5});
          const Comm::Ticket ticket = comm.start_all_reduce(x), next = comm.start_all_reduce(x);
          for (const auto& wait : {ticket, next}) {
            const std::string error = testing::error_of([&] { comm.wait(wait); });
            check(testing::contains(error, "different collectives"), "wait says: {}", error);
          }
          check(!testing::error_of([&] { comm.barrier(); }).empty(), "a barrier after the failure succeeds");
          return 0;
        },
        {}, &sentences);
    INFO(sentences);
    REQUIRE(status == 0);
  }
}

TEST_CASE("a group of one rank gives its own values back", "[comm]") {
  const auto comm = single_rank();
  const Tensor x = Tensor::arange(5);
  comm->all_reduce(x);
  comm->reduce_scatter(x);
  comm->all_gather(x);
  comm->broadcast(x, 0);
  comm->barrier();
  REQUIRE(x.to_vector() == std::vector<double>{0, 1, 2, 3, 4});
  REQUIRE(testing::contains(testing::error_of([&] { comm->broadcast(x, 1); }), "root 1"));
  REQUIRE(testing::contains(testing::error_of([&] { comm->all_reduce(Tensor()); }), "undefined"));
  REQUIRE(testing::contains(testing::error_of([&] {
                              comm->all_reduce(Tensor::zeros({2, 3}).view_transpose(0, 1));
                            }),
                            "contiguous"));
}

TEST_CASE("ranks that call different collectives all say which", "[comm]") {
  const testing::Transport transport = testing::kTransports[GENERATE(0, 1, 2, 3)];
  const auto sentences_of = [&](const std::function<void(Comm&)>& work) {
    std::string sentences;
    const int status = testing::run_on(
        transport, 3,
        [&](Comm& comm) {
          comm.barrier();
          work(comm);
          return 0;
        },
        {}, &sentences);
    REQUIRE(status == 1);
    REQUIRE(std::count(sentences.begin(), sentences.end(), '\n') == 3);
    return sentences;
  };
  REQUIRE(testing::contains(sentences_of([](Comm& c) { c.all_reduce(Tensor::zeros({c.rank() == 2 ? 5 : 4})); }),
                            "rank 0: all_reduce of 4 f32, call 2; rank 2: all_reduce of 5 f32, call 2"));
  REQUIRE(testing::contains(sentences_of([](Comm& c) { c.all_reduce(Tensor::zeros({4}, c.rank() == 1 ? f64 : f32)); }),
                            "rank 1: all_reduce of 4 f64"));
  REQUIRE(testing::contains(sentences_of([](Comm& c) { c.broadcast(Tensor::zeros({4}), c.rank() == 1); }),
                            "rank 1: broadcast of 4 f32 from rank 1"));
  REQUIRE(
      testing::contains(sentences_of([](Comm& c) { c.rank() == 1 ? c.barrier() : c.all_gather(Tensor::zeros({4})); }),
                        "rank 1: barrier, call 2"));
  REQUIRE(testing::contains(sentences_of([](Comm& c) { c.all_reduce(Tensor::zeros({4}, u8)); }), "u8"));
}
