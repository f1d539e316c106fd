// Sockets that do not block, with deadlines.
#include "tensor/comm/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "tensor/base/error.h"

namespace pg {
namespace {

#if defined(MSG_NOSIGNAL)
constexpr int kNoSignal = MSG_NOSIGNAL;
#else
constexpr int kNoSignal = 0;
#endif

void prepare(int fd) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#if defined(__linux__)
  const int idle = 15, again = 5, times = 3;  // seconds, seconds and how often
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &again, sizeof again);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
#endif
#if defined(SO_NOSIGPIPE)
  setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
}

bool ready(int fd, short events, const Deadline& deadline) {
  for (;;) {
    pollfd one{fd, events, 0};
    const int n = poll(&one, 1, deadline.milliseconds_left());
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;
Found find(const std::string& address, int port, int& error) {
  addrinfo hints{}, *first = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  error = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &first);
  return {error == 0 ? first : nullptr, [](addrinfo* a) {
            if (a) freeaddrinfo(a);
          }};
}

Address address_of(const sockaddr* at) {
  Address a;
  if (at->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(at);
    a = {4, ntohs(four->sin_port), {}};
    std::memcpy(a.bytes, &four->sin_addr, 4);
  } else {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(at);
    a = {6, ntohs(six->sin6_port), {}};
    std::memcpy(a.bytes, &six->sin6_addr, 16);
    constexpr unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::memcmp(a.bytes, mapped, 12) == 0) {  // an address of IPv4 at a socket of IPv6
      a.family = 4;
      std::memmove(a.bytes, a.bytes + 12, 4);
    }
  }
  return a;
}

// A socket that listens there, or the number of the error.
Socket listening(const sockaddr* at, socklen_t length, int& error) {
  Socket socket(::socket(at->sa_family, SOCK_STREAM, 0));
  error = socket.fd() < 0 ? errno : 0;
  if (error != 0) return socket;
  prepare(socket.fd());
  const int on = 1;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.fd(), at, length) != 0 || listen(socket.fd(), 1024) != 0) error = errno;
  return socket;
}

// 0, or the number of the error.
int connect_once(Socket& socket, const sockaddr* at, socklen_t length, const Deadline& deadline) {
  socket = Socket(::socket(at->sa_family, SOCK_STREAM, 0));
  if (socket.fd() < 0) return errno;
  prepare(socket.fd());
  if (connect(socket.fd(), at, length) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (!ready(socket.fd(), POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}
void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Deadline Deadline::in(double seconds) {
  using Clock = std::chrono::steady_clock;
  return {Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))};
}
int Deadline::milliseconds_left() const {
  const double left = std::chrono::duration<double, std::milli>(at - std::chrono::steady_clock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(std::min(left + 1, 1e9));
}

bool Address::loopback() const {
  constexpr unsigned char one[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return family == 4 ? bytes[0] == 127 : std::memcmp(bytes, one, 16) == 0;
}

std::string text_of(const Address& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.family == 4 ? AF_INET : AF_INET6, address.bytes, text, sizeof text);
  return text;
}

Address remote_address(int fd) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  getpeername(fd, reinterpret_cast<sockaddr*>(&at), &length);
  return address_of(reinterpret_cast<sockaddr*>(&at));
}

Address local_address(int fd) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length);
  return address_of(reinterpret_cast<sockaddr*>(&at));
}

bool is_loopback(const std::string& address) {
  int error = 0;
  const Found found = find(address, 0, error);
  for (const addrinfo* a = found.get(); a; a = a->ai_next) {
    if (!address_of(a->ai_addr).loopback()) return false;
  }
  return found != nullptr;
}

Socket listen_on(const std::string& address, int& port) {
  int error = 0, last = 0;
  const Found found = find(address, port, error);
  check(error == 0, "ranks: {} is no address: {}", address, gai_strerror(error));
  for (const bool loopback : {false, true}) {
    for (const addrinfo* a = found.get(); a; a = a->ai_next) {
      if (address_of(a->ai_addr).loopback() != loopback) continue;
      Socket socket = listening(a->ai_addr, a->ai_addrlen, error);
      check(error != EADDRINUSE, "ranks: port {} is in use; set MASTER_PORT to another one", port);
      last = error;
      if (error != 0) continue;
      port = local_address(socket.fd()).port;
      return socket;
    }
  }
  check(last != EADDRNOTAVAIL,
        "ranks: rank 0 cannot listen at {}: it is no address of this machine; set MASTER_ADDR to one that is", address);
  fail("ranks: cannot listen at {} port {}: {}", address, port, std::strerror(last));
}

Socket accept_one(int listener, int& error) {
  for (;;) {
    Socket socket(accept(listener, nullptr, nullptr));
    error = 0;
    if (socket.fd() >= 0) {
      prepare(socket.fd());
      return socket;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) error = errno;
    return socket;
  }
}

Socket connect_to(const std::string& address, int port, const Deadline& deadline) {
  std::string why;
  do {
    int error = 0;
    const Found found = find(address, port, error);
    if (error != 0) why = gai_strerror(error);
    for (const addrinfo* a = found.get(); a; a = a->ai_next) {
      Socket socket;
      error = connect_once(socket, a->ai_addr, a->ai_addrlen, deadline);
      if (error == 0) return socket;
      why = std::strerror(error);
    }
    usleep(50'000);
  } while (!deadline.over());
  fail("cannot reach rank 0 at {} port {}: {}", address, port, why);
}

bool send_all(int fd, const void* data, size_t bytes, const Deadline& deadline) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::send(fd, at, bytes, kNoSignal);
    if (n > 0) {
      at += n;
      bytes -= static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!ready(fd, POLLOUT, deadline)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool receive_all(int fd, void* data, size_t bytes, const Deadline& deadline) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::recv(fd, at, bytes, 0);
    if (n > 0) {
      at += n;
      bytes -= static_cast<size_t>(n);
    } else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!ready(fd, POLLIN, deadline)) return false;
    } else if (n == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace pg
