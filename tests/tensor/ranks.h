#pragma once
// The ways to make ranks on one machine, for tests that must hold for each of them.
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/comm/launch.h"
#include "tensor/comm/links.h"
#include "tensor/comm/shared_group.h"
#include "tensor/comm/socket_meeting.h"
#include "tests/catch.h"

namespace pg::testing {

template <class T>
std::string bytes_of(const T& x) {
  return {reinterpret_cast<const char*>(&x), sizeof x};
}

// What forked ranks need to make PairLinks: where each listens, and the reason of the first that gives up.
struct PairedRanks {
  struct Failure {
    std::atomic<int> state{0};  // 1: being written, 2: written
    LastWords words;
  };
  std::vector<int> listeners, ports;
  Failure* failure;

  explicit PairedRanks(int ranks) : listeners(static_cast<size_t>(ranks)), ports(listeners.size()) {
    for (size_t r = 0; r < ports.size(); ++r) listeners[r] = listen_at("127.0.0.1", ports[r]);
    void* at = mmap(nullptr, sizeof(Failure), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(at != MAP_FAILED);
    failure = new (at) Failure;
  }
  ~PairedRanks() {
    for (int listener : listeners) close(listener);
    munmap(static_cast<void*>(failure), sizeof(Failure));
  }
  PairedRanks(const PairedRanks&) = delete;
};

// Links of processes of one machine, by a connection between every two: what message_rank() has over MPI otherwise.
class PairLinks : public Links {
 public:
  PairLinks(const PairedRanks& all, int rank) : all_(all), rank_(rank), peers_(all.ports.size()) {
    const Deadline soon = Deadline::in(20);
    const auto own = static_cast<unsigned char>(rank);
    for (int r = 0; r < rank; ++r) {
      peer(r).socket = connect_to("127.0.0.1", all.ports[static_cast<size_t>(r)], soon);
      check(send_all(peer(r).socket.fd(), &own, 1, soon), "no link with rank {}", r);
    }
    for (int left = size() - 1 - rank; left > 0;) {
      int error = 0;
      Socket socket = accept_one(all.listeners[static_cast<size_t>(rank)], error);
      unsigned char r = 0;
      if (socket.fd() >= 0 && receive_all(socket.fd(), &r, 1, soon)) peer(r).socket = std::move(socket), --left;
      check(!soon.over(), "no links with {} ranks", left);
    }
  }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  const char* name() const override { return "pairs"; }

  void send(int to, const char* data, int64_t n) override { peer(to).sends.push_back({const_cast<char*>(data), n}); }
  void receive(int from, char* data, int64_t n) override { peer(from).receives.push_back({data, n}); }
  int64_t sends_left(int to) const override { return std::ssize(peer(to).sends); }
  int64_t receives_left(int from) const override { return std::ssize(peer(from).receives); }
  bool has_left(int r) const override { return peer(r).left; }
  std::string failure() const override { return all_.failure->state == 2 ? all_.failure->words.reason : ""; }
  void give_up(const std::string& reason) override {
    int none = 0;
    if (!all_.failure->state.compare_exchange_strong(none, 1)) return;
    all_.failure->words = LastWords::of(reason);
    all_.failure->state = 2;
  }

  void progress(double seconds) override {
    if (move_all()) return;
    std::vector<pollfd> waits;
    for (const Peer& p : peers_) {
      const int events = (p.receives.empty() ? 0 : POLLIN) | (p.sends.empty() ? 0 : POLLOUT);
      if (events != 0 && !p.left) waits.push_back({p.socket.fd(), static_cast<short>(events), 0});
    }
    poll(waits.data(), static_cast<nfds_t>(waits.size()), static_cast<int>(seconds * 1000));
    move_all();
  }

 private:
  struct Message {
    char* data;
    int64_t bytes;
  };
  struct Peer {
    Socket socket;
    std::deque<Message> sends, receives;
    bool left = false;
  };
  Peer& peer(int r) { return peers_[static_cast<size_t>(r)]; }
  const Peer& peer(int r) const { return peers_[static_cast<size_t>(r)]; }
  bool move_all() {
    bool moved = false;
    for (Peer& p : peers_) {
      moved |= move(p, p.sends, false);
      moved |= move(p, p.receives, true);
    }
    return moved;
  }
  static bool move(Peer& p, std::deque<Message>& messages, bool in) {
    bool moved = false;
    while (!messages.empty() && !p.left) {
      Message& m = messages.front();
      const auto length = static_cast<size_t>(m.bytes);
      const ssize_t n =
          in ? recv(p.socket.fd(), m.data, length, 0) : ::send(p.socket.fd(), m.data, length, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
      p.left = n <= 0;
      if (p.left) break;
      moved = true;
      m.data += n;
      m.bytes -= n;
      if (m.bytes == 0) messages.pop_front();
    }
    return moved;
  }

  const PairedRanks& all_;
  int rank_;
  std::vector<Peer> peers_;
};

// run_ranks() makes shared_memory. Ranks that meet share memory (attached) or exchange all elements over rank 0
// (sockets). message_rank() makes the others; the last one is as if every rank were on a machine of its own.
enum class Transport { shared_memory, attached, sockets, messages, messages_in_small_pieces, messages_of_machines };
inline constexpr Transport kTransports[] = {Transport::shared_memory, Transport::attached, Transport::sockets,
                                            Transport::messages, Transport::messages_in_small_pieces};

inline std::unique_ptr<Comm> comm_on(Transport transport, Comm& memory, const SocketOptions& o, const PairedRanks& all,
                                     const RanksOptions& options) {
  if (transport == Transport::attached || transport == Transport::sockets) {
    Met met = meet(o);
    if (met.memory) return shared_memory_rank(*met.memory, o.rank, true);
    return meeting_rank(o.rank, o.size, std::move(met.connections),
                        {.timeout = options.timeout, .most_bytes = int64_t{1} << 30});
  }
  return message_rank(std::make_unique<PairLinks>(all, memory.rank()),
                      {.timeout = options.timeout,
                       .remote_timeout = options.timeout,
                       .longest = options.longest,
                       .sees_processes = transport != Transport::messages_of_machines,
                       .piece_bytes = transport == Transport::messages_in_small_pieces ? 1000 : 1 << 20});
}

// run_ranks() with ranks of that kind.
inline int run_on(Transport transport, int ranks, const std::function<int(Comm&)>& work,
                  const RanksOptions& options = {}, std::string* sentences = nullptr) {
  if (transport == Transport::shared_memory || ranks == 1) return run_ranks(ranks, work, options, sentences);
  const PairedRanks all(ranks);
  return run_ranks(
      ranks,
      [&](Comm& memory) {
        const auto comm = comm_on(transport, memory,
                                  {.rank = memory.rank(),
                                   .size = memory.size(),
                                   .address = "127.0.0.1",
                                   .port = all.ports[0],
                                   .token = "a test",
                                   .listener = memory.rank() == 0 ? all.listeners[0] : -1,
                                   .sees_processes = transport == Transport::attached,
                                   .idle = options.timeout,
                                   .longest = options.longest},
                                  all, options);
        try {
          return work(*comm);
        } catch (const std::exception& e) {
          comm->abandon(e.what());
          throw;
        }
      },
      options, sentences);
}

}  // namespace pg::testing
