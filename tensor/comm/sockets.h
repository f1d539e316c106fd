#pragma once
// Sockets that do not block, with deadlines. Every function goes on after a signal. On Linux a connection ends if the
// other machine is silent for half a minute.
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace pg {

// Owns a file descriptor.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  ~Socket() { close(); }
  Socket(Socket&& other) noexcept : fd_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void close();

 private:
  int fd_;
};

struct Deadline {
  std::chrono::steady_clock::time_point at;
  static Deadline in(double seconds);
  int milliseconds_left() const;  // at least 0
  bool over() const { return milliseconds_left() == 0; }
};

// The address of one side of a connection.
struct Address {
  uint16_t family = 0, port = 0;  // 4 or 6
  unsigned char bytes[16] = {};
  bool loopback() const;
};
// "10.0.0.1".
std::string text_of(const Address& address);
Address remote_address(int fd);
Address local_address(int fd);
// Whether a name or number means the loopback and nothing else: no other machine reaches it.
bool is_loopback(const std::string& address);

// A socket that listens at this address only, at `port`. If `port` is 0, it is set to a free port, which is taken.
// A name may have several addresses: the first one of this machine is taken, and the loopback last. Error if the
// name is unknown or means no address of this machine, or if the port is in use.
Socket listen_on(const std::string& address, int& port);
// The next connection that waits, if any. `error`: 0, or its number if the system cannot give one.
Socket accept_one(int listener, int& error);
// Tries again until the deadline while no one listens there.
Socket connect_to(const std::string& address, int port, const Deadline& deadline);
// false: the connection ended or the deadline is over.
bool send_all(int fd, const void* data, size_t bytes, const Deadline& deadline);
bool receive_all(int fd, void* data, size_t bytes, const Deadline& deadline);

}  // namespace pg
