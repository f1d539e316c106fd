#pragma once
// Streams, events and graphs behind the functions of api.h. Work runs when it is submitted; only a stream that is being
// captured stores it.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tensor/sim/api.h"
#include "tensor/sim/memory.h"
#include "tensor/sim/order.h"

namespace pg::sim {

// A kernel or a copy. It reports the memory that it used through add_uses_of_running_work.
struct Work {
  std::string name;
  std::function<void()> run;
  // In a graph: the number of the stream that it was captured from, and what it comes after, itself included.
  int stream = 0;
  Clock clock{};
  double seconds = 0;  // that events count for it, beside the time that it takes
};

// A recording of one or several streams. `work` is in the order of submission, which respects every dependency, because
// a stream can wait only for work that was submitted before.
struct Capture {
  CUstream_st* origin;
  cudaStreamCaptureMode mode;
  std::vector<Work> work;
  bool invalid = false;
};

// Runs the work, or appends it to the capture of this stream.
cudaError_t give(cudaStream_t stream, Work work);
// Remembers an error for cudaGetLastError, and returns it.
cudaError_t remember(cudaError_t error);
// The error of a kernel that the host has waited for in the mode of DeferredFaults: on the current device every call
// returns it.
cudaError_t seen_fault();
// The current device of the calling thread, below kDevices.
int current_device();
// An error if a capture forbids calls that wait or allocate; that capture is then invalid.
cudaError_t forbid_while_capturing();

}  // namespace pg::sim

struct CUstream_st {
  int number = 0;        // at most 0: the default stream of device -number
  int device = 0;        // that was current
  bool blocking = true;  // waits for the default stream, and the default stream for this one
  pg::sim::Clock clock;
  std::shared_ptr<pg::sim::Capture> capture;
  pg::sim::Clock captured;  // like `clock`, for the work in the capture
  double seconds = 0;       // of Work::seconds, so far
};
struct CUevent_st {
  int device = 0;  // that was current
  pg::sim::Clock clock;
  std::weak_ptr<pg::sim::Capture> capture;  // the capture that it was recorded in, if any
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};
struct CUgraph_st {
  std::vector<pg::sim::Work> work;
};
struct CUgraphExec_st {
  std::vector<pg::sim::Work> work;
  // For check_order, each stream of the capture is a separate stream: its number there, and the ticks of past launches.
  std::map<int, int> numbers;
  uint64_t ticks = 0;
};
