// Errors of kernels that the host sees later than the launch, as on a GPU, and the mode in which each launch waits.
#include <exception>
#include <string>

#include "tensor/base/error.h"
#include "tensor/cuda/runtime/synchronous.h"
#include "tensor/sim/sim.h"
#include "tests/catch.h"
#include "tests/sim/device_array.h"
#include "tests/sim/kernels.h"
#include "tests/sim/must_find.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("sim: a deferred fault shows at the next wait and at every call after it", "[sim]") {
  const Synchronous off(false);
  DeviceArray<int> y(std::vector<int>(32, 5));
  std::vector<int> host(32, 0);
  {
    const sim::DeferredFaults faults;
    trap(y.data(), false);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    trap(y.data(), true);  // stops at thread 3
    CHECK(cudaGetLastError() == cudaSuccess);
    cudaMemsetAsync(y.data(), 0, 128);  // accepted, but the device is gone
    CHECK(cudaPeekAtLastError() == cudaSuccess);
    CHECK(cudaMemcpy(host.data(), y.data(), 128, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress);
    CHECK(host == std::vector<int>(32, 0));
    for (int i = 0; i < 2; ++i) CHECK(cudaGetLastError() == cudaErrorIllegalAddress);  // not cleared
    int* memory = nullptr;
    CHECK(cudaMalloc(&memory, 16) == cudaErrorIllegalAddress);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(error_of([&] { trap(y.data(), false); }) ==
          "launch of pg::testing::trap_kernel: CUDA says an illegal memory access was encountered "
          "(cudaErrorIllegalAddress); an earlier kernel made this error: run again with POLICYGRAD_CUDA_SYNC=1, which "
          "names it; grid 1 x 1 x 1, block 32 x 1 x 1, 0 bytes of dynamic shared memory");
    CHECK(cudaSetDevice(1) == cudaSuccess);  // another device works
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaSetDevice(0) == cudaErrorIllegalAddress);
  }
  CHECK(cudaGetLastError() == cudaSuccess);
  trap(y.data(), false);
  CHECK(y.host() == std::vector<int>(32, 1));
}

TEST_CASE("sim: a deferred fault of a graph and of an event", "[sim]") {
  DeviceArray<int> y(32);
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaEvent_t event = nullptr;
  cudaEventCreate(&event);
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  cudaMemsetAsync(y.data() + 31, 0, 8, stream);  // past the end
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph) == cudaSuccess);
  {
    const sim::DeferredFaults faults;
    CHECK(cudaGraphLaunch(exec, stream) == cudaSuccess);
    CHECK(cudaEventRecord(event, stream) == cudaSuccess);
    CHECK(cudaEventSynchronize(event) == cudaErrorIllegalAddress);
    CHECK(cudaGraphLaunch(exec, stream) == cudaErrorIllegalAddress);
    CHECK(cudaEventRecord(event, stream) == cudaErrorIllegalAddress);
  }
  CHECK_THROWS_AS(cudaGraphLaunch(exec, stream), Error);  // at once
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
}

TEST_CASE("sim: a launch that waits names the kernel of the fault", "[sim]") {
  DeviceArray<int> y(32);
  const sim::DeferredFaults faults;
  const Synchronous on(true);
  trap(y.data(), false);
  CHECK(
      error_of([&] { trap(y.data(), true); }) ==
      "pg::testing::trap_kernel: CUDA says an illegal memory access was encountered (cudaErrorIllegalAddress); grid 1 "
      "x 1 x 1, block 32 x 1 x 1, 0 bytes of dynamic shared memory");
  CHECK(contains(error_of([&] { trap(y.data(), false); }), "launch of pg::testing::trap_kernel: CUDA says an illegal"));
}

TEST_CASE("sim: a noted failure is thrown once by the next check or launch", "[sim]") {
  DeviceArray<int> y(32);
  cuda::note(cudaSuccess, "first");
  cuda::check(cudaSuccess, "second");
  cudaSetDevice(99);  // remembered as the last error
  cuda::note(cudaErrorInvalidDevice, "third");
  CHECK(cudaPeekAtLastError() == cudaSuccess);  // so that the next launch is not taken for the cause
  cuda::note(cudaErrorInvalidValue, "fourth");
  CHECK(error_of([] { cuda::check(cudaErrorNotReady, "fifth"); }) ==
        "third: CUDA says invalid device ordinal (cudaErrorInvalidDevice)");
  CHECK(error_of([] { cuda::check(cudaErrorNotReady, "fifth"); }) ==
        "fifth: CUDA says device not ready (cudaErrorNotReady)");
  cuda::note(cudaErrorInvalidValue, "sixth");
  CHECK(error_of([&] { trap(y.data(), false); }) == "sixth: CUDA says invalid argument (cudaErrorInvalidValue)");
  trap(y.data(), false);
  CHECK(y.host() == std::vector<int>(32, 1));
}
