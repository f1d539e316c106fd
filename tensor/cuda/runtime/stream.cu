// Work of the stream: graphs, which are captured work that can be launched again; asynchronous copies to the host and
// from it; events, which measure time with the device's clock. Graphs and copies to the host stay with the stream that
// they were made for, whatever the current device is later.
#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/synchronous.h"

namespace pg::cuda {
namespace {

class Capture : public RecordedWork {
 public:
  explicit Capture(const std::function<void()>& work) : stream_(stream()) {
    // Relaxed mode: the memory pool may allocate during the capture.
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream_, &graph_);
      cudaGetLastError();
      destroy();
      throw;
    }
    try {
      check(cudaStreamEndCapture(stream_, &graph_), "cudaStreamEndCapture");
      check(cudaGraphInstantiate(&exec_, graph_, 0), "cudaGraphInstantiate");
    } catch (...) {
      destroy();
      throw;
    }
  }
  ~Capture() override {
    // The graph may still be running. CUDA keeps a running graph until it is done, but its memory is freed next. While
    // another graph is captured, nobody can wait for the stream; then cudaFree waits for the device.
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    note(cudaStreamIsCapturing(stream_, &status), "cudaStreamIsCapturing");
    if (status == cudaStreamCaptureStatusNone) note(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    destroy();
  }
  Capture(const Capture&) = delete;

  void launch() override { check(cudaGraphLaunch(exec_, stream_), "cudaGraphLaunch"); }

 private:
  void destroy() {
    if (exec_) note(cudaGraphExecDestroy(exec_), "cudaGraphExecDestroy");
    if (graph_) note(cudaGraphDestroy(graph_), "cudaGraphDestroy");
  }

  const cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

class PinnedCopy : public AsyncCopy {
 public:
  explicit PinnedCopy(size_t bytes) : stream_(stream()) {
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
    check(cudaMemcpyAsync(memory_, from, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
    check(cudaEventRecord(arrived_, stream_), "cudaEventRecord");
  }
  const void* wait() const override {
    check(cudaEventSynchronize(arrived_), "cudaEventSynchronize");
    return memory_;
  }

 private:
  const cudaStream_t stream_;
  void* memory_ = nullptr;  // page-locked: the device copies into it without help from the host
  cudaEvent_t arrived_ = nullptr;
};

// Page-locked memory of one device, through which all copies from the host go. The device reads it without help from
// the host, so the host does not wait until the copy's turn comes, as it does with large copies from other memory.
class PinnedRing {
 public:
  explicit PinnedRing(int) {
    void* memory = nullptr;
    check(cudaMallocHost(&memory, kSlots * kSlotBytes), "cudaMallocHost");
    for (size_t i = 0; i < kSlots; ++i) {
      slots_[i].memory = static_cast<char*>(memory) + i * kSlotBytes;
      check(cudaEventCreateWithFlags(&slots_[i].read, cudaEventDisableTiming), "cudaEventCreate");
    }
  }
  PinnedRing(const PinnedRing&) = delete;

  void copy(char* to, const char* from, size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (size_t done = 0; done < bytes;) {
      Slot& slot = slots_[next_++ % kSlots];
      const size_t part = std::min(bytes - done, kSlotBytes);
      check(cudaEventSynchronize(slot.read), "cudaEventSynchronize");
      std::memcpy(slot.memory, from + done, part);
      check(cudaMemcpyAsync(to + done, slot.memory, part, cudaMemcpyHostToDevice, stream()), "cudaMemcpyAsync");
      check(cudaEventRecord(slot.read, stream()), "cudaEventRecord");
      done += part;
    }
  }

 private:
  static constexpr size_t kSlots = 32, kSlotBytes = size_t{128} << 10;
  struct Slot {
    char* memory = nullptr;
    cudaEvent_t read = nullptr;  // the last copy from the slot is complete
  };
  std::mutex mutex_;
  std::array<Slot, kSlots> slots_;
  size_t next_ = 0;
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

void copy_to_device(void* to, const void* from, size_t bytes) {
  of_current_device<PinnedRing>().copy(static_cast<char*>(to), static_cast<const char*>(from), bytes);
}
std::unique_ptr<RecordedWork> record(const std::function<void()>& work) {
  if (synchronous()) fail_record();
  return std::make_unique<Capture>(work);
}
std::unique_ptr<AsyncCopy> async_copy(size_t bytes) { return std::make_unique<PinnedCopy>(bytes); }
std::unique_ptr<DeviceEvent> record_event() { return std::make_unique<Event>(); }

}  // namespace pg::cuda
