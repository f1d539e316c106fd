#include "tensor/cuda/nccl/watch.h"

#include <utility>

#include "tensor/base/error.h"

namespace pg::cuda {
namespace {

std::string says(ncclResult_t result, ncclComm_t comm) {
  const char* details = ncclGetLastError(comm);
  return fmt::format("NCCL says {}{}{}", ncclGetErrorString(result), details && *details ? ": " : "",
                     details ? details : "");
}

bool reached(cudaEvent_t event) {
  const cudaError_t status = cudaEventQuery(event);
  cudaGetLastError();                  // "not ready" would otherwise be the error of the next launch
  return status != cudaErrorNotReady;  // an error of a kernel is reported by the next one that waits for it
}

}  // namespace

Span::Span() {
  check(cudaEventCreateWithFlags(&begin, cudaEventDisableTiming), "cudaEventCreate");
  const cudaError_t status = cudaEventCreateWithFlags(&end, cudaEventDisableTiming);
  if (status != cudaSuccess) cudaEventDestroy(begin);
  check(status, "cudaEventCreate");
}
Span::~Span() {
  note(cudaEventDestroy(begin), "cudaEventDestroy");
  note(cudaEventDestroy(end), "cudaEventDestroy");
}

Watch::Watch(int device, double timeout, std::function<std::string(const std::string&)> explain)
    : device_(device), timeout_(timeout), explain_(std::move(explain)), thread_([this] { work(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (comm_) ncclCommAbort(comm_);
}

void Watch::check_alive() {
  const std::lock_guard lock(mutex_);
  pg::check(failure_.empty(), "{}", failure_);
}

void Watch::call(const std::string& what, const std::function<ncclResult_t()>& start) {
  std::unique_lock lock(mutex_);
  pg::check(failure_.empty(), "{}", failure_);
  host_call_ = what;
  host_since_ = Clock::now();
  ncclResult_t state = ncclSuccess;
  try {
    state = start();
    for (int polls = 0; state == ncclInProgress && failure_.empty(); ++polls) {
      lock.unlock();
      if (polls < 1000) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      lock.lock();
      state = ncclSuccess;
      if (!comm_) break;  // aborted, or destroyed by `start`
      const ncclResult_t asked = ncclCommGetAsyncError(comm_, &state);
      if (asked != ncclSuccess) state = asked;
    }
  } catch (...) {  // of the simulator
    if (!lock.owns_lock()) lock.lock();
    host_call_.clear();
    throw;
  }
  if (failure_.empty() && state != ncclSuccess) {
    // The rank that ended may have said why.
    const std::string error = fmt::format("{}: {}", what, says(state, comm_));
    host_call_.clear();
    state == ncclRemoteError ? explain(error, lock) : abort_locked(error);
  }
  host_call_.clear();
  pg::check(failure_.empty(), "{}", failure_);
}

void Watch::observe(const std::string& what, std::shared_ptr<const Span> span) {
  {
    const std::lock_guard lock(mutex_);
    running_.push_back({what, std::move(span)});
  }
  changed_.notify_all();
}

void Watch::wait_for_all() {
  std::unique_lock lock(mutex_);
  while (failure_.empty() && !running_.empty()) {
    if (reached(running_.front().span->end)) {
      running_.pop_front();
    } else {
      changed_.wait_for(lock, std::chrono::microseconds(50));
    }
  }
  pg::check(failure_.empty(), "{}", failure_);
}

void Watch::abort(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  abort_locked(reason);
}

void Watch::abort_locked(const std::string& reason) {
  if (failure_.empty()) failure_ = reason;
  if (comm_) ncclCommAbort(std::exchange(comm_, nullptr));
  running_.clear();
  changed_.notify_all();
}

// Aborts with the explanation of `what`, or waits until the other thread has.
void Watch::explain(const std::string& what, std::unique_lock<std::mutex>& lock) {
  if (std::exchange(explains_, true)) {
    changed_.wait(lock, [&] { return !failure_.empty(); });
    return;
  }
  lock.unlock();
  const std::string reason = explain_(what);
  lock.lock();
  abort_locked(reason);
}

// What has not gone on for too long, or what NCCL reports: "" if all is well.
std::string Watch::stalled() {
  const auto late = [&](Clock::time_point since) {
    return std::chrono::duration<double>(Clock::now() - since).count() > timeout_;
  };
  if (!host_call_.empty()) {
    return late(host_since_) ? fmt::format("{}: not begun on all ranks after {:g} s", host_call_, timeout_) : "";
  }
  while (!running_.empty() && reached(running_.front().span->end)) running_.pop_front();
  if (running_.empty()) return "";
  Entry& first = running_.front();
  ncclResult_t state = ncclSuccess;
  if (comm_ && ncclCommGetAsyncError(comm_, &state) == ncclSuccess && state != ncclSuccess && state != ncclInProgress) {
    return fmt::format("{}: {}", first.what, says(state, comm_));
  }
  if (first.since == Clock::time_point::max()) {
    if (reached(first.span->begin)) first.since = Clock::now();
    return "";
  }
  return late(first.since) ? fmt::format("{}: not done after {:g} s", first.what, timeout_) : "";
}

void Watch::work() {
  set_device(device_);
  std::unique_lock lock(mutex_);
  while (!ends_ && failure_.empty()) {
    if (host_call_.empty() && running_.empty()) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      continue;
    }
    const std::string what = stalled();
    if (what.empty()) {
      changed_.wait_for(lock, std::chrono::milliseconds(20));
      continue;
    }
    explain(what, lock);
  }
}

}  // namespace pg::cuda
