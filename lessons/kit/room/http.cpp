// The HTTP server of make room: reads, answers and closes connections in one loop around poll().
#include "lessons/kit/room/http.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tensor/base/error.h"

namespace pg::kit {
namespace {

#if defined(MSG_NOSIGNAL)
constexpr int kNoSignal = MSG_NOSIGNAL;
#else
constexpr int kNoSignal = 0;  // accept_one() has set SO_NOSIGPIPE
#endif

// After its answer a connection is read on for so long, because closing it with unread data would lose the answer.
constexpr double kLinger = 1;

const char* phrase_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    default:
      return "Internal Server Error";
  }
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

ParsedRequest refuse(int status, const std::string& why) { return {{}, HttpResponse{status, why + "\n"}}; }

// "GET /path HTTP/1.1". Empty if it is no such line.
HttpRequest request_line(const std::string& line) {
  const size_t first = line.find(' '), second = line.find(' ', first + 1);
  if (first == std::string::npos || second == std::string::npos) return {};
  HttpRequest request{line.substr(0, first), line.substr(first + 1, second - first - 1), "", ""};
  const std::string version = line.substr(second + 1);
  const bool printable =
      std::all_of(request.path.begin(), request.path.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!request.path.starts_with('/') || !printable || (version != "HTTP/1.1" && version != "HTTP/1.0")) return {};
  return request;
}

// The length of the body, -1 if none is stated; nullopt if the fields are wrong.
std::optional<int64_t> body_length(const std::string& fields, bool& encoded) {
  int64_t length = -1;
  for (size_t at = 0; at < fields.size();) {
    const size_t end = std::min(fields.find("\r\n", at), fields.size());
    const std::string line = fields.substr(at, end - at);
    at = end + 2;
    const size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0) return {};
    const std::string name = lower(line.substr(0, colon)), value = trimmed(line.substr(colon + 1));
    encoded |= name == "transfer-encoding";
    if (name != "content-length") continue;
    const bool digits = std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c); });
    if (length >= 0 || value.empty() || value.size() > 15 || !digits) return {};
    length = std::stoll(value);
  }
  return length;
}

}  // namespace

ParsedRequest parse_request(const std::string& text, const HttpLimits& limits) {
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos && text.size() <= limits.header) return {};
  if (std::min(end, text.size()) > limits.header) return refuse(431, "The header of a request is too long.");
  const size_t first = text.find("\r\n");
  HttpRequest request = request_line(text.substr(0, first));
  if (request.method.empty()) return refuse(400, "This is no HTTP request.");
  if (request.method != "GET" && request.method != "POST") return refuse(405, "GET and POST are known.");
  bool encoded = false;
  const auto length = body_length(first == end ? "" : text.substr(first + 2, end - first - 2), encoded);
  if (!length) return refuse(400, "The header of the request is wrong.");
  if (request.method == "GET") return {request, {}};
  if (encoded || *length < 0) return refuse(411, "The length of a record must be in Content-Length.");
  if (static_cast<uint64_t>(*length) > limits.body) {
    return refuse(413, fmt::format("A record has at most {} kB.", limits.body >> 10));
  }
  if (text.size() < end + 4 + static_cast<size_t>(*length)) return {};
  request.body = text.substr(end + 4, static_cast<size_t>(*length));
  return {request, {}};
}

HttpServer::HttpServer(int port, const HttpLimits& limits, Handler handler)
    : port_(port), limits_(limits), handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
  const int fd = listener_.fd(), on = 1;
  check(fd >= 0, "room: no socket: {}", std::strerror(errno));
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_ANY);
  at.sin_port = htons(static_cast<uint16_t>(port));
  const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 && listen(fd, 128) == 0;
  check(bound || errno != EADDRINUSE, "room: port {} is in use; take another one: PORT={}", port, port + 1);
  check(bound, "room: cannot listen at port {}: {}", port, std::strerror(errno));
  port_ = local_address(fd).port;
}

void HttpServer::step(int milliseconds) {
  const bool full = connections_.size() >= static_cast<size_t>(limits_.open);  // later ones wait in the system's queue
  std::vector<pollfd> waits{{listener_.fd(), static_cast<short>(full ? 0 : POLLIN), 0}};
  for (const Connection& c : connections_) {
    milliseconds = std::min(milliseconds, c.deadline.milliseconds_left());
    waits.push_back({c.socket.fd(), static_cast<short>(c.answered && !c.all_sent() ? POLLOUT : POLLIN), 0});
  }
  if (poll(waits.data(), waits.size(), milliseconds) < 0) return;  // a signal
  size_t i = 0;
  for (Connection& c : connections_) {
    const short events = waits[++i].revents;
    if (events != 0 && c.answered && !c.all_sent()) {
      send(c);
    } else if (events != 0) {
      receive(c);
    }
    if (c.closed || !c.deadline.over()) continue;
    if (c.answered) {
      c.closed = true;
    } else {
      answer(c, {408, "The request took too long.\n"});
      c.deadline = Deadline::in(kLinger);
    }
  }
  connections_.remove_if([](const Connection& c) { return c.closed; });
  if (waits[0].revents != 0) accept_all();
}

void HttpServer::accept_all() {
  while (connections_.size() < static_cast<size_t>(limits_.open)) {
    int error = 0;
    Connection c{accept_one(listener_.fd(), error), "", Deadline::in(limits_.seconds), "", ""};
    if (c.socket.fd() < 0) return;
    c.from = text_of(remote_address(c.socket.fd()));
    const auto open =
        std::count_if(connections_.begin(), connections_.end(), [&](const auto& o) { return o.from == c.from; });
    if (open >= limits_.open_of_address) continue;  // closed without an answer
    if (!within_rate(c.from)) answer(c, {429, "Too many requests: wait a few seconds.\n"});
    connections_.push_back(std::move(c));
  }
}

bool HttpServer::within_rate(const std::string& from) {
  const auto now = std::chrono::steady_clock::now();
  const auto refilled = [&](const Budget& b) {
    const double seconds = std::chrono::duration<double>(now - b.when).count();
    return std::min<double>(limits_.burst, b.requests + seconds * limits_.per_second);
  };
  if (budgets_.size() > 1000)
    std::erase_if(budgets_, [&](const auto& b) { return refilled(b.second) >= limits_.burst; });
  const auto [budget, is_new] = budgets_.try_emplace(from, Budget{static_cast<double>(limits_.burst), now});
  const double left = refilled(budget->second);
  budget->second = {left >= 1 ? left - 1 : left, now};
  return left >= 1;
}

void HttpServer::receive(Connection& c) {
  char buffer[16 << 10];
  const ssize_t n = ::recv(c.socket.fd(), buffer, sizeof buffer, 0);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (n <= 0) {
    c.closed = true;
    return;
  }
  if (c.answered) return;  // what comes after the answer is not kept
  c.in.append(buffer, static_cast<size_t>(n));
  ParsedRequest parsed = parse_request(c.in, limits_);
  if (parsed.refusal) answer(c, *parsed.refusal);
  if (!parsed.request) return;
  parsed.request->from = c.from;
  try {
    answer(c, handler_(*parsed.request));
  } catch (const std::exception& error) {
    fmt::print(stderr, "room: {}\n", error.what());
    answer(c, {500, "The room could not do this; its own terminal says why.\n"});
  }
}

void HttpServer::answer(Connection& c, const HttpResponse& response) {
  c.out = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:\r\n\r\n{}",
      response.status, phrase_of(response.status), response.type, response.body.size(), response.body);
  c.answered = true;
  c.in.clear();
  send(c);
}

void HttpServer::send(Connection& c) {
  while (!c.all_sent()) {
    const ssize_t n = ::send(c.socket.fd(), c.out.data() + c.sent, c.out.size() - c.sent, kNoSignal);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      c.closed = true;
      return;
    }
    c.sent += static_cast<size_t>(n);
  }
  shutdown(c.socket.fd(), SHUT_WR);
  c.deadline = Deadline::in(kLinger);
}

}  // namespace pg::kit
