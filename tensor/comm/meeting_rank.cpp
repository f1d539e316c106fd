// Each rank sends rank 0 its call of a collective and its elements. Rank 0 sends all of them to all, and every rank
// computes the result itself.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "tensor/base/error.h"
#include "tensor/comm/host_comm.h"
#include "tensor/comm/links.h"
#include "tensor/comm/socket_meeting.h"

namespace pg {
namespace {

using Op = CollectiveCall::Op;

// What a message begins with: a call and elements follow, or LastWords.
constexpr char kCall = 'c', kReason = 'r';
// Seconds in which a rank must take the few bytes of a message.
constexpr double kPatience = 10;

class MeetingRank : public HostComm {
 public:
  MeetingRank(int rank, int size, std::vector<Socket> connections, const MeetingOptions& options)
      : rank_(rank), size_(size), options_(options), connections_(std::move(connections)) {
    check(options.timeout > 0, "ranks: a timeout must be above 0 s, got {}", options.timeout);
  }
  ~MeetingRank() override { end_thread(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const char* name() const override { return "sockets"; }

 protected:
  void give_up(const std::string& reason) override {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) return;
      failure_ = reason;
    }
    const LastWords words = LastWords::of(reason);
    send_to_all(std::string(1, kReason).append(words.reason, sizeof words.reason));
  }

  void run(const CollectiveCall& call, char* x, char* into) override {
    now_ = call;
    ++number_;
    const int64_t bytes = call.n * width();
    if (bytes > options_.most_bytes) {
      give_up(
          fmt::format("{} bytes, but over sockets a collective has at most {}: the elements of several machines go "
                      "over MPI or NCCL",
                      bytes, options_.most_bytes));
    }
    throw_failure();
    calls_.assign(static_cast<size_t>(size()), CollectiveCall{});
    calls_[static_cast<size_t>(rank())] = call;
    terms_.assign(calls_.size(), {});
    own().assign(x + offset(rank()), x + offset(rank()) + length(rank()));
    if (rank() == 0) {
      for (int r = 1; r < size(); ++r) hear_call(r);
      tell(what_all_said());
    } else {
      std::string message(1, kCall);
      message.append(reinterpret_cast<const char*>(&call), sizeof call).append(own().data(), own().size());
      tell(message);
      hear_all();
    }
    for (int r = 1; r < size(); ++r) {
      if (call_of(r) != call_of(0)) fail_different(call_of(0), r, call_of(r), number_);
    }
    visit(static_cast<DType>(call.dtype),
          [&]<class T>(std::type_identity<T>) { finish(reinterpret_cast<T*>(x), reinterpret_cast<T*>(into)); });
  }

 private:
  const CollectiveCall& call_of(int r) const { return calls_[static_cast<size_t>(r)]; }
  std::vector<char>& own() { return terms_[static_cast<size_t>(rank())]; }
  int64_t width() const { return static_cast<int64_t>(size_of(static_cast<DType>(now_.dtype))); }
  // The bytes of x that rank r brings.
  int64_t offset(int r) const {
    return now_.op == Op::all_gather ? shard_of(now_.n, r, size(), now_.unit).begin * width() : 0;
  }
  int64_t length(int r) const {
    if (now_.op == Op::all_gather) return shard_of(now_.n, r, size(), now_.unit).size() * width();
    const bool brings = now_.op == Op::broadcast ? r == now_.root : r < now_.terms;
    return brings ? now_.n * width() : 0;
  }

  // The first rank that does not take the message; -1 if all do.
  int send_to_all(const std::string& message) {
    const std::lock_guard lock(send_mutex_);
    int first = -1;
    for (size_t r = 0; r < connections_.size(); ++r) {
      const int fd = connections_[r].fd();
      const bool taken = fd < 0 || send_all(fd, message.data(), message.size(), Deadline::in(kPatience));
      if (!taken && first < 0) first = static_cast<int>(r);
    }
    return first;
  }
  void tell(const std::string& message) {
    const int r = send_to_all(message);
    if (r >= 0) give_up(fmt::format("rank {} has ended, or does not take a message", r));
    throw_failure();
  }
  std::string failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void throw_failure() const {
    const std::string why = failure();
    if (!why.empty()) fail("{}: {}", name_of_call(rank(), now_, number_), why);
  }

  // Reads from rank r; throws once a rank has given up, this one has ended, or it has sent nothing for too long.
  void receive(int r, void* to, size_t bytes) {
    // Rank 0 waits for the others until its own deadline, and then says who is missing.
    const double seconds = options_.timeout + (rank() == 0 ? 0 : 2);
    const Deadline deadline = Deadline::in(seconds);
    const int fd = connections_[static_cast<size_t>(r)].fd();
    for (char* at = static_cast<char*>(to); bytes > 0;) {
      const ssize_t n = recv(fd, at, bytes, 0);
      const bool waits = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
      if (n > 0) at += n, bytes -= static_cast<size_t>(n);
      if (n <= 0 && !waits) give_up(fmt::format("rank {} has ended and does not take part", r));
      if (waits && deadline.over()) give_up(fmt::format("rank {} did not come within {:g} s", r, seconds));
      throw_failure();
      pollfd one{fd, POLLIN, 0};
      if (waits) poll(&one, 1, 50);
    }
  }
  // The first byte of a message of rank r, which says that a call follows; another one ends the group.
  void receive_kind(int r) {
    char kind = 0;
    receive(r, &kind, 1);
    if (kind == kCall) return;
    LastWords words;
    if (kind == kReason) receive(r, words.reason, sizeof words.reason - 1);
    give_up(kind == kReason ? words.reason
                            : fmt::format("rank {} sent {:#x} where it may only call a collective or say why it ends",
                                          r, static_cast<unsigned char>(kind)));
    throw_failure();
  }
  // Checks the numbers of a call that rank r has sent.
  void check_call(int r, const CollectiveCall& call) {
    const std::string defect = defect_of(call, size());
    if (!defect.empty()) give_up(fmt::format("rank {} sent no call of a collective: {}", r, defect));
    throw_failure();
  }
  void receive_term(int from, int r) {
    std::vector<char>& term = terms_[static_cast<size_t>(r)];
    term.resize(static_cast<size_t>(length(r)));
    receive(from, term.data(), term.size());
  }
  // Rank 0 hears the call of another rank, and its elements if the call is rank 0's own.
  void hear_call(int r) {
    CollectiveCall& call = calls_[static_cast<size_t>(r)];
    receive_kind(r);
    receive(r, &call, sizeof call);
    check_call(r, call);
    if (call == now_) receive_term(r, r);
  }
  std::string what_all_said() {
    std::string all(1, kCall);
    all.append(reinterpret_cast<const char*>(calls_.data()), calls_.size() * sizeof(CollectiveCall));
    for (const std::vector<char>& term : terms_) all.append(term.data(), term.size());
    return all;
  }
  // Another rank hears what rank 0 has gathered: the calls, and the elements if the calls are equal.
  void hear_all() {
    receive_kind(0);
    receive(0, calls_.data(), calls_.size() * sizeof(CollectiveCall));
    for (const CollectiveCall& call : calls_) check_call(0, call);
    if (std::any_of(calls_.begin(), calls_.end(), [&](auto& call) { return call != now_; })) return;
    for (int r = 0; r < size(); ++r) receive_term(0, r);
  }

  template <class T>
  void finish(T* x, T* into) {
    for (int r = 0; r < size() && now_.terms == 0; ++r) {
      const std::vector<char>& part = terms_[static_cast<size_t>(r)];
      if (!part.empty()) std::memcpy(reinterpret_cast<char*>(x) + offset(r), part.data(), part.size());
    }
    if constexpr (!std::is_same_v<T, uint8_t>) {
      if (now_.terms == 0) return;
      const bool scatters = now_.op == Op::reduce_scatter;
      const Shard part = scatters ? shard_of(now_.n, rank(), size(), now_.unit) : Shard{0, now_.n};
      T* sum = scatters ? into : x;
      std::vector<const T*> terms;
      if (now_.add) terms.push_back(sum);
      for (int r = 0; r < now_.terms; ++r) {
        terms.push_back(reinterpret_cast<const T*>(terms_[static_cast<size_t>(r)].data()) + part.begin);
      }
      add_up(sum, terms.data(), static_cast<int>(terms.size()), part.size());
    }
  }

  int rank_, size_;
  MeetingOptions options_;
  std::vector<Socket> connections_;
  CollectiveCall now_;
  uint64_t number_ = 0;
  std::vector<CollectiveCall> calls_;     // of each rank
  std::vector<std::vector<char>> terms_;  // the elements that each rank brings
  mutable std::mutex mutex_;
  std::string failure_;
  std::mutex send_mutex_;  // a message is sent whole
};

}  // namespace

std::unique_ptr<Comm> meeting_rank(int rank, int size, std::vector<Socket> connections, const MeetingOptions& options) {
  return std::make_unique<MeetingRank>(rank, size, std::move(connections), options);
}

}  // namespace pg
