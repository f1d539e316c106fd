// Device memory that host code cannot access.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/sim/sim.h"
#include "tests/catch.h"
#include "tests/sim/device_array.h"
#include "tests/sim/kernels.h"

using namespace pg;
using namespace pg::testing;

namespace {

struct Ended {
  std::string output;
  int status = 0;
  bool well() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

// Runs `act` in a process of its own.
Ended in_child(const std::function<void()>& act) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    act();
    _exit(0);
  }
  close(ends[1]);
  Ended ended;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    ended.output.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  REQUIRE(waitpid(child, &ended.status, 0) == child);
  return ended;
}

void must_end(const std::vector<std::string>& words, const std::function<void()>& act) {
  const Ended ended = in_child(act);
  INFO(ended.output);
  CHECK(!ended.well());
  for (const std::string& word : words) {
    INFO("must contain: " << word);
    CHECK(contains(ended.output, word));
  }
}

std::vector<float> counted(size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

volatile float sink;
volatile uintptr_t nowhere = 16;

#if defined(__x86_64__)
const std::string kRead = "the host read device memory", kWrote = "the host wrote device memory";
#else
const std::string kRead = "the host accessed device memory", kWrote = kRead;
#endif

}  // namespace

TEST_CASE("sim: host code that reads or writes protected device memory ends with a message", "[sim]") {
  const sim::ProtectedMemory guard;
  DeviceArray<float> x(counted(16)), y(16);
  must_end({kRead, fmt::format("address {}, byte 8 of a device allocation of 64 bytes; copy it to the host first",
                               fmt::ptr(x.data() + 2))},
           [&] { sink = x.data()[2]; });
  must_end({kWrote, "byte 60 of a device allocation of 64 bytes"}, [&] { y.data()[15] = 1; });
  float host[16];
  must_end({kRead, "of a device allocation of 64 bytes"}, [&] {
    std::memcpy(host, x.data(), 64);
    sink = host[3];
  });
  // Kernels and copies change nothing of that, even one that ends with an error.
  affine(x.data(), 16, 2, 0, nullptr);
  CHECK_THROWS_AS(cudaMemcpy(host, x.data(), 65, cudaMemcpyDeviceToHost), Error);
  must_end({kRead}, [&] { sink = x.data()[0]; });
  CHECK(x.host()[15] == 32);
}

TEST_CASE("sim: host code that uses freed protected memory ends with a message", "[sim]") {
  const sim::ProtectedMemory guard;
  float *a = nullptr, *b = nullptr;
  cuda::check(cudaMalloc(&a, 4000), "cudaMalloc");
  cuda::check(cudaMalloc(&b, 4000), "cudaMalloc");
  cuda::check(cudaFree(a), "cudaFree");
  must_end({kRead, "an address in a device allocation of 4000 bytes that was freed"}, [&] { sink = a[1]; });
  cuda::check(cudaFree(b), "cudaFree");
}

TEST_CASE("sim: memory of the host and memory without protection can be used", "[sim]") {
  DeviceArray<float> before(counted(4));
  const Ended ended = in_child([&] { sink = before.data()[0]; });
  // The whole process may be protected.
  CHECK(ended.well() == (std::getenv("POLICYGRAD_SIM_PROTECT") == nullptr));
  const sim::ProtectedMemory guard;
  float* pinned = nullptr;
  cuda::check(cudaMallocHost(&pinned, 64), "cudaMallocHost");
  DeviceArray<float> x(counted(16));
  cuda::check(cudaMemcpy(pinned, x.data(), 64, cudaMemcpyDeviceToHost), "cudaMemcpy");
  CHECK(pinned[15] == 16);
  pinned[15] = 3;
  cuda::check(cudaFreeHost(pinned), "cudaFreeHost");
}

TEST_CASE("sim: a fault elsewhere is left to the handler that was there", "[sim]") {
  const sim::ProtectedMemory guard;
  DeviceArray<float> x(counted(4));
  const Ended ended = in_child([] { *reinterpret_cast<volatile int*>(nowhere) = 1; });
  CHECK(!ended.well());
  CHECK(!contains(ended.output, "CUDA simulator: the host"));  // the handler may print names of tests
}

TEST_CASE("sim: protected memory has the same contents for kernels and graphs and in any order of release", "[sim]") {
  const sim::ProtectedMemory guard;
  // Sizes that leave gaps, which are joined again.
  std::vector<float*> blocks(40);
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < blocks.size(); ++i) {
      const size_t bytes = 4 * (1 + (i * 7919 + static_cast<size_t>(round) * 104729) % 3000);
      cuda::check(cudaMalloc(&blocks[i], bytes), "cudaMalloc");
      CHECK(reinterpret_cast<uintptr_t>(blocks[i]) % 256 == 0);
      cuda::check(cudaMemset(blocks[i], static_cast<int>(i), bytes), "cudaMemset");
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      unsigned char first = 255;
      cuda::check(cudaMemcpy(&first, blocks[i], 1, cudaMemcpyDeviceToHost), "cudaMemcpy");
      CHECK(first == i);
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      cuda::check(cudaFree(blocks[(i * 17 + static_cast<size_t>(round)) % blocks.size()]), "cudaFree");
    }
  }
  DeviceArray<float> x(counted(300));
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  affine(x.data(), 300, 2, 1, stream);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&exec, graph) == cudaSuccess);
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
  cudaStreamSynchronize(stream);
  CHECK(x.host()[299] == 4 * 300 + 3);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_CASE("sim: protected memory of ranks in threads", "[sim]") {
  const sim::ProtectedMemory guard;
  std::vector<float> last(4);
  std::vector<std::thread> threads;
  for (int r = 0; r < 4; ++r) {
    threads.emplace_back([&last, r] {
      cudaSetDevice(r);
      for (int i = 0; i < 50; ++i) {
        DeviceArray<float> x(counted(100));
        affine(x.data(), 100, static_cast<float>(r), static_cast<float>(i), nullptr);
        last[static_cast<size_t>(r)] = x.host()[99];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int r = 0; r < 4; ++r) CHECK(last[static_cast<size_t>(r)] == static_cast<float>(100 * r + 49));
}
