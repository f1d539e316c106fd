// Streams, events and graphs of the simulated device.
#include "tensor/sim/stream.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "tensor/base/error.h"
#include "tensor/sim/arena.h"
#include "tensor/sim/pinned.h"
#include "tensor/sim/sim.h"
#include "tensor/sim/symbols.h"

namespace pg::sim {

namespace {

// All streams, and what each thread of the host has waited for. Work of several threads runs one after the other.
struct Streams {
  std::recursive_mutex mutex;
  std::set<CUstream_st*> all;
  std::set<std::shared_ptr<Capture>> captures;
  std::array<CUstream_st, kDevices> legacy;
  // A thread's synchronisation orders later work of that thread only. What threads tell each other is not seen, so work
  // of two threads on the same memory must be ordered by streams and events.
  std::map<std::thread::id, Clock> hosts;
  int count = 0;
  // In the mode of DeferredFaults, by device: the error of a kernel, and the same once the host has waited for it.
  int deferring = 0;
  std::array<cudaError_t, kDevices> faults{}, seen{};

  Streams() {
    for (int i = 0; i < kDevices; ++i)
      legacy[static_cast<size_t>(i)].number = -(legacy[static_cast<size_t>(i)].device = i);
  }
  Clock& host() { return hosts[std::this_thread::get_id()]; }
  // The calling thread has waited for what is before `clock`.
  void wait_for(const Clock& clock) {
    host().join(clock);
    check_pinned_memory(host());
  }
};
Streams& streams() {
  static auto* all = new Streams;  // may be used by destructors at exit
  return *all;
}

thread_local cudaError_t last_error = cudaSuccess;

// nullptr for a handle that is not a stream.
CUstream_st* find(cudaStream_t stream) {
  if (!stream) return &streams().legacy[static_cast<size_t>(current_device())];
  return streams().all.count(stream) ? stream : nullptr;
}

bool is_legacy(const CUstream_st* stream) { return stream->number <= 0; }

// Adds to the stream's clock everything that an operation submitted to it now comes after.
void begin_work(CUstream_st* stream) {
  auto& s = streams();
  stream->clock.join(s.host());
  if (is_legacy(stream)) {
    for (CUstream_st* other : s.all) {
      if (other->blocking && other->device == stream->device) stream->clock.join(other->clock);
    }
  } else if (stream->blocking) {
    stream->clock.join(s.legacy[static_cast<size_t>(stream->device)].clock);
  }
}

// Runs the work on a device that has made no error, unless the error is to be seen later.
void run_work(const Work& work, int device) {
  auto& s = streams();
  cudaError_t& fault = s.faults[static_cast<size_t>(device)];
  if (fault) return;
  take_uses_of_running_work();  // discards the uses of an operation that failed
  const OpenArena open;
  if (s.deferring == 0) return work.run();
  try {
    work.run();
  } catch (const Error&) {
    fault = cudaErrorIllegalAddress;
  }
}

// run_work() as an operation of stream `number`; `now` has it as its latest tick.
void run_now(const Work& work, int device, int number, const Clock& now) {
  run_work(work, device);
  const Uses uses = take_uses_of_running_work();
  check_order(uses, work.name, number, now);
  follow_pinned_memory(uses, work.name, number, now);
}

// Called when the host has waited for a device.
cudaError_t see_fault(int device) {
  auto& s = streams();
  return s.seen[static_cast<size_t>(device)] = s.faults[static_cast<size_t>(device)];
}

}  // namespace

DeferredFaults::DeferredFaults() {
  std::lock_guard lock(streams().mutex);
  ++streams().deferring;
}
DeferredFaults::~DeferredFaults() {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  --s.deferring;
  s.faults.fill(cudaSuccess);
  s.seen.fill(cudaSuccess);
}

cudaError_t seen_fault() {
  std::lock_guard lock(streams().mutex);
  return streams().seen[static_cast<size_t>(current_device())];
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t forbid(Capture& capture) {
  capture.invalid = true;
  return remember(cudaErrorStreamCaptureUnsupported);
}

// Called before waiting for anything that is not captured.
cudaError_t forbid_while_capturing() {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  for (const auto& capture : s.captures) {
    if (capture->mode != cudaStreamCaptureModeRelaxed) return forbid(*capture);
  }
  return cudaSuccess;
}

cudaError_t give(cudaStream_t handle, Work work) {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  CUstream_st* stream = find(handle);
  if (!stream) return remember(cudaErrorInvalidResourceHandle);
  if (const auto error = seen_fault()) return error;
  if (stream->capture) {
    if (stream->capture->invalid) return remember(cudaErrorStreamCaptureInvalidated);
    stream->captured.tick(stream->number);
    work.stream = stream->number;
    work.clock = stream->captured;
    stream->capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  if (is_legacy(stream)) {
    for (CUstream_st* other : s.all) {
      if (!other->capture || !other->blocking || other->device != stream->device) continue;
      other->capture->invalid = true;  // the default stream would have to wait for work that does not run
      return remember(cudaErrorStreamCaptureImplicit);
    }
  }
  begin_work(stream);
  stream->clock.tick(stream->number);
  run_now(work, stream->device, stream->number, stream->clock);
  stream->seconds += work.seconds;
  return cudaSuccess;
}

void enqueue(Kernel kernel, void* stream) {
  std::string name = function_name(kernel.function);
  kernel.device = current_device();
  {
    std::lock_guard lock(streams().mutex);
    const CUstream_st* found = find(static_cast<cudaStream_t>(stream));
    if (!found || found->device != kernel.device) {  // CUDA launches into streams of the current device only
      remember(cudaErrorInvalidResourceHandle);
      return;
    }
  }
  give(static_cast<cudaStream_t>(stream), {std::move(name), [kernel = std::move(kernel)] { run(kernel); }});
}

}  // namespace pg::sim

using namespace pg::sim;

cudaError_t cudaGetLastError() {
  const cudaError_t fault = seen_fault(), last = std::exchange(last_error, cudaSuccess);
  return fault ? fault : last;
}
cudaError_t cudaPeekAtLastError() {
  const cudaError_t fault = seen_fault();
  return fault ? fault : last_error;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (!stream || flags > cudaStreamNonBlocking) return remember(cudaErrorInvalidValue);
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  *stream = new CUstream_st;
  (*stream)->number = ++s.count;
  (*stream)->device = current_device();
  (*stream)->blocking = flags != cudaStreamNonBlocking;
  s.all.insert(*stream);
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  if (!stream || !find(stream)) return remember(cudaErrorInvalidResourceHandle);
  s.all.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  CUstream_st* stream = find(handle);
  if (!stream) return remember(cudaErrorInvalidResourceHandle);
  if (stream->capture) return forbid(*stream->capture);
  if (const auto error = forbid_while_capturing()) return error;
  begin_work(stream);
  s.wait_for(stream->clock);
  return see_fault(stream->device);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

cudaError_t cudaDeviceSynchronize() {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  const int device = current_device();
  for (const auto& capture : s.captures) {
    if (capture->origin->device == device) return forbid(*capture);
  }
  Clock all = s.legacy[static_cast<size_t>(device)].clock;
  for (CUstream_st* stream : s.all) {
    if (stream->device == device) all.join(stream->clock);
  }
  s.wait_for(all);
  return see_fault(device);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  CUstream_st* stream = find(handle);
  if (!stream || !event) return remember(cudaErrorInvalidResourceHandle);
  if (const auto capture = event->capture.lock()) {
    if (stream->capture && stream->capture != capture) return remember(cudaErrorStreamCaptureMerge);
    if (!stream->capture) {
      stream->capture = capture;
      stream->captured = {};
    }
    stream->captured.join(event->clock);
    return cudaSuccess;
  }
  if (stream->capture) {
    stream->capture->invalid = true;  // the graph would depend on work outside of it
    return remember(cudaErrorStreamCaptureInvalidated);
  }
  stream->clock.join(event->clock);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (!event) return remember(cudaErrorInvalidValue);
  *event = new CUevent_st;
  (*event)->device = current_device();
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  CUstream_st* stream = find(handle);
  if (!stream || !event || event->device != stream->device) return remember(cudaErrorInvalidResourceHandle);
  if (const auto error = seen_fault()) return error;
  event->capture = stream->capture;
  if (stream->capture) {
    event->clock = stream->captured;
    return cudaSuccess;
  }
  begin_work(stream);
  event->clock = stream->clock;
  const std::chrono::duration<double> more(stream->seconds);
  event->time = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(more);
  event->recorded = true;
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  if (!event) return remember(cudaErrorInvalidResourceHandle);
  if (const auto capture = event->capture.lock()) return forbid(*capture);
  s.wait_for(event->clock);
  return see_fault(event->device);
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  if (!begin || !end || !begin->recorded || !end->recorded) return remember(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  CUstream_st* stream = find(handle);
  if (!stream) return remember(cudaErrorInvalidResourceHandle);
  if (is_legacy(stream)) return remember(cudaErrorStreamCaptureUnsupported);
  if (const auto error = seen_fault()) return error;
  if (stream->capture) return remember(cudaErrorIllegalState);
  stream->capture = std::make_shared<Capture>(Capture{stream, mode, {}});
  stream->captured = {};
  s.captures.insert(stream->capture);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  *graph = nullptr;
  CUstream_st* stream = find(handle);
  if (!stream) return remember(cudaErrorInvalidResourceHandle);
  if (!stream->capture) return remember(cudaErrorIllegalState);
  const auto capture = stream->capture;
  if (capture->origin != stream) return remember(cudaErrorStreamCaptureUnmatched);
  bool unjoined = false;
  for (CUstream_st* other : s.all) {
    if (other->capture != capture) continue;
    other->capture.reset();
    if (other->captured.of(other->number) > stream->captured.of(other->number)) unjoined = true;
  }
  s.captures.erase(capture);
  if (capture->invalid) return remember(cudaErrorStreamCaptureInvalidated);
  if (unjoined) return remember(cudaErrorStreamCaptureUnjoined);
  *graph = new CUgraph_st{std::move(capture->work)};
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  CUstream_st* stream = find(handle);
  if (!stream) return remember(cudaErrorInvalidResourceHandle);
  *status = !stream->capture           ? cudaStreamCaptureStatusNone
            : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                       : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (!graph || nodes || !count) return remember(cudaErrorInvalidValue);
  *count = graph->work.size();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (!graph || !exec) return remember(cudaErrorInvalidValue);
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  *exec = new CUgraphExec_st{graph->work, {}, 0};
  for (const Work& work : graph->work) {
    if (!(*exec)->numbers.count(work.stream)) (*exec)->numbers[work.stream] = ++s.count;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t handle) {
  auto& s = streams();
  std::lock_guard lock(s.mutex);
  CUstream_st* stream = find(handle);
  if (!exec || !stream) return remember(cudaErrorInvalidResourceHandle);
  if (const auto error = seen_fault()) return error;
  if (stream->capture) {  // becomes part of the captured graph, one operation after the other
    for (const Work& work : exec->work) {
      if (const auto error = give(handle, work)) return error;
    }
    return cudaSuccess;
  }
  begin_work(stream);
  const Clock before = stream->clock;
  for (const Work& work : exec->work) {
    Clock clock = work.clock.renamed(exec->numbers, exec->ticks);
    clock.join(before);
    run_now(work, stream->device, exec->numbers.at(work.stream), clock);
    stream->clock.join(clock);
    stream->seconds += work.seconds;
  }
  exec->ticks += exec->work.size();
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
