// The queue of started collectives, and the thread that runs them.
#include "tensor/comm/host_comm.h"

#include <algorithm>

#include "tensor/base/error.h"
#include "tensor/measure/timeline.h"

namespace pg {

HostComm::~HostComm() { end_thread(); }

void HostComm::end_thread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Comm::Ticket HostComm::submit(const CollectiveCall& call, const Tensor& x, const Tensor& into, bool waits) {
  const auto bytes_at = [](const Tensor& t, int64_t element) {
    return visit(t.dtype(),
                 [&]<class T>(std::type_identity<T>) { return reinterpret_cast<char*>(t.data<T>().data() + element); });
  };
  const int64_t own = call.op == CollectiveCall::Op::reduce_scatter && !into.defined()
                          ? shard_of(call.n, rank(), size(), call.unit).begin
                          : 0;
  return push({call, bytes_at(x, 0), into.defined() ? bytes_at(into, 0) : bytes_at(x, own)}, waits);
}

Comm::Ticket HostComm::push(const Started& started, bool waits) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(started);
  if (!waits) {
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    changed_.notify_all();
  }
  return ++started_;
}

void HostComm::abandon(const std::string& reason) {
  give_up(fmt::format("rank {} has failed: {}", rank(), reason));
  std::unique_lock lock(mutex_);
  queue_.resize(std::min<size_t>(queue_.size(), runs_));
  changed_.wait(lock, [&] { return !runs_; });
}

void HostComm::barrier() { wait(push({{}, nullptr, nullptr}, true)); }

// Runs the first collective of the queue without the lock.
void HostComm::run_first(std::unique_lock<std::mutex>& lock) {
  const Started first = queue_.front();
  runs_ = true;
  lock.unlock();
  std::exception_ptr error;
  try {
    const TimelineSpan span(Timeline::Lane::sending, name_of(first.call.op));
    run(first.call, first.x, first.into);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  runs_ = false;
  if (error) {
    error_ = error;
    queue_.clear();
  } else {
    queue_.pop_front();
    ++done_;
  }
  changed_.notify_all();
}

void HostComm::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  check(ticket <= started_, "wait: ticket {} of {} collectives", ticket, started_);
  if (done_ >= ticket) return;
  const TimelineSpan span(Timeline::Lane::waiting, "wait");
  while (done_ < ticket) {
    if (error_) std::rethrow_exception(error_);
    if (!runs_) {
      run_first(lock);
    } else {
      changed_.wait(lock);
    }
  }
}

void HostComm::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ends_ || (!runs_ && !queue_.empty() && !error_); });
    if (ends_) return;
    run_first(lock);
  }
}

std::string name_of_call(int rank, const CollectiveCall& call, uint64_t number) {
  return fmt::format("rank {}: {}, call {}", rank, name_of(call), number);
}
void fail_different(const CollectiveCall& first, int rank, const CollectiveCall& other, uint64_t number) {
  fail("the ranks call different collectives: {}; {}", name_of_call(0, first, number),
       name_of_call(rank, other, number));
}

template <class T>
void add_up(T* sum, const T* const* terms, int n, int64_t count) {
  using C = std::conditional_t<std::is_same_v<T, int32_t>, uint32_t, computes_t<T>>;
  if (n == 2) {
    for (int64_t i = 0; i < count; ++i) {
      sum[i] = static_cast<T>(static_cast<C>(static_cast<C>(terms[0][i]) + static_cast<C>(terms[1][i])));
    }
    return;
  }
  constexpr int64_t block = 512;
  C partial[block];
  for (int64_t at = 0; at < count; at += block) {
    const int64_t length = std::min(block, count - at);
    for (int64_t i = 0; i < length; ++i) partial[i] = static_cast<C>(terms[0][at + i]);
    for (int t = 1; t < n; ++t) {
      for (int64_t i = 0; i < length; ++i) partial[i] += static_cast<C>(terms[t][at + i]);
    }
    for (int64_t i = 0; i < length; ++i) sum[at + i] = static_cast<T>(partial[i]);
  }
}

template void add_up(float*, const float* const*, int, int64_t);
template void add_up(double*, const double* const*, int, int64_t);
template void add_up(BFloat16*, const BFloat16* const*, int, int64_t);
template void add_up(int32_t*, const int32_t* const*, int, int64_t);

}  // namespace pg
