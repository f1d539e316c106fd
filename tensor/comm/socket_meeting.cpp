// Rank 0 waits until all ranks have come, and tells each how they go on: by memory that they share, or not.
#include "tensor/comm/socket_meeting.h"

#include <unistd.h>

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
      : o_(o), key_(o.token.empty() ? o.run : o.token), deadline_(Deadline::in(o.timeout)) {}

  Met meet() {
    if (o_.rank == 0) {
      met_.connections.resize(static_cast<size_t>(o_.size));
      processes_.resize(met_.connections.size(), this_process());
      int port = o_.port;
      Socket listener = o_.listener >= 0 ? Socket(o_.listener) : listen_on(o_.address, port);
      listens_at_ = local_address(listener.fd());
      check_token(o_, listens_at_.loopback());
      Acceptor acceptor(std::move(listener), key_);
      gather(acceptor);
    } else {
      check_token(o_, is_loopback(o_.address));
      met_.connections.push_back(connect_to(o_.address, o_.port, deadline_));
      check_token(o_, remote_address(met_.connections[0].fd()).loopback());
      ask_rank_0(met_.connections[0].fd());
    }
    if (met_.memory) met_.connections.clear();
    return std::move(met_);
  }

 private:
  Socket& connection(int rank) { return met_.connections[static_cast<size_t>(rank)]; }
  static void answer(const Socket& socket, const Answer& a) { send_all(socket.fd(), &a, sizeof a, Deadline::in(1)); }
  // The ranks that have not come, as "2, 3".
  std::string missing() {
    std::string text;
    for (int r = 1; r < o_.size; ++r) {
      if (connection(r).fd() < 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", r);
    }
    return text;
  }
  std::string why_incomplete(const Acceptor& acceptor) {
    std::string text =
        fmt::format("of {} ranks these did not come to rank 0 within {:g} s: {}", o_.size, o_.timeout, missing());
    if (!refused_.empty()) text += fmt::format("; one was refused: {}", refused_);
    if (acceptor.strangers() > 0) text += fmt::format("; {} connections were not of this run", acceptor.strangers());
    // Debian's installer gives a machine's own name 127.0.1.1, but only on that machine.
    const bool name = o_.address != "localhost" && o_.address != text_of(listens_at_);
    if (listens_at_.loopback() && name) {
      text += fmt::format("; {} is {} here, which no other machine reaches", o_.address, text_of(listens_at_));
    }
    return text;
  }

  // "", or why rank 0 has no place for a rank.
  std::string refusal(const Hello& hello) {
    if (hello.size != o_.size) {
      return fmt::format("rank {} was started with {} ranks, and rank 0 with {}", hello.rank, hello.size, o_.size);
    }
    return connection(hello.rank).fd() < 0 ? "" : fmt::format("two processes were started as rank {}", hello.rank);
  }
  static bool has_left(const Socket& connection) {
    char byte = 0;
    const ssize_t n = recv(connection.fd(), &byte, 1, MSG_PEEK);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
  }
  // Rank 0 waits for all, and tells all how they go on, or who is missing. Nothing that one rank says ends the start of
  // the others.
  void gather(Acceptor& acceptor) {
    while (!missing().empty() && !deadline_.over()) {
      // Between two arrivals this rank sees whether the ranks that have come are still connected.
      auto arrival = acceptor.next({std::min(deadline_.at, Deadline::in(0.2).at)});
      for (Socket& one : met_.connections) {  // the place of one that has left is free again
        if (one.fd() >= 0 && has_left(one)) one.close();
      }
      if (!arrival) continue;
      const Hello& hello = arrival->hello;
      if (std::string why = refusal(hello); !why.empty()) {
        answer(arrival->socket, new_answer(why));
        refused_ = std::move(why);
        continue;
      }
      processes_[static_cast<size_t>(hello.rank)] = hello.process;
      connection(hello.rank) = std::move(arrival->socket);
    }
    Socket memory;
    std::string error = missing().empty() ? "" : why_incomplete(acceptor);
    Answer all = new_answer(error);
    if (error.empty()) {
      try {
        share_memory(memory, all);
      } catch (const Error& e) {
        error = std::string(e.what()).substr(std::string_view("ranks: ").size());
        all = new_answer(error);
      }
    }
    for (const Socket& one : met_.connections) {
      if (one.fd() >= 0) answer(one, all);
    }
    check(error.empty(), "ranks: {}", error);
    // A rank closes its connection once it has the memory; one that ends instead is missed by the first collective.
    const auto& all_others = met_.connections;
    while (met_.memory && !deadline_.over() && !std::all_of(all_others.begin() + 1, all_others.end(), has_left)) {
      usleep(1000);
    }
  }
  // Memory for ranks of one machine, in a file that the others open.
  void share_memory(Socket& file, Answer& all) {
    for (int r = 1; r < o_.size && met_.elsewhere == 0; ++r) {
      const bool here = o_.sees_processes && is_visible(processes_[static_cast<size_t>(r)]);
      if (!here) met_.elsewhere = all.elsewhere = r;
    }
    if (met_.elsewhere != 0) return;
    int fd = -1;
    met_.memory = SharedGroup::create(o_.size, o_.idle, o_.longest, &fd);
    file = Socket(fd);
    for (int r = 0; r < o_.size; ++r) met_.memory->set_process(r, processes_[static_cast<size_t>(r)].pid);
    all.pid = getpid();
    all.file = fd;
  }

  // Another rank tells rank 0 who it is, and is told how the ranks go on.
  void ask_rank_0(int fd) {
    const std::string rank_0 = fmt::format("rank 0 at {} port {}", o_.address, o_.port);
    introduce(fd, new_hello(o_.rank, o_.size), key_, rank_0, deadline_);
    // Rank 0 waits for the others until its own deadline, which may be later, and then says who is missing.
    std::string message(sizeof(Answer), '\0');
    check(receive_all(fd, message.data(), message.size(), Deadline::in(o_.timeout + 2)),
          "ranks: {} has ended, or is silent", rank_0);
    const auto answer = parse_answer(message);
    check(answer.has_value(), "ranks: {} says what this program does not understand", rank_0);
    check(answer->error[0] == 0, "ranks: rank 0 says: {}", answer->error);
    met_.elsewhere = answer->elsewhere;
    if (met_.elsewhere == 0) met_.memory = SharedGroup::attach(answer->pid, answer->file, o_.size);
  }

  const SocketOptions& o_;
  std::string key_;
  Deadline deadline_;
  Met met_;
  std::vector<ProcessAddress> processes_;
  Address listens_at_;
  std::string refused_;  // why rank 0 had no place for the last one
};

}  // namespace

int listen_at(const std::string& address, int& port) { return listen_on(address, port).release(); }

Met meet(const SocketOptions& o) {
  check(o.size >= 2 && o.rank >= 0 && o.rank < o.size, "ranks: rank {} of {} ranks", o.rank, o.size);
  check(o.port > 0 && o.port < 65536, "ranks: port {}, expected 1 to 65535", o.port);
  return Meeting(o).meet();
}

}  // namespace pg
