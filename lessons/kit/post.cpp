// A record is one HTTP request, by a socket that does not block.
#include "lessons/kit/post.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "tensor/base/clock.h"
#include "tensor/base/error.h"

namespace pg::kit {
namespace {

#if defined(MSG_NOSIGNAL)
constexpr int kNoSignal = MSG_NOSIGNAL;
#else
constexpr int kNoSignal = 0;
#endif

struct Place {
  std::string address, path;
  int port = 80;
};

// Throws Error if it is none.
Place place_of(const std::string& room) {
  constexpr std::string_view kScheme = "http://";
  const auto expect = [&](bool ok) {
    pg::check(ok, "POLICYGRAD_ROOM: expected http://ADDRESS:PORT/CODE with the numbers that the room shows, got {}",
              room);
  };
  expect(room.starts_with(kScheme));
  const size_t slash = std::min(room.find('/', kScheme.size()), room.size());
  Place place{room.substr(kScheme.size(), slash - kScheme.size()), room.substr(slash)};
  if (const size_t colon = place.address.find(':'); colon != std::string::npos) {
    const std::string digits = place.address.substr(colon + 1);
    expect(!digits.empty() && digits.size() <= 5 &&
           std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); }));
    place.port = std::stoi(digits);
    place.address.resize(colon);
  }
  in_addr number{};
  expect(inet_pton(AF_INET, place.address.c_str(), &number) == 1 && place.port > 0 && place.port < 65536);
  expect(place.path.size() > 1 &&
         std::all_of(place.path.begin(), place.path.end(), [](char c) { return c > 0x20 && c < 0x7f; }));
  return place;
}

// A connection with one limit of time for all it does. Each function returns false at an error, whose number errno is.
class Connection {
 public:
  explicit Connection(double seconds) : seconds_(seconds), fd_(::socket(AF_INET, SOCK_STREAM, 0)) {}
  ~Connection() {
    if (fd_ >= 0) ::close(fd_);
  }
  Connection(const Connection&) = delete;

  bool open(const Place& place) {
    if (fd_ < 0) return false;
    fcntl(fd_, F_SETFL, O_NONBLOCK);
    fcntl(fd_, F_SETFD, FD_CLOEXEC);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<uint16_t>(place.port));
    inet_pton(AF_INET, place.address.c_str(), &at.sin_addr);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return true;
    if (errno != EINPROGRESS || !wait(POLLOUT)) return false;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) errno = error;
    return error == 0;
  }
  bool send(const std::string& text) {
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t n = ::send(fd_, text.data() + sent, text.size() - sent, kNoSignal);
      if (n > 0) sent += static_cast<size_t>(n);
      if (n <= 0 && !may_go_on(POLLOUT)) return false;
    }
    return true;
  }
  // All that comes until the other side ends the connection, at most 4 kB.
  bool receive(std::string& text) {
    char buffer[1024];
    while (text.size() < 4096) {
      const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n == 0) return true;
      if (n > 0) text.append(buffer, static_cast<size_t>(n));
      if (n < 0 && !may_go_on(POLLIN)) return false;
    }
    return true;
  }

 private:
  bool may_go_on(short events) { return errno == EINTR || ((errno == EAGAIN || errno == EWOULDBLOCK) && wait(events)); }
  bool wait(short events) {
    for (;;) {
      const double left = seconds_ - timer_.seconds();
      pollfd one{fd_, events, 0};
      const int n = left > 0 ? ::poll(&one, 1, static_cast<int>(1000 * left) + 1) : 0;
      if (n > 0) return true;
      if (n == 0) errno = ETIMEDOUT;
      if (errno != EINTR) return false;
    }
  }

  const Timer timer_;
  const double seconds_;
  const int fd_;
};

// The body of an HTTP response as one line that a terminal may show. Empty if it is none.
std::string body_of(const std::string& response) {
  const size_t end = response.find("\r\n\r\n");
  if (!response.starts_with("HTTP/1.") || end == std::string::npos) return "";
  std::string body = response.substr(end + 4, 200);
  for (char& c : body) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return body;
}

}  // namespace

std::string post_record(const std::string& room, const std::string& record, double seconds) {
  try {
    const Place place = place_of(room);
    const std::string request = fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: "
        "close\r\n\r\n{}",
        place.path, place.address, place.port, record.size(), record);
    Connection connection(seconds);
    std::string response;
    // The room may answer before it has all of a request that it refuses.
    const bool reached = connection.open(place);
    const bool answered = reached && (connection.send(request), connection.receive(response));
    const int error = errno;
    const std::string sentence = body_of(response);
    if (!sentence.empty()) return sentence;
    if (answered) return fmt::format("what answers at {}:{} is no room of this course", place.address, place.port);
    return fmt::format("the room at {}:{} was not reached ({}); your record is kept here", place.address, place.port,
                       std::strerror(error));
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace pg::kit
