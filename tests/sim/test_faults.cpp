// Every mistake that the simulator must find, with its line and an understandable message, and the same kernel without
// the mistake.
#include "tests/sim/device_array.h"
#include "tests/sim/kernels.h"
#include "tests/sim/must_find.h"

using namespace pg;
using namespace pg::testing;

namespace {

std::string location(const std::string& name, const std::string& mark = "FAULT") {
  return location_in("tests/sim/faults.cu", name, mark);
}
void must_find(const std::string& name, const std::string& block_and_thread, const std::vector<std::string>& words,
               const std::function<void()>& f) {
  must_find_in("tests/sim/faults.cu", name, block_and_thread, words, f);
}

const std::vector<float> kOnes(256, 1.0f);

// Defined here and not in faults.cu, because nvcc does not support exceptions in kernels.
__global__ void throwing_kernel(int* y, int thrower) {
  if (static_cast<int>(threadIdx.x) == thrower) throw 7;
  y[threadIdx.x] = 1;
}

}  // namespace

TEST_CASE("sim: accesses outside of device memory are refused", "[sim]") {
  needs_accesses();
  DeviceArray<float> x(std::vector<float>(100, 2.0f)), y(100);
  copy_past_the_end(x.data(), y.data(), 100, false);
  CHECK(y.host() == x.host());
  must_find("copy_past_the_end", "block 3, thread 4",
            {"out of bounds: reads 4 bytes at an address 0 bytes past the end of a device allocation of 400 bytes"},
            [&] { copy_past_the_end(x.data(), y.data(), 100, true); });

  write_before(y.data(), false);
  must_find(
      "write_before", "block 0, thread 0",
      {"out of bounds: writes 4 bytes at an address 4 bytes before the start of a device allocation of 400 bytes"},
      [&] { write_before(y.data(), true); });

  DeviceArray<float> a(std::vector<float>(66, 2.0f)), b(68);
  vector_past_the_end(a.data(), b.data(), 66, false);
  must_find("vector_past_the_end", "block 0, thread 16",
            {"out of bounds: reads 16 bytes at byte 256 of a device allocation of 264 bytes"},
            [&] { vector_past_the_end(a.data(), b.data(), 66, true); });
}

TEST_CASE("sim: accesses at addresses that their size does not divide are refused", "[sim]") {
  needs_accesses();
  std::vector<float> counted(136);
  for (size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<float>(i);
  DeviceArray<float> x(counted), y(64), pairs(70);
  misaligned_vector(x.data(), y.data(), 4);
  CHECK(y.host()[31] == 128 + 129 + 130 + 131);
  must_find("misaligned_vector", "block 0, thread 0",
            {"misaligned address: reads 16 bytes at byte 4 of a device allocation of 544 bytes, 4 bytes past a "
             "multiple of "},
            [&] { misaligned_vector(x.data(), y.data(), 1); });
#if !defined(__clang__)  // which does not tell such accesses from those that need 8 bytes only
  must_find("misaligned_vector", "block 0, thread 0", {"reads 16 bytes at byte 8", "8 bytes past a multiple of 16"},
            [&] { misaligned_vector(x.data(), y.data(), 2); });
#endif
  misaligned_pair(pairs.data(), 2);
  CHECK(pairs.host()[65] == 2);
  must_find("misaligned_pair", "block 0, thread 0",
            {"misaligned address: writes 8 bytes at byte 12 of a device allocation of 280 bytes, 4 bytes past a "
             "multiple of 8"},
            [&] { misaligned_pair(pairs.data(), 3); });
  DeviceArray<int> ints(32);
  misaligned_shared(ints.data(), 8);
  CHECK(ints.host() == std::vector<int>(32, 0));
  must_find("misaligned_shared", "block 0, thread 0",
            {"misaligned address: reads 4 bytes at byte 6 of shared variable words (160 bytes), 2 bytes past a "
             "multiple of 4"},
            [&] { misaligned_shared(ints.data(), 6); });
  DeviceArray<unsigned char> bytes(std::vector<unsigned char>(16, 0));
  misaligned_atomic(bytes.data(), 4);
  CHECK(bytes.host()[4] == 32);
  must_find("misaligned_atomic", "block 0, thread 0",
            {"misaligned address: atomically changes 4 bytes at byte 5 of a device allocation of 16 bytes"},
            [&] { misaligned_atomic(bytes.data(), 5); });
}

TEST_CASE("sim: host memory and freed memory are refused", "[sim]") {
  needs_accesses();
  DeviceArray<float> y(64);
  float host[64] = {};  // on the stack, far from anything on the heap
  must_find("copy_from", "block 0, thread 0",
            {"out of bounds: reads 4 bytes", "in no device allocation", "host memory"},
            [&] { copy_from(host, y.data(), 64); });
  float* freed = nullptr;
  cuda::check(cudaMalloc(&freed, 256), "cudaMalloc");
  copy_from(y.data(), freed, 64);
  cuda::check(cudaFree(freed), "cudaFree");
  must_find("copy_from", "block 0, thread 0", {"in a device allocation of 256 bytes that was freed"},
            [&] { copy_from(freed, y.data(), 64); });
  float* pinned = nullptr;  // host memory that a GPU may read
  cuda::check(cudaMallocHost(&pinned, 256), "cudaMallocHost");
  for (int i = 0; i < 64; ++i) pinned[i] = static_cast<float>(i);
  copy_from(pinned, y.data(), 64);
  CHECK(y.host()[63] == 63);
  cuda::check(cudaFreeHost(pinned), "cudaFreeHost");
}

TEST_CASE("sim: accesses outside of shared memory are refused", "[sim]") {
  needs_accesses();
  DeviceArray<float> y(64);
  shared_past_the_end(y.data(), false);
  CHECK(y.host() == std::vector<float>(64, 3.0f));
  must_find("shared_past_the_end", "block 0, thread 63",
            {"out of bounds: reads 4 bytes at byte 256 of shared variable first (256 bytes)"},
            [&] { shared_past_the_end(y.data(), true); });
  shared_of_another(y.data(), false);
  must_find("shared_of_another", "block 0, thread 0",
            {"out of bounds: reads 4 bytes at byte 256 of shared variable ", "table (256 bytes)"},
            [&] { shared_of_another(y.data(), true); });
  dynamic_past_the_end(y.data(), false);
  must_find("dynamic_past_the_end", "block 0, thread 63",
            {"out of bounds: writes 4 bytes at byte 256 of dynamic shared memory (256 bytes)"},
            [&] { dynamic_past_the_end(y.data(), true); });
}

TEST_CASE("sim: reads of uninitialised shared memory are refused", "[sim]") {
  needs_accesses();
  DeviceArray<float> y(64);
  uninitialised(y.data(), 64);
  must_find("uninitialised", "block 0, thread 0",
            {"uninitialised shared memory: reads byte 252 of shared variable buffer (256 bytes)"},
            [&] { uninitialised(y.data(), 63); });
  DeviceArray<unsigned short> halves(32);
  uninitialised_half(halves.data(), false);
  must_find("uninitialised_half", "block 0, thread 0",
            {"uninitialised shared memory: reads byte 62 of shared variable ", "(64 bytes)"},
            [&] { uninitialised_half(halves.data(), true); });
  // Each block's shared memory starts uninitialised, even where it reuses another block's memory.
  left_by_another_block(y.data(), false);
  must_find("left_by_another_block", "block 1, thread 0",
            {"uninitialised shared memory: reads byte 0 of shared variable ", "value (4 bytes)"},
            [&] { left_by_another_block(y.data(), true); });
}

TEST_CASE("sim: races in shared memory are found", "[sim]") {
  needs_accesses();
  DeviceArray<float> x(kOnes), y(128);
  DeviceArray<int> counts(64);
  missing_barrier(x.data(), y.data(), false);
  must_find("missing_barrier", "block 0, thread 32",
            {"race: writes byte 128 of shared variable buffer (256 bytes), which thread 0 reads",
             location("missing_barrier", "OTHER"), "__syncthreads()"},
            [&] { missing_barrier(x.data(), y.data(), true); });
  write_after_read(x.data(), y.data(), false);
  must_find("write_after_read", "block 0, thread 1",
            {"race: writes byte 4", "which thread 0 reads", location("write_after_read", "OTHER")},
            [&] { write_after_read(x.data(), y.data(), true); });
  two_writers(counts.data(), false);
  CHECK(counts.host() == std::vector<int>(64, 0));
  must_find("two_writers", "block 0, thread 1",
            {"race: writes byte 0", "which thread 0 writes", location("two_writers")},
            [&] { two_writers(counts.data(), true); });
  atomic_and_plain(counts.data(), false);
  CHECK(counts.host() == std::vector<int>(64, 64));
  must_find("atomic_and_plain", "block 0, thread 1",
            {"race: atomically changes byte 0 of shared variable count (4 bytes), which thread 0 reads",
             location("atomic_and_plain", "OTHER")},
            [&] { atomic_and_plain(counts.data(), true); });
}

TEST_CASE("sim: lanes of a warp are ordered only by __syncwarp and barriers", "[sim]") {
  needs_accesses();
  DeviceArray<float> x(kOnes), y(64);
  missing_syncwarp(x.data(), y.data(), false);
  must_find("missing_syncwarp", "block 0, thread 16",
            {"race: writes byte 64", "which thread 15 reads", location("missing_syncwarp", "OTHER"),
             "__syncwarp() or __syncthreads()"},
            [&] { missing_syncwarp(x.data(), y.data(), true); });
  shuffle_is_no_syncwarp(x.data(), y.data(), false);
  must_find("shuffle_is_no_syncwarp", "block 0, thread 31",
            {"race: reads byte 116", "which thread 29 writes", location("shuffle_is_no_syncwarp", "OTHER")},
            [&] { shuffle_is_no_syncwarp(x.data(), y.data(), true); });
  half_mask_syncwarp(x.data(), y.data(), false);
  must_find("half_mask_syncwarp", "block 0, thread 16",
            {"race: writes byte 64", "which thread 0 reads", location("half_mask_syncwarp", "OTHER")},
            [&] { half_mask_syncwarp(x.data(), y.data(), true); });
  DeviceArray<unsigned char> bytes(64);
  bytes_of_one_word(bytes.data());
  CHECK(bytes.host()[63] == 63);
}

TEST_CASE("sim: races in device memory within a block are found", "[sim]") {
  needs_accesses();
  DeviceArray<float> y(128);
  global_race(y.data(), false);
  CHECK(y.host() == std::vector<float>(128, 7.0f));
  must_find("global_race", "block 0, thread 32",
            {"race: writes byte 128 of a device allocation of 512 bytes, which thread 0 reads",
             location("global_race", "OTHER")},
            [&] { global_race(y.data(), true); });
}

TEST_CASE("sim: divergent barriers are refused", "[sim]") {
  DeviceArray<float> y(64);
  barrier_in_branch(y.data(), false);
  must_find("barrier_in_branch", "block 0, thread 0",
            {"divergent barrier: waits at __syncthreads(), but thread 40 has left the kernel"},
            [&] { barrier_in_branch(y.data(), true); });
  two_barriers(y.data(), false);
  must_find(
      "two_barriers", "block 0, thread 0",
      {"divergent barrier: waits at __syncthreads(), but thread 32 waits at __syncthreads() (tests/sim/faults.cu:"},
      [&] { two_barriers(y.data(), true); });
}

TEST_CASE("sim: shuffles that a named lane does not reach are refused", "[sim]") {
  DeviceArray<float> y(32);
  early_exit_of_warp_lane(y.data(), false);
  must_find("early_exit_of_warp_lane", "block 0, thread 0",
            {"__shfl_down_sync(): mask 0xffffffff names lane 24", "thread 24) has left the kernel"},
            [&] { early_exit_of_warp_lane(y.data(), true); });
  wrong_mask(y.data(), false);
  must_find("wrong_mask", "block 0, thread 8", {"__shfl_xor_sync(): mask 0x000000ff does not name the calling lane 8"},
            [&] { wrong_mask(y.data(), true); });
  shuffle_from_outside(y.data(), false);
  must_find("shuffle_from_outside", "block 0, thread 0",
            {"__shfl_xor_sync(): reads the value of lane 16, which mask 0x0000ffff does not name"},
            [&] { shuffle_from_outside(y.data(), true); });
  barrier_and_shuffle(y.data(), false);
  must_find("barrier_and_shuffle", "block 0, thread 0", {"names lane 16", "thread 16) waits at __syncthreads()"},
            [&] { barrier_and_shuffle(y.data(), true); });
}

TEST_CASE("sim: a kernel that may start early waits for those ahead of it", "[sim]") {
  DeviceArray<float> x(std::vector<float>(64, 3.0f)), y(64);
  early_end(y.data(), false);
  CHECK(y.host() == std::vector<float>(64, 1.0f));
  const std::string message = message_of([&] { early_end(y.data(), true); });
  INFO(message);
  CHECK(message.find("early_end_kernel, block 0, thread 5: ends without wait_for_earlier_kernels()") !=
        std::string::npos);
  early_access(x.data(), y.data(), false);
  CHECK(y.host() == x.host());
  needs_accesses();
  must_find("early_access", "block 0, thread 0", {"accesses device memory before wait_for_earlier_kernels()"},
            [&] { early_access(x.data(), y.data(), true); });
}

TEST_CASE("sim: __trap ends the kernel", "[sim]") {
  DeviceArray<int> y(32);
  trap(y.data(), false);
  must_find("trap", "block 0, thread 3", {"__trap()"}, [&] { trap(y.data(), true); });
}

TEST_CASE("sim: each thread has its own stack and local variables", "[sim]") {
  needs_accesses();
  DeviceArray<int> y(32);
  deep_recursion(y.data(), 10);
  const std::string message = message_of([&] { deep_recursion(y.data(), 100000); });
  INFO(message);
  CHECK(message.find("pg::testing::deep_recursion_kernel (tests/sim/faults.cu:") == 0);
  CHECK(message.find("bytes of stack") != std::string::npos);
  address_of_local(y.data(), false);
  CHECK(y.host()[5] == 15);
  must_find("address_of_local", "block 0, thread 0", {"local variable of another thread"},
            [&] { address_of_local(y.data(), true); });
}

TEST_CASE("sim: after an error the next launch works", "[sim]") {
  DeviceArray<float> y(64);
  for (int i = 0; i < 20; ++i) {
    CHECK_THROWS_AS(barrier_in_branch(y.data(), true), Error);
    barrier_in_branch(y.data(), false);
    REQUIRE(y.host() == std::vector<float>(64, 9.0f));
  }
}

TEST_CASE("sim: an exception that is no std::exception propagates unchanged out of the launch", "[sim]") {
  DeviceArray<int> y(64);
  const auto run = [&](int thrower) { cuda::launch(throwing_kernel, 40, 64, 0, nullptr, y.data(), thrower); };
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_AS(run(33), int);
    run(-1);
    REQUIRE(y.host() == std::vector<int>(64, 1));
  }
}
