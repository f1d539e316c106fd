// How the ranks of a TCP group find each other: all call rank 0, which tells each where the others listen.
#include "tensor/comm/socket_meeting.h"

#include <algorithm>
#include <cerrno>

#include "tensor/base/error.h"
#include "tensor/comm/authentication.h"

namespace pg {
namespace {

// Beyond the loopback every machine may call, so the ranks must know a secret that cannot be guessed from a handshake.
void check_token(const SocketOptions& o, bool loopback) {
  constexpr size_t least = 16;
  check(loopback || o.token.size() >= least,
        "ranks: {} is not the loopback, so other machines may call: all ranks need the same secret POLICYGRAD_TOKEN of "
        "at least {} characters ({}). Make one with `openssl rand -hex 32`, and `export POLICYGRAD_TOKEN=...` for each "
        "rank",
        o.address, least, o.token.empty() ? "it is not set" : fmt::format("it has {}", o.token.size()));
}

class Meeting {
 public:
  explicit Meeting(const SocketOptions& o)
      : o_(o),
        key_(o.token.empty() ? o.run : o.token),
        deadline_(Deadline::in(o.timeout)),
        peers_(static_cast<size_t>(o.size)) {}

  std::vector<SocketPeer> meet() {
    if (o_.size == 1) return std::move(peers_);
    if (o_.rank == 0) {
      int port = o_.port;
      Socket listener = o_.listener >= 0 ? Socket(o_.listener) : listen_on(o_.address, port);
      listens_at_ = local_address(listener.fd());
      check_token(o_, listens_at_.loopback());
      Acceptor acceptor(std::move(listener), key_);
      gather(acceptor);
      take(acceptor, 1);
      return std::move(peers_);
    }
    check_token(o_, is_loopback(o_.address));
    Socket& control = peers_[0].control;
    control = connect_to(o_.address, o_.port, deadline_);
    check_token(o_, remote_address(control.fd()).loopback());
    Socket listener = listen_on(local_address(control.fd()));  // where rank 0 sees it, and so will the others
    listens_at_ = local_address(listener.fd());
    ask_rank_0(listens_at_.port);
    connect(0, Use::data);
    for (int r = 1; r < o_.rank; ++r) {
      connect(r, Use::control);
      connect(r, Use::data);
    }
    Acceptor acceptor(std::move(listener), key_);
    take(acceptor, 2);
    return std::move(peers_);
  }

 private:
  Socket& socket(int rank, Use use) {
    SocketPeer& peer = peers_[static_cast<size_t>(rank)];
    return use == Use::control ? peer.control : peer.data;
  }
  static void answer(const Socket& socket, const std::string& error) {
    const Answer a = new_answer(error);
    send_all(socket.fd(), &a, sizeof a, Deadline::in(1));
  }
  // The ranks above this one that have not come, as "2, 3".
  std::string missing(Use use) {
    std::string text;
    for (int r = o_.rank + 1; r < o_.size; ++r) {
      if (socket(r, use).fd() < 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", r);
    }
    return text;
  }
  std::string why_incomplete(Use use, const Acceptor& acceptor) {
    std::string text = fmt::format("of {} ranks these did not come to rank {} within {:g} s: {}", o_.size, o_.rank,
                                   o_.timeout, missing(use));
    if (!refused_.empty()) text += fmt::format("; one was refused: {}", refused_);
    if (acceptor.strangers() > 0) text += fmt::format("; {} connections were not of this run", acceptor.strangers());
    // Debian's installer gives a machine's own name 127.0.1.1, but only on that machine.
    const bool name = o_.address != "localhost" && o_.address != text_of(listens_at_);
    if (o_.rank == 0 && listens_at_.loopback() && name) {
      text += fmt::format("; {} is {} here, which no other machine reaches", o_.address, text_of(listens_at_));
    }
    return text;
  }

  // "", or why rank 0 has no place for a rank.
  std::string refusal(const Hello& hello) {
    if (hello.size != o_.size) {
      return fmt::format("rank {} was started with {} ranks, and rank 0 with {}", hello.rank, hello.size, o_.size);
    }
    if (hello.use != Use::control || hello.port == 0) return fmt::format("rank {} did not say its port", hello.rank);
    return socket(hello.rank, Use::control).fd() < 0 ? ""
                                                     : fmt::format("two processes were started as rank {}", hello.rank);
  }
  static bool has_left(const SocketPeer& peer) {
    char byte = 0;
    const ssize_t n = recv(peer.control.fd(), &byte, 1, MSG_PEEK);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }
  // The next arrival, if it comes within 0.2 s. Between two calls this rank sees whether the ranks that have come are
  // still connected.
  std::optional<Acceptor::Arrival> next(Acceptor& acceptor) {
    return acceptor.next({std::min(deadline_.at, Deadline::in(0.2).at)});
  }
  // Rank 0 waits for all, and tells all where the others are, or who is missing. Nothing that one rank says ends the
  // start of the others.
  void gather(Acceptor& acceptor) {
    std::vector<Address> all(peers_.size());
    while (!missing(Use::control).empty() && !deadline_.over()) {
      auto arrival = next(acceptor);
      for (SocketPeer& peer : peers_) {  // the place of one that has left is free again
        if (peer.control.fd() >= 0 && has_left(peer)) peer.control.close();
      }
      if (!arrival) continue;
      const Hello& hello = arrival->hello;
      if (std::string why = refusal(hello); !why.empty()) {
        answer(arrival->socket, why);
        refused_ = std::move(why);
        continue;
      }
      Address& at = all[static_cast<size_t>(hello.rank)];
      at = remote_address(arrival->socket.fd());
      at.port = static_cast<uint16_t>(hello.port);
      socket(hello.rank, Use::control) = std::move(arrival->socket);
    }
    const std::string error = missing(Use::control).empty() ? "" : why_incomplete(Use::control, acceptor);
    for (const SocketPeer& peer : peers_) {
      if (peer.control.fd() >= 0) answer(peer.control, error);
    }
    check(error.empty(), "ranks: {}", error);
    for (const SocketPeer& peer : peers_) {
      if (peer.control.fd() >= 0) send_all(peer.control.fd(), all.data(), all.size() * sizeof(Address), deadline_);
    }
  }

  // Another rank tells rank 0 where it listens, and is told where the others do.
  void ask_rank_0(int port) {
    const Socket& control = peers_[0].control;
    const std::string rank_0 = fmt::format("rank 0 at {} port {}", o_.address, o_.port);
    introduce(control.fd(), new_hello(o_.rank, o_.size, port, Use::control), key_, rank_0, deadline_);
    // Rank 0 waits for the others until its own deadline, which may be later, and then says who is missing.
    const Deadline answered = Deadline::in(o_.timeout + 2);
    const auto hear = [&](size_t bytes) {
      std::string message(bytes, '\0');
      check(receive_all(control.fd(), message.data(), bytes, answered), "ranks: {} has ended, or is silent", rank_0);
      return message;
    };
    const auto error = parse_answer(hear(sizeof(Answer)));
    check(error && error->empty(), "ranks: rank 0 says: {}", error.value_or("what this program does not understand"));
    const auto addresses = parse_addresses(hear(peers_.size() * sizeof(Address)), peers_.size());
    check(addresses.has_value(), "ranks: {} sent no addresses of the other ranks", rank_0);
    addresses_ = *addresses;
    addresses_[0] = remote_address(control.fd());
    for (size_t r = 1; r < addresses_.size(); ++r) {
      check(
          addresses_[r].loopback() == addresses_[0].loopback(),
          "ranks: rank {} is at {} for rank 0, which this rank reaches at {}; give all ranks the same MASTER_ADDR, an "
          "address that all machines reach",
          r, text_of(addresses_[r]), text_of(addresses_[0]));
    }
  }
  void connect(int r, Use use) {
    const Address& address = addresses_[static_cast<size_t>(r)];
    Socket& s = socket(r, use);
    try {
      s = connect_to(address, deadline_);
    } catch (const Error& e) {
      fail("ranks: rank {} cannot reach rank {} at {}: {}", o_.rank, r, text_of(address), e.what());
    }
    introduce(s.fd(), new_hello(o_.rank, o_.size, 0, use), key_, fmt::format("rank {}", r), deadline_);
  }
  // Takes `each` connections of every rank that is above this one.
  void take(Acceptor& acceptor, int each) {
    for (int left = each * (o_.size - 1 - o_.rank); left > 0;) {
      auto arrival = next(acceptor);
      for (int r = 0; r < o_.size; ++r) {
        const SocketPeer& peer = peers_[static_cast<size_t>(r)];
        check(peer.control.fd() < 0 || !has_left(peer), "ranks: rank {} has ended", r);
      }
      check(arrival || !deadline_.over(), "ranks: {}", arrival ? "" : why_incomplete(Use::data, acceptor));
      if (!arrival) continue;
      const Hello& hello = arrival->hello;
      if (hello.size != o_.size || hello.rank <= o_.rank || socket(hello.rank, hello.use).fd() >= 0) continue;
      socket(hello.rank, hello.use) = std::move(arrival->socket);
      --left;
    }
  }

  const SocketOptions& o_;
  std::string key_;
  Deadline deadline_;
  std::vector<SocketPeer> peers_;
  std::vector<Address> addresses_;  // of all ranks, for one that is not rank 0
  Address listens_at_;
  std::string refused_;  // why rank 0 had no place for the last one
};

}  // namespace

int listen_at(const std::string& address, int& port) { return listen_on(address, port).release(); }

std::vector<SocketPeer> meet(const SocketOptions& o) {
  check(o.size >= 1 && o.rank >= 0 && o.rank < o.size, "ranks: rank {} of {} ranks", o.rank, o.size);
  check(o.port > 0 && o.port < 65536, "ranks: port {}, expected 1 to 65535", o.port);
  return Meeting(o).meet();
}

}  // namespace pg
