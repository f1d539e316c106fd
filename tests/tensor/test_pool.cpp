// The pool of storage: what it reuses, counts and returns.
#include "autograd/ops.h"
#include "tensor/tensor.h"
#include "tests/catch.h"

using namespace pg;

TEST_CASE("the second identical step allocates nothing from the system", "[tensor][pool]") {
  auto step = [] {
    Generator g(1);
    Tensor w = Tensor::normal({300, 200}, 0, 1, g).set_requires_grad();
    const Tensor x = Tensor::normal({50, 200}, 0, 1, g);
    const Tensor y = linear_gelu(x, w), loss = mean(y * y);
    backward(loss);
  };
  step();
  step();
  const MemoryStats before = memory_stats();
  for (int i = 0; i < 3; ++i) step();
  const MemoryStats after = memory_stats();
  CHECK(after.system_calls == before.system_calls);
  CHECK(after.reserved == before.reserved);
  CHECK(after.in_use == before.in_use);
}

TEST_CASE("the pool counts live memory and returns unused memory", "[tensor][pool]") {
  const size_t start = memory_stats().in_use;
  {
    const Tensor a = Tensor::empty({1000});  // 4000 bytes: the size class of 4096
    CHECK(memory_stats().in_use == start + 4096);
    const Tensor b = a, view = a.view_slice(0, 10, 20);
    CHECK(memory_stats().in_use == start + 4096);
    CHECK(reinterpret_cast<uintptr_t>(a.storage()->data) % 64 == 0);
  }
  CHECK(memory_stats().in_use == start);
  { const Tensor big = Tensor::empty({int64_t{3} << 20}); }
  reset_peak_memory();
  CHECK(memory_stats().peak == start);
  { const Tensor big = Tensor::empty({int64_t{3} << 20}); }
  CHECK(memory_stats().peak == start + (size_t{12} << 20));
  empty_cache();
  CHECK(memory_stats().reserved >= memory_stats().in_use);
  CHECK(memory_stats().reserved < memory_stats().in_use + (size_t{12} << 20));
}

TEST_CASE("a private pool shares no blocks", "[tensor][pool]") {
  const size_t reserved = memory_stats().reserved;
  Tensor kept;
  const void* inside = nullptr;
  {
    PrivatePool pool(Device{});
    {
      const PrivatePool::Use use(pool);
      inside = Tensor::empty({12345}).view().data;  // returned to that pool immediately
      kept = Tensor::full({54321}, 1);
    }
    const Tensor outside = Tensor::empty({12345});
    CHECK(outside.view().data != inside);
    const PrivatePool::Use use(pool);
    CHECK(Tensor::empty({12345}).view().data == inside);
  }
  CHECK(kept.to_vector()[54320] == 1);  // still valid after its pool is destroyed
  CHECK(memory_stats().reserved > reserved);
  kept = Tensor();
  empty_cache();
  CHECK(memory_stats().reserved <= reserved + 12345 * 4 + 4096);  // only `outside` is left
}
