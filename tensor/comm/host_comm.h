#pragma once
// What the groups of ranks on CPUs have in common: they run one collective at a time. Those that are started run in a
// thread of their own while the caller computes; those that the caller waits for run in the caller.
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "tensor/comm/comm.h"

namespace pg {

class HostComm : public Comm {
 public:
  ~HostComm() override;
  void wait(Ticket ticket) override;
  void barrier() override;
  void abandon(const std::string& reason) override;

 protected:
  // Runs one collective to its end on the elements `x`. A reduce_scatter writes the sum of the own shard to `into`,
  // which may be the own shard of x, and leaves the rest of x. Calls come one at a time, from different threads.
  virtual void run(const CollectiveCall& call, char* x, char* into) = 0;
  // Makes a running run(), of this rank and of the others, throw an Error with the reason.
  virtual void give_up(const std::string& reason) = 0;
  // The destructor of the class that implements run() must call it.
  void end_thread();

  Ticket submit(const CollectiveCall& call, const Tensor& x, const Tensor& into, bool waits) override;

 private:
  // Tensors stay out of it, because their reference counts are not atomic.
  struct Started {
    CollectiveCall call;
    char *x, *into;
  };
  Ticket push(const Started& started, bool waits);
  void run_first(std::unique_lock<std::mutex>& lock);
  void work();

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Started> queue_;  // in order
  Ticket started_ = 0, done_ = 0;
  bool runs_ = false;  // someone runs the first of the queue
  bool ends_ = false;
  std::exception_ptr error_;  // of the first collective that failed: none runs after it
};

// "rank 2: all_reduce of 5 f32, call 7", the 7th of the group.
std::string name_of_call(int rank, const CollectiveCall& call, uint64_t number);
// Throws the Error of ranks that call different collectives: that of rank 0, and that of the first one that differs.
[[noreturn]] void fail_different(const CollectiveCall& first, int rank, const CollectiveCall& other, uint64_t number);

// Adds up `count` elements: sum[i] = ((terms[0][i] + terms[1][i]) + …), each term in the type of computation (i32
// wraps around). sum may be one of the terms.
template <class T>
void add_up(T* sum, const T* const* terms, int n, int64_t count);

}  // namespace pg
