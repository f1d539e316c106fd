#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/comm/ring.h"

namespace pg {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMost = 64;

// A message on its way from a rank to its right neighbour. The sender waits, so that its memory is read directly.
struct Message {
  enum class State { none, offered, copied } state = State::none;  // copied: the receiver reads it now
  std::span<const float> x;
};

// All of it is guarded by `mutex`.
struct Shared {
  explicit Shared(int n, double limit) : messages(static_cast<size_t>(n)), members(static_cast<size_t>(n)) {
    timeout = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit));
  }
  struct Member {
    enum class Waits { no, to_send, to_receive } waits = Waits::no;
    bool ended = false;
    int sent = 0, received = 0;
  };
  int size() const { return static_cast<int>(members.size()); }
  Message& from(int rank) { return messages[static_cast<size_t>(rank)]; }
  Member& member(int rank) { return members[static_cast<size_t>(rank)]; }
  int right(int rank) const { return (rank + 1) % size(); }
  int left(int rank) const { return (rank + size() - 1) % size(); }

  // Whom a rank waits for; -1 for nobody: it computes, has ended, or is about to go on.
  int awaited(int rank) {
    const Member& m = member(rank);
    if (m.waits == Member::Waits::to_send) return from(rank).state == Message::State::none ? -1 : right(rank);
    if (m.waits == Member::Waits::to_receive) {
      return from(left(rank)).state == Message::State::offered ? -1 : left(rank);
    }
    return -1;
  }
  std::string waiting(int rank) {
    const Member& m = member(rank);
    const bool sends = m.waits == Member::Waits::to_send;
    return fmt::format("rank {} waits in step {} for rank {} to {}", rank, sends ? m.sent : m.received,
                       sends ? right(rank) : left(rank), sends ? "receive" : "send");
  }
  // Why the wait of `rank` cannot end, or "".
  std::string hopeless(int rank, bool long_ago) {
    const int other = awaited(rank);
    if (other < 0) return "";
    if (member(other).ended) return fmt::format("ring: {}, which has ended", waiting(rank));
    int next = other;
    for (int i = 0; i < size() && next >= 0 && next != rank; ++i) next = awaited(next);
    if (next == rank) return fmt::format("ring: {}, and {}: both wait: deadlock", waiting(rank), waiting(other));
    if (!long_ago) return "";
    return fmt::format("ring: {}, which did not come within {:g} s", waiting(rank),
                       10 * std::chrono::duration<double>(timeout).count());
  }
  void give_up(const std::string& reason) {
    if (failure.empty()) failure = reason;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Message> messages;  // by sender
  std::vector<Member> members;
  std::string failure;
  std::exception_ptr error;
  Clock::duration timeout;
};

class ThreadRing : public Ring {
 public:
  ThreadRing(Shared& shared, int rank) : shared_(shared), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return shared_.size(); }

  void send(std::span<const float> x) override {
    std::unique_lock lock(shared_.mutex);
    Message& message = shared_.from(rank_);
    check(shared_.failure.empty(), "{}", shared_.failure);
    message = {Message::State::offered, x};
    shared_.changed.notify_all();
    wait(lock, Shared::Member::Waits::to_send, [&] { return message.state == Message::State::none; });
    ++shared_.member(rank_).sent;
  }

  void receive(std::span<float> x) override {
    std::unique_lock lock(shared_.mutex);
    const int left = shared_.left(rank_);
    Message& message = shared_.from(left);
    wait(lock, Shared::Member::Waits::to_receive, [&] { return message.state == Message::State::offered; });
    if (message.x.size() != x.size()) {
      shared_.give_up(fmt::format("ring: rank {} receives {} elements in step {}, rank {} sends {}", rank_, x.size(),
                                  shared_.member(rank_).received, left, message.x.size()));
      fail("{}", shared_.failure);
    }
    message.state = Message::State::copied;
    const std::span<const float> from = message.x;
    lock.unlock();
    std::copy(from.begin(), from.end(), x.begin());
    lock.lock();
    message.state = Message::State::none;
    ++shared_.member(rank_).received;
    shared_.changed.notify_all();
  }

 private:
  template <class Done>
  void wait(std::unique_lock<std::mutex>& lock, Shared::Member::Waits what, const Done& done) {
    shared_.member(rank_).waits = what;
    const auto start = Clock::now();
    for (auto next = start + shared_.timeout; !done() && shared_.failure.empty(); next += shared_.timeout) {
      shared_.changed.wait_until(lock, next, [&] { return done() || !shared_.failure.empty(); });
      if (done() || !shared_.failure.empty()) break;
      const std::string reason = shared_.hopeless(rank_, Clock::now() - start > 10 * shared_.timeout);
      if (!reason.empty()) shared_.give_up(reason);
    }
    // Whoever copies this rank's elements must end first.
    shared_.changed.wait(lock, [&] { return shared_.from(rank_).state != Message::State::copied || done(); });
    const bool came = done();
    shared_.member(rank_).waits = Shared::Member::Waits::no;
    if (came) return;
    shared_.from(rank_).state = Message::State::none;  // nobody may read it from now on
    fail("{}", shared_.failure);
  }

  Shared& shared_;
  int rank_;
};

}  // namespace

void run_ring(int ranks, const std::function<void(Ring&)>& work, double timeout) {
  check(ranks >= 1 && ranks <= kMost, "run_ring: expected 1 to {} ranks, got {}", kMost, ranks);
  check(timeout > 0, "run_ring: the timeout must be above 0 s, got {}", timeout);
  Shared shared(ranks, timeout);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&shared, &work, rank] {
      std::exception_ptr error;
      try {
        ThreadRing ring(shared, rank);
        work(ring);
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(shared.mutex);
      shared.member(rank).ended = true;
      if (!error) return;
      if (!shared.error) shared.error = error;
      shared.give_up(fmt::format("ring: rank {} has ended with an error", rank));
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (shared.error) std::rethrow_exception(shared.error);
}

}  // namespace pg
