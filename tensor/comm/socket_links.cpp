// Links over TCP: how messages move, and how the ranks tell each other that they are alive.
#include "tensor/comm/socket_links.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/comm/activity.h"
#include "tensor/comm/socket_meeting.h"

namespace pg {
namespace {

class SocketLinks : public Links {
 public:
  SocketLinks(int rank, std::vector<SocketPeer> peers) : rank_(rank), peers_(std::move(peers)), states_(peers_.size()) {
    check(pipe(wake_) == 0, "ranks: no pipe: {}", std::strerror(errno));
    if (size() > 1) pulse_ = std::thread([this] { pulse(); });
  }
  ~SocketLinks() override {
    {
      const std::lock_guard lock(control_mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    if (pulse_.joinable()) pulse_.join();
    close(wake_[0]);
    close(wake_[1]);
  }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  const char* name() const override { return "sockets"; }

  void send(int to, const char* data, int64_t bytes) override {
    state(to).sends.push_back({const_cast<char*>(data), bytes});
  }
  void receive(int from, char* data, int64_t bytes) override { state(from).receives.push_back({data, bytes}); }
  int64_t sends_left(int to) const override { return std::ssize(state(to).sends); }
  int64_t receives_left(int from) const override { return std::ssize(state(from).receives); }
  bool has_left(int r) const override { return state(r).left; }
  double idle_seconds(int r) const override {
    return std::chrono::duration<double>(Clock::now() - state(r).active).count();
  }

  void progress(double seconds) override {
    if (move_all()) return;
    std::vector<pollfd> waits{{wake_[0], POLLIN, 0}};
    for (int r = 0; r < size(); ++r) {
      if (r == rank_) continue;
      const State& s = state(r);
      if (!s.silent) waits.push_back({peer(r).control.fd(), POLLIN, 0});
      const int events = (s.receives.empty() ? 0 : POLLIN) | (s.sends.empty() ? 0 : POLLOUT);
      if (events != 0 && !s.left) waits.push_back({peer(r).data.fd(), static_cast<short>(events), 0});
    }
    poll(waits.data(), static_cast<nfds_t>(waits.size()), static_cast<int>(seconds * 1000));
    move_all();
  }

  void give_up(const std::string& reason) override {
    if (!fail_with(reason)) return;
    const char byte = 0;
    if (write(wake_[1], &byte, 1) < 0) return;  // the other thread looks after a moment anyway
  }
  std::string failure() const override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  // What goes over a control connection: beats, each of which says that the rank did something since the one before,
  // and at last a reason, with LastWords.
  static constexpr char kBeat = 'b', kReason = 'r';

  struct Message {
    char* data;
    int64_t bytes;
  };
  struct State {
    std::deque<Message> sends, receives;
    bool left = false;    // nothing more comes or goes
    bool silent = false;  // it has given its reason, or its control connection has ended
    bool speaks = false;  // the next bytes are those of its reason
    LastWords words;
    size_t heard = 0;  // bytes of them
    Clock::time_point active = Clock::now();
  };
  SocketPeer& peer(int r) { return peers_[static_cast<size_t>(r)]; }
  State& state(int r) { return states_[static_cast<size_t>(r)]; }
  const State& state(int r) const { return states_[static_cast<size_t>(r)]; }
  // Keeps the first reason and tells it to all ranks, also if another rank gave it: this rank ends because of it, and
  // whoever sees that must know the reason by then.
  bool fail_with(const std::string& reason) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) return false;
      failure_ = reason;
    }
    const LastWords words = LastWords::of(reason);
    std::string message(1, kReason);
    message.append(words.reason, sizeof words.reason);
    tell_all(message);
    return true;
  }

  bool move_all() {
    bool moved = false;
    for (int r = 0; r < size(); ++r) {
      if (r == rank_) continue;
      State& s = state(r);
      hear(r);
      if (s.left) continue;
      moved |= move(r, s.sends, false);
      moved |= move(r, s.receives, true);
      if (!s.left) continue;
      // Its reason may be on the way.
      for (const Deadline soon = Deadline::in(1); !s.silent && !soon.over();) {
        pollfd one{peer(r).control.fd(), POLLIN, 0};
        poll(&one, 1, 50);
        hear(r);
      }
    }
    return moved;
  }
  // Moves the first messages on for as long as the system takes or gives bytes.
  bool move(int r, std::deque<Message>& messages, bool in) {
    bool moved = false;
    const int fd = peer(r).data.fd();
    while (!messages.empty()) {
      Message& m = messages.front();
      const auto length = static_cast<size_t>(m.bytes);
#if defined(MSG_NOSIGNAL)
      const ssize_t n = in ? recv(fd, m.data, length, 0) : ::send(fd, m.data, length, MSG_NOSIGNAL);
#else
      const ssize_t n = in ? recv(fd, m.data, length, 0) : ::send(fd, m.data, length, 0);
#endif
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      if (n <= 0) {
        state(r).left = true;
        break;
      }
      moved = true;
      m.data += n;
      m.bytes -= n;
      if (m.bytes == 0) messages.pop_front();
    }
    return moved;
  }
  // Reads what rank r says: that it does something, and why it gives up.
  void hear(int r) {
    State& s = state(r);
    while (!s.silent) {
      char one = 0;
      char* to = s.speaks ? s.words.reason + s.heard : &one;
      const ssize_t n = recv(peer(r).control.fd(), to, s.speaks ? sizeof s.words.reason - s.heard : 1, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (n <= 0) {
        s.silent = true;
      } else if (!s.speaks) {
        s.active = Clock::now();
        s.speaks = one == kReason;
        s.silent = !s.speaks && one != kBeat;
        if (s.silent)
          fail_with(fmt::format("rank {} sent {:#x} where it may only say that it works or why it ends", r,
                                static_cast<unsigned char>(one)));
      } else if ((s.heard += static_cast<size_t>(n)) == sizeof s.words.reason) {
        s.silent = true;
        s.words.reason[sizeof s.words.reason - 1] = 0;
        fail_with(s.words.reason);
      }
    }
  }
  // So few bytes go at once, or not at all.
  void tell_all(const std::string& message) {
    const std::lock_guard lock(control_mutex_);
    for (int r = 0; r < size(); ++r) {
      if (r != rank_) send_all(peer(r).control.fd(), message.data(), message.size(), Deadline::in(0));
    }
  }
  // The life of the thread that sends beats while this process does something.
  void pulse() {
    std::string before;
    std::unique_lock lock(control_mutex_);
    while (!changed_.wait_for(lock, std::chrono::duration<double>(kBeatSeconds), [&] { return ends_; })) {
      lock.unlock();
      std::string now = activity_of(getpid());
      if (now != before) tell_all(std::string(1, kBeat));
      before = std::move(now);
      lock.lock();
    }
  }

  int rank_;
  std::vector<SocketPeer> peers_;
  std::vector<State> states_;
  int wake_[2];
  mutable std::mutex mutex_;
  std::string failure_;
  std::mutex control_mutex_;  // around what is sent over control connections
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread pulse_;
};

}  // namespace

std::unique_ptr<Links> socket_links(const SocketOptions& o) { return std::make_unique<SocketLinks>(o.rank, meet(o)); }

}  // namespace pg
