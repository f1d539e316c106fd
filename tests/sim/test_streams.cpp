// Memory, streams, events, graphs and errors of the CUDA runtime API.
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "tensor/base/error.h"
#include "tensor/sim/sim.h"
#include "tests/catch.h"
#include "tests/sim/device_array.h"
#include "tests/sim/kernels.h"
#include "tests/sim/must_find.h"

using namespace pg;
using namespace pg::testing;

namespace {

void must_say(const std::vector<std::string>& words, const std::function<void()>& f) {
  const std::string message = message_of(f);
  for (const auto& word : words) {
    INFO(message << "\nmust contain: " << word);
    CHECK(message.find(word) != std::string::npos);
  }
}

struct Stream {
  explicit Stream(unsigned flags = cudaStreamNonBlocking) {
    cuda::check(cudaStreamCreateWithFlags(&handle, flags), "cudaStreamCreateWithFlags");
  }
  ~Stream() { cudaStreamDestroy(handle); }
  operator cudaStream_t() const { return handle; }
  cudaStream_t handle = nullptr;
};
struct Event {
  Event() { cuda::check(cudaEventCreate(&handle), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(handle); }
  operator cudaEvent_t() const { return handle; }
  cudaEvent_t handle = nullptr;
};

}  // namespace

TEST_CASE("sim: copies and fills outside of their allocations are refused", "[sim]") {
  DeviceArray<int> a(std::vector<int>{1, 2, 3, 4}), b(4);
  cuda::check(cudaMemset(b.data(), 0, 16), "cudaMemset");
  cuda::check(cudaMemcpy(b.data() + 1, a.data(), 12, cudaMemcpyDeviceToDevice), "cudaMemcpy");
  CHECK(b.host() == std::vector<int>{0, 1, 2, 3});
  std::vector<int> host(8, 7);
  must_say({"cudaMemcpy, destination: 12 bytes at byte 8 do not fit into the device allocation of 16 bytes"},
           [&] { cudaMemcpy(b.data() + 2, host.data(), 12, cudaMemcpyHostToDevice); });
  must_say({"cudaMemcpy, source: 20 bytes at byte 0 do not fit"},
           [&] { cudaMemcpy(host.data(), b.data(), 20, cudaMemcpyDeviceToHost); });
  must_say({"cudaMemcpy, destination: expected device memory"},
           [&] { cudaMemcpy(host.data(), b.data(), 4, cudaMemcpyDeviceToDevice); });
  must_say({"cudaMemset: 17 bytes"}, [&] { cudaMemset(b.data(), 0, 17); });
  must_say({"cudaFree: expected a pointer that cudaMalloc returned"}, [&] { cudaFree(b.data() + 1); });
  must_say({"cudaFree: expected a pointer that cudaMalloc returned"}, [&] { cudaFree(host.data()); });
  CHECK(cudaFree(nullptr) == cudaSuccess);
  CHECK(b.host() == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("sim: error codes name the misuse and are cleared when read", "[sim]") {
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaSetDevice(8) == cudaErrorInvalidDevice);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaSuccess);
  must_say({"set the device: CUDA says invalid device ordinal (cudaErrorInvalidDevice)"},
           [] { cuda::check(cudaErrorInvalidDevice, "set the device"); });
  float* huge = nullptr;
  CHECK(cudaMalloc(&huge, size_t{1} << 60) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  int count = 0;
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 8);
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  CHECK(properties.warpSize == 32);
  CHECK(properties.maxThreadsPerBlock == 1024);
}

TEST_CASE("sim: launches of an invalid shape are refused, with the kernel's name", "[sim]") {
  DeviceArray<double> x(std::vector<double>(4, 1.0)), y(4);
  must_say({"launch of pg::testing::reverse_blocks_kernel: expected a block of 1 to 1024 threads", "2048 x 1 x 1"},
           [&] { reverse_blocks(x.data(), y.data(), 2048, 2048); });
  must_say({"launch of pg::testing::reverse_blocks_kernel: expected a grid of at least one block", "0 x 1 x 1"},
           [&] { reverse_blocks(x.data(), y.data(), 0, 64); });
}

TEST_CASE("sim: large dynamic shared memory must be requested", "[sim]") {
  const int n = 1000;
  DeviceArray<float> y(std::vector<float>(n, 1.0f));
  const auto touch = [](float* p, int size) { p[0] = static_cast<float>(size); };
  void (*kernel)(float*, int) = touch;
  must_say({"expected at most 49152 bytes of dynamic shared memory, got 60000", "cudaFuncSetAttribute"},
           [&] { cuda::launch(kernel, 1, 1, 60000, nullptr, y.data(), n); });
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000) == cudaSuccess);
  cuda::launch(kernel, 1, 1, 60000, nullptr, y.data(), n);
  CHECK(y.host()[0] == 1000);
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0) == cudaSuccess);
  CHECK(blocks == 8);  // 2048 threads
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 100 << 10) == cudaSuccess);
  CHECK(blocks == 2);  // 228 KiB of shared memory
}

TEST_CASE("sim: events order streams and measure time", "[sim]") {
  DeviceArray<float> x(std::vector<float>(512, 1.0f)), y(std::vector<float>(512, 0.0f));
  Stream first, second;
  Event done, begin, end;
  cudaEventRecord(begin, first);
  affine(x.data(), 512, 2, 1, first);
  cudaEventRecord(done, first);
  cudaStreamWaitEvent(second, done);
  add(x.data(), y.data(), 512, 10, second);
  cudaEventRecord(end, second);
  cuda::check(cudaStreamSynchronize(second), "cudaStreamSynchronize");
  CHECK(y.host() == std::vector<float>(512, 30.0f));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess);
  CHECK(milliseconds > 0);
  CHECK(cudaEventElapsedTime(&milliseconds, begin, Event()) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
}

TEST_CASE("sim: unordered uses of one array in two streams are refused", "[sim]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  DeviceArray<float> x(std::vector<float>(512, 1.0f)), y(std::vector<float>(512, 0.0f));
  Stream first, second;
  affine(x.data(), 512, 2, 1, first);
  must_say({"pg::testing::add_kernel on stream ", " reads bytes 0 to 2048 of a device allocation of 2048 bytes",
            "pg::testing::affine_kernel on stream ", " writes bytes 0 to 2048", "cudaStreamWaitEvent"},
           [&] { add(x.data(), y.data(), 512, 10, second); });
  std::vector<float> host(512);
  must_say({"cudaMemcpyAsync on stream ", "reads bytes 0 to 2048"},
           [&] { cudaMemcpyAsync(host.data(), x.data(), 2048, cudaMemcpyDeviceToHost, second); });
  cudaDeviceSynchronize();
  add(x.data(), y.data(), 512, 10, second);  // the host has waited for both
  cudaDeviceSynchronize();
  affine(x.data() + 256, 256, 2, 1, second);
  affine(x.data(), 256, 2, 1, first);  // another part of the array
}

TEST_CASE("sim: blocking streams and the default stream wait for each other", "[sim]") {
  DeviceArray<float> x(std::vector<float>(512, 1.0f)), y(std::vector<float>(512, 0.0f));
  Stream blocking(cudaStreamDefault), other(cudaStreamDefault);
  affine(x.data(), 512, 2, 1, blocking);
  add(x.data(), y.data(), 512, 1, nullptr);
  affine(x.data(), 512, 2, 1, other);
  CHECK(y.host() == std::vector<float>(512, 3.0f));
  CHECK(x.host() == std::vector<float>(512, 7.0f));
}

TEST_CASE("sim: a captured graph runs each time it is launched", "[sim]") {
  DeviceArray<float> y(std::vector<float>(300, 1.0f));
  Stream stream;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  cudaStreamCaptureStatus status;
  CHECK(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  float plus = 1;
  affine(y.data(), 300, 2, plus, stream);
  plus = 1000;  // no effect: the launch copied its arguments
  affine(y.data(), 300, 3, 0, stream);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(y.host() == std::vector<float>(300, 1.0f));  // nothing has run
  size_t count = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &count) == cudaSuccess);
  CHECK(count == 2);
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
  cudaStreamSynchronize(stream);
  CHECK(y.host() == std::vector<float>(300, 9.0f));
  CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
  cudaStreamSynchronize(stream);
  CHECK(y.host() == std::vector<float>(300, 57.0f));
  CHECK(cudaGraphExecDestroy(exec) == cudaSuccess);
}

TEST_CASE("sim: a capture includes streams that wait for it, and they must join it again", "[sim]") {
  DeviceArray<float> x(std::vector<float>(64, 1.0f)), y(std::vector<float>(64, 0.0f));
  Stream origin, side;
  Event fork, join;
  for (bool joined : {false, true}) {
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal);
    affine(x.data(), 64, 2, 1, origin);
    cudaEventRecord(fork, origin);
    cudaStreamWaitEvent(side, fork);
    add(x.data(), y.data(), 64, 10, side);
    cudaEventRecord(join, side);
    if (joined) cudaStreamWaitEvent(origin, join);
    affine(x.data(), 64, joined ? 1 : 0, 0, origin);
    CHECK(cudaStreamEndCapture(origin, &graph) == (joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined));
    CHECK(cudaGetLastError() == (joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined));
    if (!joined) {
      CHECK(graph == nullptr);
      continue;
    }
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaGraphInstantiate(&exec, graph) == cudaSuccess);
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, origin) == cudaSuccess);
    cudaDeviceSynchronize();
    CHECK(x.host() == std::vector<float>(64, 15.0f));
    CHECK(y.host() == std::vector<float>(64, 10.0f * (3 + 7 + 15)));
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
}

TEST_CASE("sim: unordered branches of a graph that access one array are refused", "[sim]") {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
  DeviceArray<float> x(std::vector<float>(64, 1.0f));
  Stream origin, side;
  Event fork, join;
  cudaGraph_t graph = nullptr;
  cudaStreamBeginCapture(origin, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, origin);
  cudaStreamWaitEvent(side, fork);
  affine(x.data(), 64, 2, 1, side);
  affine(x.data(), 64, 2, 1, origin);
  cudaEventRecord(join, side);
  cudaStreamWaitEvent(origin, join);
  CHECK(cudaStreamEndCapture(origin, &graph) == cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph) == cudaSuccess);
  must_say({"pg::testing::affine_kernel on stream ", "reads bytes 0 to 256", "the two are not ordered"},
           [&] { cudaGraphLaunch(exec, origin); });
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

TEST_CASE("sim: an operation that cannot be captured is refused and invalidates the capture", "[sim]") {
  DeviceArray<float> x(std::vector<float>(64, 1.0f));
  const auto lost = [&](const std::function<cudaError_t(const Stream&)>& act, cudaError_t expected, unsigned flags) {
    Stream stream(flags);
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    CHECK(act(stream) == expected);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
    cudaGetLastError();
  };
  float* memory = nullptr;
  lost([](const Stream& stream) { return cudaStreamSynchronize(stream); }, cudaErrorStreamCaptureUnsupported, 1);
  lost([&](const Stream&) { return cudaMalloc(&memory, 16); }, cudaErrorStreamCaptureUnsupported, 1);
  lost([&](const Stream&) { return cudaMemset(x.data(), 0, 16); }, cudaErrorStreamCaptureUnsupported, 1);
  lost([&](const Stream&) { return cudaMemsetAsync(x.data(), 0, 16, nullptr); }, cudaErrorStreamCaptureImplicit,
       cudaStreamDefault);
  Event outside;
  cudaEventRecord(outside, nullptr);
  lost([&](const Stream& stream) { return cudaStreamWaitEvent(stream, outside); }, cudaErrorStreamCaptureInvalidated,
       1);

  Stream stream;
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorIllegalState);
  CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaGetLastError() == cudaErrorStreamCaptureUnsupported);
  CHECK(x.host() == std::vector<float>(64, 1.0f));
}
