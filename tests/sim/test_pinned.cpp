// Page-locked host memory in the simulator: changes while a device may still read it, and the counts of copies.
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tensor/sim/sim.h"
#include "tests/catch.h"
#include "tests/sim/device_array.h"
#include "tests/sim/kernels.h"
#include "tests/sim/must_find.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Two streams, an event, 4 page-locked floats and 4 floats of the device.
struct Copier {
  Copier() {
    for (cudaStream_t* made : {&stream, &other}) cudaStreamCreateWithFlags(made, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    cudaMallocHost(&host, 16);
    fill(1);
  }
  ~Copier() {
    cudaFreeHost(host);
    cudaEventDestroy(event);
    cudaStreamDestroy(other);
    cudaStreamDestroy(stream);
  }
  Copier(const Copier&) = delete;

  void fill(float value) { std::fill(host, host + 4, value); }
  void send(cudaStream_t to) {
    cuda::check(cudaMemcpyAsync(device.data(), host, 16, cudaMemcpyHostToDevice, to), "cudaMemcpyAsync");
  }

  cudaStream_t stream = nullptr, other = nullptr;
  cudaEvent_t event = nullptr;
  float* host = nullptr;
  DeviceArray<float> device{4};
};

const char* const kChanged = "reads bytes 0 to 16 of a page-locked allocation of 16 bytes, and the host changed them";

}  // namespace

TEST_CASE("sim: page-locked memory that changes before its copy was waited for is reported by every wait", "[sim]") {
  const std::function<void(Copier&)> waits[] = {
      [](Copier& c) { cudaStreamSynchronize(c.stream); },
      [](Copier&) { cudaDeviceSynchronize(); },
      [](Copier& c) {
        cudaEventRecord(c.event, c.stream);
        cudaEventSynchronize(c.event);
      },
      [](Copier& c) {  // the other stream comes after the copy, and the host waits for the other stream only
        cudaEventRecord(c.event, c.stream);
        cudaStreamWaitEvent(c.other, c.event);
        cudaStreamSynchronize(c.other);
      },
  };
  for (const auto& wait : waits) {
    Copier c;
    c.send(c.stream);
    wait(c);
    c.fill(2);  // that is in time
    wait(c);
    c.send(c.stream);
    c.host[3] = 7;  // that is not
    const std::string message = message_of([&] { wait(c); });
    CHECK(contains(message, "cudaMemcpyAsync on stream "));
    CHECK(contains(message, kChanged));
    wait(c);  // an error is reported once
  }
}

TEST_CASE("sim: a wait for other work does not end the watch over page-locked memory", "[sim]") {
  Copier c;
  cudaEventRecord(c.event, c.stream);
  c.send(c.stream);
  cudaEventSynchronize(c.event);  // it was recorded before the copy
  c.fill(2);
  cudaStreamSynchronize(c.other);
  CHECK(contains(message_of([&] { cudaStreamSynchronize(c.stream); }), kChanged));
}

TEST_CASE("sim: a graph reads page-locked memory at each launch", "[sim]") {
  Copier c;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(c.stream, cudaStreamCaptureModeRelaxed);
  c.send(c.stream);
  cudaStreamEndCapture(c.stream, &graph);
  cudaGraphInstantiate(&exec, graph);
  c.fill(2);  // nothing has been read yet
  cudaGraphLaunch(exec, c.stream);
  cudaStreamSynchronize(c.stream);
  CHECK(c.device.host() == std::vector<float>(4, 2));
  cudaGraphLaunch(exec, c.stream);
  c.fill(3);
  CHECK(contains(message_of([&] { cudaStreamSynchronize(c.stream); }), kChanged));
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
}

TEST_CASE("sim: a device may change page-locked memory after it has read it", "[sim]") {
  Copier c;
  c.send(c.stream);
  const DeviceArray<float> x(std::vector<float>(4, 5));
  cudaMemcpyAsync(c.host, x.data(), 16, cudaMemcpyDeviceToHost, c.stream);
  cudaStreamSynchronize(c.stream);
  CHECK(c.host[3] == 5);
  c.send(c.stream);  // freed while the copy may run: cudaFreeHost waits
}

TEST_CASE("sim: copies between host and device are counted, to a device by the memory that they read", "[sim]") {
  Copier c;
  const std::vector<float> pageable(4, 3);
  const auto before = sim::copies_to_device();
  const uint64_t to_host = sim::copies_to_host();
  c.send(c.stream);
  c.send(c.stream);
  cudaStreamSynchronize(c.stream);
  cudaMemcpy(c.device.data(), pageable.data(), 16, cudaMemcpyDefault);
  cudaMemcpy(c.host, c.device.data(), 16, cudaMemcpyDefault);  // no copies to a device
  const DeviceArray<float> x(4);
  cudaMemcpy(x.data(), c.device.data(), 16, cudaMemcpyDefault);
  const auto after = sim::copies_to_device();
  CHECK(after.pinned - before.pinned == 2);
  CHECK(after.pageable - before.pageable == 1);
  CHECK(sim::copies_to_host() - to_host == 1);
}
