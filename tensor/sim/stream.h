#pragma once
// Streams, events and graphs behind the functions of api.h. Work runs when it is given; only a stream that is being
// captured keeps it.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tensor/sim/api.h"
#include "tensor/sim/order.h"

namespace pg::sim {

// A kernel or a copy. It says what memory it used by add_uses_of_running_work.
struct Work {
  std::string name;
  std::function<void()> run;
  // In a graph: the number of the stream that it was captured from, and what it comes after, itself included.
  int stream = 0;
  Clock clock{};
};

// What is being recorded from one or several streams. Work stands in the order it was given, which respects every
// dependency, since a stream can wait only for what was given before.
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
// An error if a capture forbids calls that wait or allocate; that capture is lost then.
cudaError_t forbid_while_capturing();

}  // namespace pg::sim

struct CUstream_st {
  int number = 0;        // 0: the default stream
  bool blocking = true;  // waits for the default stream, and it for this one
  pg::sim::Clock clock;
  std::shared_ptr<pg::sim::Capture> capture;
  pg::sim::Clock captured;  // like `clock`, for what the capture holds
};
struct CUevent_st {
  pg::sim::Clock clock;
  std::weak_ptr<pg::sim::Capture> capture;  // that it was recorded in, if any
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};
struct CUgraph_st {
  std::vector<pg::sim::Work> work;
};
struct CUgraphExec_st {
  std::vector<pg::sim::Work> work;
  // Each stream of the capture is a stream of its own for check_order: its number there, and ticks of past launches.
  std::map<int, int> numbers;
  uint64_t ticks = 0;
};
