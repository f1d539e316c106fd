// The storage pool when tensors move between threads: memory is returned to the pool it came from, and to the system at
// the end.
#include <future>
#include <thread>

#include "tensor/tensor.h"
#include "tests/catch.h"

using namespace pg;

TEST_CASE("a loader thread reuses the blocks that another thread releases", "[tensor][pool]") {
  const size_t before = memory_stats().in_use;
  MemoryStats loader;
  std::thread([&] {
    for (int i = 0; i < 100; ++i) {
      Tensor batch = Tensor::full({64, 1024}, i);
      std::thread([&] { batch = {}; }).join();  // released on another thread
    }
    loader = memory_stats();
  }).join();
  CHECK(loader.in_use == 0);
  CHECK(loader.system_calls == 1);
  CHECK(loader.reserved == 64 * 1024 * sizeof(float));
  CHECK(memory_stats().in_use == before);
}

TEST_CASE("memory released by another thread leaves the owner's count, not the other's", "[tensor][pool]") {
  const size_t before = memory_stats().in_use;
  Tensor made = Tensor::full({1024}, 1);
  size_t other = 1;
  std::thread([&] {
    made = {};
    other = memory_stats().in_use;
  }).join();
  CHECK(other == 0);
  CHECK(memory_stats().in_use == before);
}

TEST_CASE("a tensor outlives the thread that made it", "[tensor][pool]") {
  const size_t before = memory_stats().in_use;
  Tensor kept, longer;
  std::thread([&] {
    kept = Tensor::full({1000}, 3);
    longer = kept.view_slice(0, 10, 20);
  }).join();
  kept = {};
  CHECK(longer.to_vector() == std::vector<double>(10, 3.0));
  longer = {};
  CHECK(memory_stats().in_use == before);
}

TEST_CASE("the memory of a private pool returns from another thread", "[tensor][pool]") {
  const MemoryStats before = memory_stats();
  Tensor kept;
  {
    PrivatePool pool(Device{});
    const PrivatePool::Use use(pool);
    kept = Tensor::full({1 << 16}, 1);
  }
  std::thread([&] { kept = {}; }).join();
  empty_cache();
  CHECK(memory_stats().in_use == before.in_use);
  CHECK(memory_stats().reserved <= before.reserved);
}

TEST_CASE("threads that end release their memory", "[tensor][pool]") {
  // Each thread's own statistics count what it took. A thread_local tensor is released after the pool has been
  // destroyed.
  for (int i = 0; i < 50; ++i) {
    std::thread([] {
      static thread_local Tensor late;
      const Tensor x = Tensor::full({1 << 18}, 1).set_requires_grad();
      late = x.clone();
    }).join();
  }
  SUCCEED("AddressSanitizer's leak check sees what is lost");
}
