// How the ranks of a TCP group find each other: all call rank 0, which tells each where the others listen.
#include "tensor/comm/socket_meeting.h"

#include <cstring>

#include "tensor/base/error.h"

namespace pg {
namespace {

constexpr char kMagic[8] = {'p', 'g', 'r', 'a', 'n', 'k', 's', '1'};

enum class Use : int32_t { control, data };

// The first thing on each connection, from the rank that opened it.
struct Hello {
  char magic[8] = {};
  int32_t rank = 0, size = 0, port = 0;
  Use use = Use::control;
  char token[64] = {};
  bool known() const { return std::memcmp(magic, kMagic, sizeof magic) == 0; }
};
// What rank 0 answers, before it sends the addresses of all.
struct Answer {
  char magic[8] = {};
  char error[248] = {};
};

class Meeting {
 public:
  explicit Meeting(const SocketOptions& o)
      : o_(o), deadline_(Deadline::in(o.timeout)), peers_(static_cast<size_t>(o.size)) {}

  std::vector<SocketPeer> meet() {
    if (o_.size == 1) return std::move(peers_);
    if (o_.rank == 0) {
      int port = o_.port;
      Socket listener = o_.listener >= 0 ? Socket(o_.listener) : listen_on(o_.address, port);
      gather(listener);
      take(listener, 1);
    } else {
      int port = 0;
      Socket listener = listen_on(o_.address, port);
      introduce(port);
      connect(0, Use::data, addresses_[0]);
      for (int r = 1; r < o_.rank; ++r) {
        connect(r, Use::control, addresses_[static_cast<size_t>(r)]);
        connect(r, Use::data, addresses_[static_cast<size_t>(r)]);
      }
      take(listener, 2);
    }
    return std::move(peers_);
  }

 private:
  Hello hello(Use use, int port = 0) const {
    Hello h{.rank = o_.rank, .size = o_.size, .port = port, .use = use};
    std::memcpy(h.magic, kMagic, sizeof kMagic);
    std::memcpy(h.token, o_.token.data(), o_.token.size());
    return h;
  }
  Socket& socket(int rank, Use use) {
    SocketPeer& peer = peers_[static_cast<size_t>(rank)];
    return use == Use::control ? peer.control : peer.data;
  }
  static void answer(int fd, const std::string& error) {
    Answer a;
    std::memcpy(a.magic, kMagic, sizeof kMagic);
    std::memcpy(a.error, error.data(), std::min(error.size(), sizeof a.error - 1));
    send_all(fd, &a, sizeof a, Deadline::in(1));
  }
  // Reads the hello of a connection. A stranger is sent away: false.
  bool greeted(const Socket& socket, Hello& h) {
    const Deadline soon = Deadline::in(std::min(2.0, o_.timeout));
    if (!receive_all(socket.fd(), &h, sizeof h, soon) || !h.known()) return ++strangers_, false;
    if (std::memcmp(h.token, hello(h.use).token, sizeof h.token) == 0) return true;
    answer(socket.fd(), "it belongs to another run (the tokens differ)");
    return ++strangers_, false;
  }
  std::string missing(Use use) {
    std::string text;
    for (int r = 0; r < o_.size; ++r) {
      if (r != o_.rank && socket(r, use).fd() < 0 && (r > o_.rank))
        text += fmt::format("{}{}", text.empty() ? "" : ", ", r);
    }
    const std::string others = strangers_ == 0 ? "" : fmt::format(" ({} connections were not of this run)", strangers_);
    return fmt::format("of {} ranks these did not come to rank {} within {:g} s: {}{}", o_.size, o_.rank, o_.timeout,
                       text, others);
  }

  // Rank 0 waits for all, and tells all where the others are, or why it cannot be.
  void gather(const Socket& listener) {
    std::vector<Address> all(peers_.size());
    std::string error;
    for (int come = 1; come < o_.size && error.empty();) {
      Socket socket = accept_one(listener.fd(), deadline_);
      Hello h;
      if (socket.fd() < 0) {
        error = missing(Use::control);
      } else if (greeted(socket, h)) {
        if (h.size != o_.size) {
          error = fmt::format("rank {} was started with {} ranks, and rank 0 with {}", h.rank, h.size, o_.size);
        } else if (h.rank <= 0 || h.rank >= o_.size || peers_[static_cast<size_t>(h.rank)].control.fd() >= 0) {
          error = fmt::format("two processes were started as rank {}", h.rank);
        }
        if (!error.empty()) {
          answer(socket.fd(), error);
          break;
        }
        Address& at = all[static_cast<size_t>(h.rank)];
        at = remote_address(socket.fd());
        at.port = static_cast<uint16_t>(h.port);
        peers_[static_cast<size_t>(h.rank)].control = std::move(socket);
        ++come;
      }
    }
    for (const SocketPeer& peer : peers_) {
      if (peer.control.fd() >= 0) answer(peer.control.fd(), error);
    }
    check(error.empty(), "ranks: {}", error);
    for (const SocketPeer& peer : peers_) {
      if (peer.control.fd() >= 0) send_all(peer.control.fd(), all.data(), all.size() * sizeof(Address), deadline_);
    }
  }

  // Another rank tells rank 0 where it listens, and is told where the others do.
  void introduce(int port) {
    Socket& control = peers_[0].control;
    control = connect_to(o_.address, o_.port, deadline_);
    const Hello h = hello(Use::control, port);
    Answer a;
    addresses_.resize(peers_.size());
    const std::string where = fmt::format("{} port {}", o_.address, o_.port);
    // Rank 0 waits for the others until its own deadline, which may be later, and then says who is missing.
    const double patience = o_.timeout + 2;
    const Deadline answered = Deadline::in(patience);
    if (!send_all(control.fd(), &h, sizeof h, answered) || !receive_all(control.fd(), &a, sizeof a, answered)) {
      fail("ranks: rank 0 at {} gave no answer within {:g} s, or closed the connection", where, patience);
    }
    check(std::memcmp(a.magic, kMagic, sizeof kMagic) == 0, "ranks: at {} listens another program than rank 0", where);
    a.error[sizeof a.error - 1] = 0;
    check(a.error[0] == 0, "ranks: rank 0 says: {}", a.error);
    check(receive_all(control.fd(), addresses_.data(), addresses_.size() * sizeof(Address), deadline_),
          "ranks: rank 0 at {} has ended", where);
    // A rank on rank 0's machine may have called it there by an address that means another machine elsewhere.
    const Address zero = remote_address(control.fd());
    for (Address& at : addresses_) {
      const uint16_t its = at.port;
      if (at.family == 0 || at.loopback()) at = zero;
      at.port = its;
    }
    addresses_[0] = zero;
  }
  void connect(int r, Use use, const Address& address) {
    Socket& s = socket(r, use);
    const Hello h = hello(use);
    try {
      s = connect_to(address, deadline_);
    } catch (const Error& e) {
      fail("ranks: rank {} cannot reach rank {}: {}", o_.rank, r, e.what());
    }
    check(send_all(s.fd(), &h, sizeof h, deadline_), "ranks: rank {} has ended", r);
  }
  // Takes `each` connections of every rank that is above this one.
  void take(const Socket& listener, int each) {
    for (int left = each * (o_.size - 1 - o_.rank); left > 0;) {
      Socket s = accept_one(listener.fd(), deadline_);
      check(s.fd() >= 0, "ranks: {}", missing(Use::data));
      Hello h;
      if (!greeted(s, h) || h.rank <= o_.rank || h.rank >= o_.size || socket(h.rank, h.use).fd() >= 0) continue;
      socket(h.rank, h.use) = std::move(s);
      --left;
    }
  }

  const SocketOptions& o_;
  Deadline deadline_;
  std::vector<SocketPeer> peers_;
  std::vector<Address> addresses_;
  int strangers_ = 0;
};

}  // namespace

int listen_at(const std::string& address, int& port) { return listen_on(address, port).release(); }

std::vector<SocketPeer> meet(const SocketOptions& o) {
  check(o.size >= 1 && o.rank >= 0 && o.rank < o.size, "ranks: rank {} of {} ranks", o.rank, o.size);
  check(o.port > 0 && o.port < 65536, "ranks: port {}, expected 1 to 65535", o.port);
  check(o.token.size() < sizeof(Hello::token), "ranks: the token has {} bytes, expected at most 63", o.token.size());
  return Meeting(o).meet();
}

}  // namespace pg
