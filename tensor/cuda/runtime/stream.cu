// Work of the stream: graphs, which are captured work that can be launched again; asynchronous copies to the host;
// events, which measure time with the device's clock.
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/synchronous.h"

namespace pg::cuda {
namespace {

class Capture : public RecordedWork {
 public:
  explicit Capture(const std::function<void()>& work) {
    // Relaxed mode: the memory pool may allocate during the capture.
    check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream(), &graph_);
      cudaGetLastError();
      destroy();
      throw;
    }
    try {
      check(cudaStreamEndCapture(stream(), &graph_), "cudaStreamEndCapture");
      check(cudaGraphInstantiate(&exec_, graph_, 0), "cudaGraphInstantiate");
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Capture() override {
    note(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");  // the graph may still be running
    destroy();
  }
  Capture(const Capture&) = delete;

  void launch() override { check(cudaGraphLaunch(exec_, stream()), "cudaGraphLaunch"); }

 private:
  void destroy() {
    if (exec_) note(cudaGraphExecDestroy(exec_), "cudaGraphExecDestroy");
    if (graph_) note(cudaGraphDestroy(graph_), "cudaGraphDestroy");
  }

  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

class PinnedCopy : public AsyncCopy {
 public:
  explicit PinnedCopy(size_t bytes) {
    check(cudaMallocHost(&memory_, bytes), "cudaMallocHost");
    const cudaError_t status = cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming);
    if (status != cudaSuccess) cudaFreeHost(memory_);
    check(status, "cudaEventCreate");
  }
  ~PinnedCopy() override {
    note(cudaEventSynchronize(arrived_), "cudaEventSynchronize");  // the copy must not write into freed memory
    note(cudaEventDestroy(arrived_), "cudaEventDestroy");
    note(cudaFreeHost(memory_), "cudaFreeHost");
  }
  PinnedCopy(const PinnedCopy&) = delete;

  void start(const void* from, size_t bytes) override {
    check(cudaMemcpyAsync(memory_, from, bytes, cudaMemcpyDeviceToHost, stream()), "cudaMemcpyAsync");
    check(cudaEventRecord(arrived_, stream()), "cudaEventRecord");
  }
  const void* wait() const override {
    check(cudaEventSynchronize(arrived_), "cudaEventSynchronize");
    return memory_;
  }

 private:
  void* memory_ = nullptr;  // page-locked: the device copies into it without help from the host
  cudaEvent_t arrived_ = nullptr;
};

class Event : public DeviceEvent {
 public:
  Event() {
    check(cudaEventCreate(&event_), "cudaEventCreate");
    check(cudaEventRecord(event_, stream()), "cudaEventRecord");
  }
  ~Event() override { note(cudaEventDestroy(event_), "cudaEventDestroy"); }
  Event(const Event&) = delete;

  double seconds_until(const DeviceEvent& later) const override {
    const cudaEvent_t end = static_cast<const Event&>(later).event_;
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds;
    check(cudaEventElapsedTime(&milliseconds, event_, end), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_;
};

}  // namespace

std::unique_ptr<RecordedWork> record(const std::function<void()>& work) {
  if (synchronous()) fail_record();
  return std::make_unique<Capture>(work);
}
std::unique_ptr<AsyncCopy> async_copy(size_t bytes) { return std::make_unique<PinnedCopy>(bytes); }
std::unique_ptr<DeviceEvent> record_event() { return std::make_unique<Event>(); }

}  // namespace pg::cuda
