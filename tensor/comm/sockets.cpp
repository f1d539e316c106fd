// Sockets that do not block, with deadlines.
#include "tensor/comm/sockets.h"

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
Found find(const std::string& address, int port, int flags, int& error) {
  addrinfo hints{}, *first = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  error = getaddrinfo(address.empty() ? nullptr : address.c_str(), std::to_string(port).c_str(), &hints, &first);
  return {error == 0 ? first : nullptr, [](addrinfo* a) {
            if (a) freeaddrinfo(a);
          }};
}

Address address_of(const sockaddr* at) {
  Address a;
  if (at->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(at);
    a = {4, ntohs(four->sin_port), 0, {}};
    std::memcpy(a.bytes, &four->sin_addr, 4);
  } else {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(at);
    a = {6, ntohs(six->sin6_port), six->sin6_scope_id, {}};
    std::memcpy(a.bytes, &six->sin6_addr, 16);
    constexpr unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::memcmp(a.bytes, mapped, 12) == 0) {  // an address of IPv4 at a socket of IPv6
      a.family = 4;
      std::memmove(a.bytes, a.bytes + 12, 4);
    }
  }
  return a;
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

Address remote_address(int fd) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  getpeername(fd, reinterpret_cast<sockaddr*>(&at), &length);
  return address_of(reinterpret_cast<sockaddr*>(&at));
}

Socket listen_on(const std::string& address, int& port) {
  // At the address itself if it is a number or name of this machine alone, otherwise at all of this machine.
  int error = 0, last = 0;
  Found found = find(address, port, 0, error);
  const bool local = found && address_of(found->ai_addr).loopback() &&
                     (address == "localhost" || address.find_first_not_of("0123456789.:") == std::string::npos);
  if (!local) found = find("", port, AI_PASSIVE, error);
  check(error == 0, "ranks: {} is no address: {}", address, gai_strerror(error));
  // IPv6 first: such a socket takes IPv4 too.
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* a = found.get(); a; a = a->ai_next) {
      if (a->ai_family != family) continue;
      Socket socket(::socket(family, SOCK_STREAM, 0));
      if (socket.fd() < 0) {
        last = errno;
        continue;
      }
      prepare(socket.fd());
      const int on = 1, off = 0;
      setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      if (family == AF_INET6) setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      if (bind(socket.fd(), a->ai_addr, a->ai_addrlen) != 0 || listen(socket.fd(), 1024) != 0) {
        last = errno;
        if (last == EADDRINUSE) fail("ranks: port {} is in use; set MASTER_PORT to another one", port);
        continue;
      }
      sockaddr_storage at{};
      socklen_t length = sizeof at;
      getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&at), &length);
      port = address_of(reinterpret_cast<sockaddr*>(&at)).port;
      return socket;
    }
  }
  fail("ranks: cannot listen at port {}: {}", port, std::strerror(last));
}

Socket accept_one(int listener, const Deadline& deadline) {
  while (ready(listener, POLLIN, deadline)) {
    Socket socket(accept(listener, nullptr, nullptr));
    if (socket.fd() >= 0) {
      prepare(socket.fd());
      return socket;
    }
    if (errno != EINTR && errno != EAGAIN && errno != ECONNABORTED) {
      fail("ranks: cannot take a connection: {}", std::strerror(errno));
    }
  }
  return Socket();
}

Socket connect_to(const std::string& address, int port, const Deadline& deadline) {
  std::string why;
  do {
    int error = 0;
    const Found found = find(address, port, 0, error);
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

Socket connect_to(const Address& address, const Deadline& deadline) {
  sockaddr_storage at{};
  socklen_t length = 0;
  if (address.family == 4) {
    auto* four = reinterpret_cast<sockaddr_in*>(&at);
    four->sin_family = AF_INET;
    four->sin_port = htons(address.port);
    std::memcpy(&four->sin_addr, address.bytes, 4);
    length = sizeof *four;
  } else {
    auto* six = reinterpret_cast<sockaddr_in6*>(&at);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(address.port);
    six->sin6_scope_id = address.scope;
    std::memcpy(&six->sin6_addr, address.bytes, 16);
    length = sizeof *six;
  }
  Socket socket;
  const int error = connect_once(socket, reinterpret_cast<sockaddr*>(&at), length, deadline);
  check(error == 0, "port {}: {}", address.port, std::strerror(error));
  return socket;
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
