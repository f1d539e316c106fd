#pragma once
// A thread that ends the work of an NCCL communicator which fails or does not go on. NCCL itself waits for ever.
#include <nccl.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "tensor/comm/comm.h"
#include "tensor/cuda/runtime/runtime.h"

namespace pg::cuda {

// The events around one collective in the stream of collectives.
struct Span {
  Span();
  ~Span();
  Span(const Span&) = delete;
  cudaEvent_t begin, end;
};

class Watch {
 public:
  // `explain(what)` says why `what` is not done. It is called at most once, in any thread, and does not throw.
  Watch(int device, double timeout, std::function<std::string(const std::string& what)> explain);
  ~Watch();  // aborts the communicator if there still is one

  // Calls `start`, which is an NCCL function, and returns when the host is done with it. `what` is its name for
  // messages. Throws Error if NCCL reports one, and the reason once the watch has aborted.
  void call(const std::string& what, const std::function<ncclResult_t()>& start);
  ncclComm_t& comm() { return comm_; }

  // Observes a collective until its end.
  void observe(const std::string& what, std::shared_ptr<const Span> span);
  // Waits until all that is observed has ended. Throws like call().
  void wait_for_all();
  // Throws the reason if the communicator has failed.
  void check_alive();
  // Ends everything with this reason; only the first counts.
  void abort(const std::string& reason);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::string what;
    std::shared_ptr<const Span> span;
    Clock::time_point since = Clock::time_point::max();  // when it was first seen running
  };
  void work();
  std::string stalled();
  void abort_locked(const std::string& reason);
  void explain(const std::string& what, std::unique_lock<std::mutex>& lock);

  const int device_;
  const double timeout_;
  const std::function<std::string(const std::string&)> explain_;
  std::mutex mutex_;  // also around every call of NCCL, which must not race with ncclCommAbort
  std::condition_variable changed_;
  ncclComm_t comm_ = nullptr;
  std::deque<Entry> running_;
  std::string host_call_;  // in progress on the host, and since when
  Clock::time_point host_since_{};
  std::string failure_;
  bool ends_ = false, explains_ = false;
  std::thread thread_;
};

}  // namespace pg::cuda
