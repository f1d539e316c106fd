// Several simulated devices: what belongs to one of them, and misuse of NCCL between them.
#include <fcntl.h>
#include <nccl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/sim/device_array.h"
#include "tests/sim/kernels.h"
#include "tests/sim/must_find.h"

using namespace pg;
using namespace pg::testing;

namespace {

struct OnDevice {
  explicit OnDevice(int device) { cuda::check(cudaSetDevice(device), "cudaSetDevice"); }
  ~OnDevice() { cudaSetDevice(0); }
};
cudaStream_t stream_of(int device) {
  const OnDevice there(device);
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return stream;
}

}  // namespace

TEST_CASE("sim: each thread of the host has a current device", "[sim]") {
  const OnDevice there(3);
  int device = -1;
  cudaGetDevice(&device);
  CHECK(device == 3);
  std::thread([&] { cudaGetDevice(&device); }).join();
  CHECK(device == 0);
}

TEST_CASE("sim: a process that is forked after the first use of a device cannot use any", "[sim]") {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  const pid_t child = fork();
  if (child == 0) {
    void* memory = nullptr;
    const bool refused = cudaGetDeviceCount(&count) == cudaErrorInitializationError && count == 0 &&
                         cudaSetDevice(0) == cudaErrorInitializationError &&
                         cudaMalloc(&memory, 8) == cudaErrorInitializationError && memory == nullptr;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("sim: the memory of a device can be limited, and all its allocations together must fit", "[sim]") {
  size_t free = 0, total = 0, used = 0;
  cudaMemGetInfo(&free, &total);
  used = total - free;
  {
    const sim::DeviceLimit limit(used + 1000);
    cudaDeviceProp properties;
    cudaGetDeviceProperties(&properties, 0);
    CHECK(properties.totalGlobalMem == used + 1000);
    float *a = nullptr, *b = nullptr, *c = nullptr;
    CHECK(cudaMalloc(&a, 600) == cudaSuccess);
    cudaMemGetInfo(&free, &total);
    CHECK(free == 400);
    CHECK(total == used + 1000);
    CHECK(cudaMalloc(&b, 401) == cudaErrorMemoryAllocation);  // fits into the device, but not beside `a`
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    CHECK(b == nullptr);
    CHECK(cudaMalloc(&b, 400) == cudaSuccess);
    CHECK(cudaMalloc(&c, 1) == cudaErrorMemoryAllocation);
    CHECK(cudaMallocHost(&c, 800) == cudaSuccess);  // the host's memory
    CHECK(cudaFreeHost(c) == cudaSuccess);
    {
      const OnDevice there(1);  // has as much again
      CHECK(cudaMalloc(&c, used + 1000) == cudaSuccess);
      CHECK(cudaFree(c) == cudaSuccess);
    }
    {
      const sim::DeviceLimit less(10);  // than is allocated
      cudaMemGetInfo(&free, &total);
      CHECK(free == 0);
      CHECK(cudaMalloc(&c, 1) == cudaErrorMemoryAllocation);
    }
    CHECK(cudaFree(a) == cudaSuccess);
    CHECK(cudaMalloc(&a, 600) == cudaSuccess);
    CHECK(cudaFree(a) == cudaSuccess);
    CHECK(cudaFree(b) == cudaSuccess);
    cudaGetLastError();
  }
  float* more = nullptr;
  CHECK(cudaMalloc(&more, 2000) == cudaSuccess);
  CHECK(cudaFree(more) == cudaSuccess);
}

TEST_CASE("sim: POLICYGRAD_SIM_MEMORY is a number of bytes", "[sim]") {
  // It is read once in a process, so this program runs again.
  const auto run = [](const char* bytes, const char* test) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("POLICYGRAD_SIM_MEMORY", bytes, 1);
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
      execl("/proc/self/exe", "sim_tests", test, nullptr);
      _exit(126);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const char* const test = "sim: a device has 1000 bytes if the environment says so";
  CHECK(run("1000", test) == 0);
  CHECK(run("1001", test) != 0);
  CHECK(run("1000 bytes", test) != 0);
  CHECK(run("", test) != 0);
}

TEST_CASE("sim: a device has 1000 bytes if the environment says so", "[.]") {
  if (!std::getenv("POLICYGRAD_SIM_MEMORY")) SKIP_TEST("the test before runs it with the variable");
  size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(total == 1000);
  CHECK(free == 1000);
}

TEST_CASE("sim: streams and events are used on their own device", "[sim]") {
  DeviceArray<float> x(std::vector<float>(8, 1));
  const cudaStream_t first = stream_of(0), second = stream_of(1);
  affine(x.data(), 8, 2, 1, first);
  CHECK(contains(message_of([&] { affine(x.data(), 8, 2, 1, second); }), "cudaErrorInvalidResourceHandle"));
  cudaEvent_t event = nullptr;
  cudaEventCreate(&event);
  CHECK(cudaEventRecord(event, second) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventRecord(event, first) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(second, event) == cudaSuccess);  // that orders two devices
  cudaEventDestroy(event);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

TEST_CASE("sim: a kernel cannot use the memory of another device but a copy can", "[sim]") {
  needs_accesses();
  DeviceArray<float> x(std::vector<float>{1, 2, 3, 4});
  cudaDeviceSynchronize();
  const OnDevice there(2);
  CHECK(contains(message_of([&] { affine(x.data(), 4, 2, 1, nullptr); }),
                 "memory of another device: reads 4 bytes of an allocation on device 0 from a kernel on device 2"));
  DeviceArray<float> y(4);
  cuda::check(cudaMemcpy(y.data(), x.data(), 16, cudaMemcpyDefault), "cudaMemcpy");
  affine(y.data(), 4, 2, 1, nullptr);
  CHECK(y.host() == std::vector<float>{3, 5, 7, 9});
}

TEST_CASE("sim: what one host thread waits for does not order the work of another", "[sim]") {
  needs_accesses();
  for (const bool waits : {true, false}) {
    DeviceArray<float> x(std::vector<float>(64, 1));
    const cudaStream_t a = stream_of(0), b = stream_of(0);
    affine(x.data(), 64, 2, 1, a);
    std::thread([&] { cudaStreamSynchronize(a); }).join();
    if (waits) cudaStreamSynchronize(a);
    CHECK(contains(message_of([&] { affine(x.data(), 64, 2, 1, b); }), "the two are not ordered") == !waits);
    cudaStreamSynchronize(b);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
  }
}

TEST_CASE("sim: NCCL refuses streams and memory of another device and host memory", "[sim]") {
  ncclUniqueId id;
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm = nullptr;
  REQUIRE(ncclCommInitRankConfig(&comm, 1, id, 0, &config) == ncclSuccess);
  const cudaStream_t own = stream_of(0), other = stream_of(1);
  DeviceArray<float> x(std::vector<float>(8, 2));
  const auto reduce = [&](float* at, size_t n, cudaStream_t stream) {
    return ncclAllReduce(at, at, n, ncclFloat32, ncclSum, comm, stream);
  };
  CHECK(reduce(x.data(), 8, own) == ncclSuccess);
  CHECK(reduce(x.data(), 8, other) == ncclInvalidUsage);
  CHECK(contains(message_of([&] { reduce(x.data(), 9, own); }), "36 bytes at byte 0 do not fit"));
  std::vector<float> host(8);
  CHECK(contains(message_of([&] { reduce(host.data(), 8, own); }), "ncclAllReduce: expected device memory"));
  {
    const OnDevice there(1);
    DeviceArray<float> y(8);
    CHECK(reduce(y.data(), 8, own) == ncclInvalidArgument);
  }
  CHECK(ncclCommDestroy(comm) == ncclSuccess);
  cudaStreamDestroy(own);
  cudaStreamDestroy(other);
}

TEST_CASE("sim: NCCL waits for the other ranks and for the events of its stream", "[sim]") {
  needs_accesses();
  for (const bool waits : {true, false}) {
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    std::vector<std::string> messages(2);
    std::vector<float> sums(2);
    const auto rank = [&](int r) {
      const OnDevice own(r);
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      ncclComm_t comm = nullptr;
      cuda::check(ncclCommInitRankConfig(&comm, 2, id, r, &config) == ncclSuccess ? cudaSuccess : cudaErrorInvalidValue,
                  "ncclCommInitRankConfig");
      const cudaStream_t compute = stream_of(r), collective = stream_of(r);
      cudaSetDevice(r);
      cudaEvent_t ready = nullptr;
      cudaEventCreate(&ready);
      DeviceArray<float> x(std::vector<float>(16, static_cast<float>(r)));
      cudaDeviceSynchronize();
      affine(x.data(), 16, 10, 1, compute);  // 1 and 11
      cudaEventRecord(ready, compute);
      if (waits) cudaStreamWaitEvent(collective, ready);
      messages[static_cast<size_t>(r)] = message_of([&] {
        ncclAllReduce(x.data(), x.data(), 16, ncclFloat32, ncclSum, comm, collective);
        cudaStreamSynchronize(collective);
        sums[static_cast<size_t>(r)] = x.host()[15];
      });
      ncclCommDestroy(comm);
      cudaEventDestroy(ready);
    };
    std::thread other([&] { rank(1); });
    rank(0);
    other.join();
    for (size_t r = 0; r < 2; ++r) {
      INFO(messages[r]);
      CHECK(contains(messages[r], waits ? "(no error)" : "ncclAllReduce on stream"));
      CHECK(sums[r] == (waits ? 12.0f : 0.0f));
    }
  }
}
