#pragma once
// Both sides of the handshake (tensor/comm/handshake.h), over sockets.
#include <optional>
#include <string>
#include <vector>

#include "tensor/comm/handshake.h"
#include "tensor/comm/sockets.h"

namespace pg {

// The opener's side: says hello on a new connection, proves that it knows the key, and returns once the other side has
// proved it too. `peer` names that one in errors: "rank 0 at 10.0.0.1 port 29500". Error if the
// handshake is not finished by the deadline, if the other side is another program, if it refuses the proof, or if its
// own proof is wrong.
void introduce(int fd, const Hello& hello, std::string_view key, const std::string& peer, const Deadline& deadline);

// The listener's side: takes connections, and returns those that have proved that they know the key. All others are
// polled together, so that one which says nothing delays no other; each has kPatience seconds. The oldest is closed if
// there are more than kMostOpen.
class Acceptor {
 public:
  static constexpr double kPatience = 10;
  static constexpr size_t kMostOpen = 256;

  Acceptor(Socket listener, std::string key) : listener_(std::move(listener)), key_(std::move(key)) {}

  struct Arrival {
    Hello hello;
    Socket socket;
  };
  // The next one that has proved; nothing if none does by the deadline. Error if the system takes no connections.
  std::optional<Arrival> next(const Deadline& deadline);
  // Connections that have been closed because they did not prove.
  int strangers() const { return strangers_; }

 private:
  struct Open {
    Socket socket;
    Deadline until;
    std::string bytes;           // of the message that comes
    std::optional<Hello> hello;  // once it has come
    Challenge challenge;
  };
  enum class State { waits, ends, proved };
  State advance(Open& one) const;
  void wait(const Deadline& deadline) const;
  void accept_all();

  Socket listener_;
  std::string key_;
  std::vector<Open> open_;  // in the order in which they came
  int strangers_ = 0;
};

}  // namespace pg
