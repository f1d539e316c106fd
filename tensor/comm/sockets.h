#pragma once
// Sockets that do not block, with deadlines. Every function goes on after a signal.
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

// A socket's address, as ranks tell it to one another.
struct Address {
  uint16_t family = 0, port = 0;  // 4 or 6
  uint32_t scope = 0;
  unsigned char bytes[16] = {};
  bool loopback() const;
};
Address remote_address(int fd);

Socket listen_on(const std::string& address, int& port);
// An invalid Socket if none comes in time.
Socket accept_one(int listener, const Deadline& deadline);
// Tries again until the deadline while no one listens there.
Socket connect_to(const std::string& address, int port, const Deadline& deadline);
Socket connect_to(const Address& address, const Deadline& deadline);
// false: the connection ended or the deadline is over.
bool send_all(int fd, const void* data, size_t bytes, const Deadline& deadline);
bool receive_all(int fd, void* data, size_t bytes, const Deadline& deadline);

}  // namespace pg
