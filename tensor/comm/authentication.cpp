// The handshake over sockets: the opener waits for each answer, the listener polls all that have called.
#include "tensor/comm/authentication.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tensor/base/error.h"

namespace pg {

void introduce(int fd, const Hello& hello, std::string_view key, const std::string& peer, const Deadline& deadline) {
  const auto say = [&](const auto& message) {
    check(send_all(fd, &message, sizeof message, deadline), "ranks: {} has closed the connection", peer);
  };
  const auto hear = [&](size_t bytes) {
    std::string message(bytes, '\0');
    check(receive_all(fd, message.data(), bytes, deadline), "ranks: {} gave no answer, or closed the connection", peer);
    return message;
  };
  say(hello);
  const auto challenge = parse_challenge(hear(sizeof(Challenge)));
  check(challenge.has_value(), "ranks: {} is another program, or another version of this one", peer);
  say(proof_of(Side::opener, key, hello, *challenge));
  const auto verdict = parse_verdict(hear(sizeof(KeyVerdict)));
  check(verdict.has_value(), "ranks: {} is another program, or another version of this one", peer);
  check(verdict->same_key == 1, "ranks: {} says: it belongs to another run (the tokens differ)", peer);
  check(same_digest(verdict->proof, proof_of(Side::listener, key, hello, *challenge)),
        "ranks: {} does not know the token of this run", peer);
}

std::optional<Acceptor::Arrival> Acceptor::next(const Deadline& deadline) {
  for (;;) {
    for (size_t i = 0; i < open_.size();) {
      const State state = advance(open_[i]);
      if (state == State::waits && !open_[i].until.over()) {
        ++i;
        continue;
      }
      Open one = std::move(open_[i]);
      open_.erase(open_.begin() + static_cast<ptrdiff_t>(i));
      if (state == State::proved) return Arrival{*one.hello, std::move(one.socket)};
      ++strangers_;
    }
    if (deadline.over()) return {};
    wait(deadline);
    accept_all();
  }
}

// Reads what has come on a connection, and answers it.
Acceptor::State Acceptor::advance(Open& one) const {
  for (;;) {
    char buffer[std::max(sizeof(Hello), sizeof(Proof))];
    const size_t wanted = one.hello ? sizeof(Proof) : sizeof(Hello);
    const ssize_t n = recv(one.socket.fd(), buffer, wanted - one.bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::waits;
    if (n <= 0) return State::ends;
    one.bytes.append(buffer, static_cast<size_t>(n));
    if (one.bytes.size() < wanted) continue;
    if (one.hello) {
      const KeyVerdict verdict = verdict_on(one.bytes, key_, *one.hello, one.challenge);
      const bool told = send_all(one.socket.fd(), &verdict, sizeof verdict, Deadline::in(0));
      return told && verdict.same_key == 1 ? State::proved : State::ends;
    }
    one.hello = parse_hello(one.bytes);
    one.bytes.clear();
    if (!one.hello) return State::ends;
    one.challenge = new_challenge();
    if (!send_all(one.socket.fd(), &one.challenge, sizeof one.challenge, Deadline::in(0))) return State::ends;
  }
}

// Waits until a connection has something to read, until the deadline, or until a handshake has taken too long.
void Acceptor::wait(const Deadline& deadline) const {
  std::vector<pollfd> all{{listener_.fd(), POLLIN, 0}};
  int milliseconds = deadline.milliseconds_left();
  for (const Open& one : open_) {
    all.push_back({one.socket.fd(), POLLIN, 0});
    milliseconds = std::min(milliseconds, one.until.milliseconds_left());
  }
  poll(all.data(), static_cast<nfds_t>(all.size()), milliseconds);
}

void Acceptor::accept_all() {
  const auto close_oldest = [&] {
    open_.erase(open_.begin());
    ++strangers_;
  };
  for (size_t taken = 0; taken < kMostOpen;) {
    int error = 0;
    Socket socket = accept_one(listener_.fd(), error);
    if (socket.fd() >= 0) {
      if (open_.size() == kMostOpen) close_oldest();
      open_.push_back({std::move(socket), Deadline::in(kPatience), {}, {}, {}});
      ++taken;
    } else if (error == 0) {
      return;
    } else if (!open_.empty()) {  // the process may have too many files open
      close_oldest();
    } else {
      fail("ranks: cannot take a connection: {}", std::strerror(error));
    }
  }
}

}  // namespace pg
