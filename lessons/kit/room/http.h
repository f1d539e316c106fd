#pragma once
// A small HTTP server for one local network: one thread, requests of bounded size, time and number. The distribution's
// cpp-httplib is not used: version 0.11 reads a body in chunks without its limit, and has no limit of time for a whole
// request.
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "tensor/comm/sockets.h"

namespace pg::kit {

struct HttpRequest {
  std::string method, path;  // "GET" or "POST"; "/..." as it was sent
  std::string body;
  std::string from;  // the sender's address, "10.0.0.7"
};
struct HttpResponse {
  int status = 200;
  std::string body;
  std::string type = "text/plain; charset=utf-8";
};
struct HttpLimits {
  size_t header = 8 << 10, body = 256 << 10;  // bytes
  double seconds = 5;                         // from the connection to the end of the answer
  int open = 128, open_of_address = 16;       // connections at the same time
  int burst = 60, per_second = 10;            // requests of one address: at once, and in the long run
};

// The request in `text`, or the answer to one that breaks the rules; neither of both while more must come. Transfer
// encodings are refused, so that every body has a length from the start.
struct ParsedRequest {
  std::optional<HttpRequest> request;
  std::optional<HttpResponse> refusal;
};
ParsedRequest parse_request(const std::string& text, const HttpLimits& limits);

// Listens at all IPv4 addresses of this machine. Each connection gets one answer, a page or a status of 4xx.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;
  // Port 0: a free one. Error if the port is in use.
  HttpServer(int port, const HttpLimits& limits, Handler handler);
  int port() const { return port_; }
  // Waits up to `milliseconds` for something to do, and does all that can be done without waiting.
  void step(int milliseconds);

 private:
  struct Connection {
    Socket socket;
    std::string from;
    Deadline deadline;
    std::string in, out;
    size_t sent = 0;
    bool answered = false, closed = false;
    bool all_sent() const { return answered && sent == out.size(); }
  };
  struct Budget {
    double requests = 0;
    std::chrono::steady_clock::time_point when;
  };

  void accept_all();
  bool within_rate(const std::string& from);
  void receive(Connection& c);
  void send(Connection& c);
  void answer(Connection& c, const HttpResponse& response);

  int port_;
  HttpLimits limits_;
  Handler handler_;
  Socket listener_;
  std::list<Connection> connections_;
  std::map<std::string, Budget> budgets_;  // by address
};

}  // namespace pg::kit
