// A device that is full: what is idle goes back to the system, a graph keeps its memory, an error says what is missing.
#include <cmath>
#include <thread>
#include <vector>

#include "nn/decode/decoder.h"
#include "tensor/backend.h"
#include "tensor/kernels.h"
#include "tensor/reclaim.h"
#include "tensor/sim/sim.h"
#include "tests/catch.h"
#include "tests/cuda/on_device.h"

using namespace pg;

namespace {

constexpr Device kGpu{Device::Kind::cuda, 0};
constexpr size_t kMiB = size_t{1} << 20;

size_t used() {
  const DeviceMemory memory = backend(kGpu).memory(0);
  return memory.total - memory.free;
}
// Leaves so many bytes beside what is allocated.
struct Room : sim::DeviceLimit {
  explicit Room(size_t bytes) : DeviceLimit(used() + bytes) {}
};
Tensor mebibytes(int64_t n) { return Tensor::empty({n << 18}, f32, kGpu); }
bool is_all(const Tensor& x, double value) {
  for (const double v : x.to_vector()) {
    if (v != value) return false;
  }
  return true;
}
std::string full_error(const std::function<void()>& f) {
  const std::string error = testing::error_of(f);
  INFO(error);
  CHECK(testing::contains(error, "out of memory on cuda:0"));
  return error;
}

// Records y += x³ with two temporary tensors of 1 MiB.
struct Cubes {
  const Tensor x = mebibytes(1), y = mebibytes(1);
  int runs = 0;
  Cubes() {
    testing::need_graphs();
    x.fill(3);
    y.fill(0);
  }
  Graph record() {
    return Graph(kGpu, [this] {
      ++runs;
      const Kernels& k = kernels(kGpu);
      const Tensor squares = mebibytes(1), cubes = mebibytes(1);
      k.binary(Binary::mul, squares, x, x);
      k.binary(Binary::mul, cubes, squares, x);
      k.accumulate(y, cubes, 1);
    });
  }
};

}  // namespace

TEST_CASE("out of memory: unused blocks of any size make room", "[cuda][memory]") {
  release_idle_memory(kGpu);
  const Room room(4 * kMiB);
  for (const int64_t size : {3, 1, 4, 1, 2}) mebibytes(size).fill(1);
  const Tensor whole = mebibytes(4);
  whole.fill(5);
  CHECK(is_all(whole, 5));
}

TEST_CASE("out of memory: a request that never fits is one error and the next one succeeds", "[cuda][memory]") {
  release_idle_memory(kGpu);
  const Tensor held = mebibytes(2);
  const size_t before = used();
  const Room room(3 * kMiB);
  const std::string error = full_error([] { mebibytes(4); });
  CHECK(testing::contains(
      error, fmt::format("on cuda:0: 4194304 bytes requested, 3145728 of {} are free", before + 3 * kMiB)));
  const size_t reserved = memory_stats(kGpu).reserved, in_use = memory_stats(kGpu).in_use;
  CHECK(
      testing::contains(error, fmt::format("pools hold {}: {} in tensors, 0 that graphs write to", reserved, in_use)));
  CHECK(testing::contains(error, "a smaller batch or context needs less"));
  CHECK(used() == before);
  mebibytes(3).fill(1);
  held.fill(2);
  CHECK(is_all(held, 2));
}

TEST_CASE("out of memory: a graph that fits beside no unused block is recorded again", "[cuda][memory]") {
  release_idle_memory(kGpu);
  Cubes cubes;
  mebibytes(4).fill(1);  // stays in the usual pool
  const size_t before = used();
  const Room room(kMiB);
  const Graph graph = cubes.record();
  CHECK(cubes.runs == 2);
  CHECK(used() == before - 4 * kMiB + 2 * kMiB);
  CHECK(is_all(cubes.y, 0));
  graph.replay();
  cubes.x.fill(2);
  graph.replay();
  CHECK(is_all(cubes.y, 27 + 8));
}

TEST_CASE("out of memory: a graph that never fits is one error and leaves the device usable", "[cuda][memory]") {
  release_idle_memory(kGpu);
  Cubes cubes;
  const size_t before = used();
  {
    const Room room(3 * kMiB / 2);  // for one of the two
    const std::string error = full_error([&] { cubes.record(); });
    CHECK(testing::contains(error, "while a graph is recorded: 1048576 bytes requested, 524288 of "));
    CHECK(cubes.runs == 2);
    CHECK(used() == before);
    cubes.x.fill(4);
    CHECK(is_all(cubes.x, 4));
    CHECK(is_all(cubes.y, 0));
  }
  const Room room(2 * kMiB);
  const Graph graph = cubes.record();
  CHECK(cubes.runs == 3);
  graph.replay();
  CHECK(is_all(cubes.y, 64));
}

TEST_CASE("out of memory: an error of the work that is no lack of memory runs it once", "[cuda][memory]") {
  testing::need_graphs();
  int runs = 0;
  CHECK_THROWS_AS(Graph(kGpu,
                        [&] {
                          ++runs;
                          fail("no");
                        }),
                  Error);
  CHECK(runs == 1);
}

TEST_CASE("out of memory: the free blocks of a graph that may run again are not released", "[cuda][memory]") {
  release_idle_memory(kGpu);
  Cubes cubes;
  const Graph graph = cubes.record();
  const Room room(3 * kMiB / 2);
  std::vector<Tensor> held;
  const std::string error = full_error([&] {
    for (;;) {
      held.push_back(mebibytes(1));
      held.back().fill(7);
    }
  });
  CHECK(held.size() == 1);  // one more would be memory of the graph
  CHECK(testing::contains(error, "2097152 that graphs write to"));
  graph.replay();
  CHECK(is_all(cubes.y, 27));
  CHECK(is_all(held[0], 7));
}

TEST_CASE("out of memory: what a graph leaves returns to the system at its end", "[cuda][memory]") {
  testing::need_graphs();
  release_idle_memory(kGpu);
  const Kernels& k = kernels(kGpu);
  const Tensor x = Tensor::full({1 << 18}, 2, f32, kGpu);
  Tensor kept;
  const size_t before = used();
  {
    const Graph graph(kGpu, [&] {
      const Tensor squares = mebibytes(1);
      k.binary(Binary::mul, squares, x, x);
      kept = mebibytes(1);
      k.binary(Binary::mul, kept, squares, x);
    });
    CHECK(used() == before + 2 * kMiB);
    graph.replay();
  }
  CHECK(used() == before + kMiB);
  CHECK(is_all(kept, 8));
  // To return memory waits for the device, which would end a recording.
  const Graph later(kGpu, [&] {
    kept = {};
    x.fill(3);
  });
  CHECK(used() == before);
  later.replay();
  CHECK(is_all(x, 3));
}

TEST_CASE("out of memory: reclaimers are asked last and in order", "[cuda][memory]") {
  release_idle_memory(kGpu);
  Tensor first = mebibytes(2), second = mebibytes(2);
  std::vector<int> calls;
  const auto drop = [&](int number, Tensor& kept) {
    return [&calls, &kept, number](Device device) {
      CHECK(device == kGpu);
      calls.push_back(number);
      kept = {};
    };
  };
  const Reclaimer one(drop(1, first));
  const Room room(3 * kMiB);
  mebibytes(2).fill(1);
  mebibytes(3).fill(1);  // in place of the unused block of 2 MiB
  CHECK(calls.empty());
  {
    const Reclaimer two(drop(2, second));
    mebibytes(5).fill(1);
    CHECK(calls == std::vector<int>{1, 2});
    CHECK(!first.defined());
    full_error([] { mebibytes(8); });
    CHECK(calls == std::vector<int>{1, 2, 1, 2});
  }
  full_error([] { mebibytes(8); });
  CHECK(calls == std::vector<int>{1, 2, 1, 2, 1});
  // Those of other threads are not called: what they release would go to other pools.
  std::thread([] {
    const Tensor held = mebibytes(1);
    full_error([] { mebibytes(8); });
  }).join();
  CHECK(calls.size() == 5);
}

TEST_CASE("out of memory: a reclaimer may end itself and may allocate", "[cuda][memory]") {
  release_idle_memory(kGpu);
  Tensor kept = mebibytes(2);
  std::unique_ptr<Reclaimer> own;
  std::string nested;
  own = std::make_unique<Reclaimer>([&](Device) {
    nested = testing::error_of([] { mebibytes(4); });
    kept = {};
    own.reset();
  });
  const Room room(kMiB);
  mebibytes(3).fill(1);
  CHECK(testing::contains(nested, "out of memory"));
  CHECK(own == nullptr);
  full_error([] { mebibytes(4); });
}

TEST_CASE("out of memory: a graph has reclaimers release what is idle", "[cuda][memory]") {
  release_idle_memory(kGpu);
  Cubes cubes;
  Tensor kept = mebibytes(2);
  const Reclaimer reclaimer([&](Device) { kept = {}; });
  const Room room(0);
  const Graph graph = cubes.record();
  CHECK(!kept.defined());
  graph.replay();
  CHECK(is_all(cubes.y, 27));
}

TEST_CASE("out of memory: decoding whose graph fits only after unused memory is released has the same tokens",
          "[cuda][memory]") {
  Generator init(3);
  Transformer model({.vocab_size = 29, .block_size = 12, .n_layer = 2, .n_head = 2, .n_embd = 32, .dtype = f32}, init);
  model.to(kGpu);
  const std::vector<int32_t> a = {1, 2, 3}, b = {4, 5, 6};
  const std::vector<std::span<const int32_t>> prompts = {a, b};
  const std::vector<double> u = {0.3, 0.8};
  enum Case { roomy, after_release, never };
  const auto decode = [&](Case which) {
    release_idle_memory(kGpu);
    Decoder decoder(model, 2, 12, {});
    std::vector<double> all;
    const auto take = [&] {
      const Decoder::Choices choices = decoder.take();
      all.insert(all.end(), choices.tokens.begin(), choices.tokens.end());
      all.insert(all.end(), choices.log_probs.begin(), choices.log_probs.end());
    };
    decoder.prefill(0, prompts, 1, u);
    take();
    decoder.next(u);  // without a graph
    take();
    if (which == never) empty_cache(kGpu);
    const sim::DeviceLimit limit(which == roomy ? SIZE_MAX : used());
    for (int i = 0; i < 4; ++i) {
      decoder.next(u);
      take();
    }
    return all;
  };
  const std::vector<double> expected = decode(roomy);
  CHECK(expected.size() == 6 * 2 * 2);
  CHECK(decode(after_release) == expected);
  full_error([&] { decode(never); });
  CHECK(decode(after_release) == expected);
}
