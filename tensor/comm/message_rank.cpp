// Collectives made of messages. A rank sends every other one that rank's shard, adds up its own in the order of the
// ranks, and sends the sum to all; the pieces of a shard follow one another, so that one is added up while the next
// one travels. The first message of a collective is its call: ranks that disagree find out before they use any element.
#include <algorithm>
#include <functional>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/comm/activity.h"
#include "tensor/comm/host_comm.h"
#include "tensor/comm/links.h"

namespace pg {
namespace {

using Op = CollectiveCall::Op;

class MessageRank : public HostComm {
 public:
  MessageRank(std::unique_ptr<Links> links, const MessageOptions& options)
      : links_(std::move(links)),
        options_(options),
        // With many ranks less, because memory for two pieces of each is needed.
        piece_(std::max<int64_t>(8, std::min(options.piece_bytes, 8 * options.piece_bytes / size()) / 8 * 8)),
        calls_(static_cast<size_t>(size())),
        pids_(calls_.size()),
        watches_(calls_.size()),
        left_(calls_.size()),
        behind_(calls_.size()) {
    for (const double seconds : {options.timeout, options.remote_timeout, options.longest}) {
      check(seconds > 0, "ranks: a timeout must be above 0 s, got {}", seconds);
    }
    check(piece_ <= Links::kMostBytes, "ranks: pieces of {} bytes, expected at most {}", piece_, Links::kMostBytes);
    const ProcessAddress own = this_process();
    std::vector<ProcessAddress> all(calls_.size());
    for (int r : others()) {
      send(r, reinterpret_cast<const char*>(&own), sizeof own);
      receive(r, reinterpret_cast<char*>(&all[static_cast<size_t>(r)]), sizeof own);
    }
    move_until([&](int r) { return open(r) == 0; });
    for (size_t r = 0; r < all.size(); ++r) pids_[r] = options_.sees_processes && is_visible(all[r]) ? all[r].pid : 0;
  }
  ~MessageRank() override { end_thread(); }

  int rank() const override { return links_->rank(); }
  int size() const override { return links_->size(); }
  const char* name() const override { return links_->name(); }

 protected:
  void give_up(const std::string& reason) override { links_->give_up(reason); }
  void run(const CollectiveCall& call, char* x, char* into) override {
    now_ = call;
    ++number_;
    calls_[static_cast<size_t>(rank())] = call;
    for (int r : others()) {
      send(r, reinterpret_cast<const char*>(&calls_[static_cast<size_t>(rank())]), sizeof call);
      receive(r, reinterpret_cast<char*>(&calls_[static_cast<size_t>(r)]), sizeof call);
    }
    const auto dtype = static_cast<DType>(call.dtype);
    if (call.op == Op::broadcast) {
      broadcast(x, call.n * static_cast<int64_t>(size_of(dtype)));
    } else if (call.op == Op::barrier) {
      compare();
    } else {
      visit(dtype,
            [&]<class T>(std::type_identity<T>) { exchange(reinterpret_cast<T*>(x), reinterpret_cast<T*>(into)); });
    }
    move_until([&](int r) { return open(r) == 0; });
  }

 private:
  std::vector<int> others() const {
    std::vector<int> all;
    for (int i = 1; i < size(); ++i) all.push_back((rank() + i) % size());
    return all;
  }
  int64_t open(int r) const { return links_->sends_left(r) + links_->receives_left(r); }
  // A rank has the timeout anew whenever something is posted after a pause, and whenever something moves.
  void touch(int r) {
    if (open(r) == 0) watch(r);
  }
  void watch(int r) {
    const auto i = static_cast<size_t>(r);
    watches_[i] = ActivityWatch(pids_[i], std::min(0.2, options_.timeout / 4));
  }
  void send(int to, const char* data, int64_t bytes) {
    touch(to);
    if (bytes > 0) links_->send(to, data, bytes);
  }
  void receive(int from, char* data, int64_t bytes) {
    touch(from);
    if (bytes > 0) links_->receive(from, data, bytes);
  }

  // Moves messages until `done` for every other rank.
  void move_until(const std::function<bool(int)>& done) {
    const std::vector<int> all = others();
    for (int r : all) left_[static_cast<size_t>(r)] = open(r);
    for (;;) {
      if (std::all_of(all.begin(), all.end(), done)) return;
      links_->progress(0.05);
      if (std::all_of(all.begin(), all.end(), done)) return;
      if (links_->failure().empty()) find_missing(all);
      const std::string failure = links_->failure();
      check(failure.empty(), "{}: {}", name_of_call(rank(), now_, number_), failure);
    }
  }
  // Gives up if a rank has left, or if one was silent for too long: the one that was silent for longest.
  void find_missing(const std::vector<int>& all) {
    std::string reason;
    double longest = 0;
    for (int r : all) {
      const auto i = static_cast<size_t>(r);
      if (open(r) != left_[i]) {
        left_[i] = open(r);
        watch(r);
      }
      if (left_[i] == 0) continue;
      if (links_->has_left(r)) return links_->give_up(fmt::format("rank {} has ended and does not take part", r));
      const double silent = watches_[i].watched_seconds();
      if (std::string why = why_missing(r); !why.empty() && silent > longest) {
        longest = silent;
        reason = std::move(why);
      }
    }
    if (!reason.empty()) links_->give_up(reason);
  }
  // "", or why a rank that is silent counts as missing.
  std::string why_missing(int r) {
    ActivityWatch& watch = watches_[static_cast<size_t>(r)];
    const bool visible = pids_[static_cast<size_t>(r)] != 0;
    if (visible && watch.idle_seconds() > options_.timeout) {
      return fmt::format("rank {} has not come and has done nothing for {:g} s", r, options_.timeout);
    }
    const double most = visible ? options_.longest : options_.remote_timeout;
    return watch.watched_seconds() > most ? fmt::format("rank {} did not come within {:g} s", r, most) : "";
  }

  // Waits for the calls of the others. Whoever sees a difference waits until all have been told its own call.
  void compare() {
    move_until([&](int r) { return links_->receives_left(r) == 0; });
    for (int r : others()) {
      const std::string defect = defect_of(calls_[static_cast<size_t>(r)], size());
      if (defect.empty()) continue;
      const std::string reason = fmt::format("rank {} sent no call of a collective: {}", r, defect);
      links_->give_up(reason);
      fail("{}: {}", name_of_call(rank(), now_, number_), reason);
    }
    for (int r = 1; r < size(); ++r) {
      if (calls_[static_cast<size_t>(r)] == calls_[0]) continue;
      // The call is the first message; more may be behind it that no one will take.
      move_until([&](int other) { return links_->sends_left(other) <= behind_[static_cast<size_t>(other)]; });
      fail_different(calls_[0], r, calls_[static_cast<size_t>(r)], number_);
    }
    std::fill(behind_.begin(), behind_.end(), 0);
  }

  void broadcast(char* x, int64_t bytes) {
    compare();
    for (int64_t at = 0; at < bytes; at += piece_) {
      const int64_t length = std::min(piece_, bytes - at);
      if (rank() != now_.root) {
        receive(now_.root, x + at, length);
        continue;
      }
      for (int r : others()) send(r, x + at, length);
    }
  }

  // reduce_scatter, all_gather and all_reduce, in pieces of the shards. Between two ranks go the terms of piece 0, then
  // for each piece the terms of the next piece and the sum of this one.
  template <class T>
  void exchange(T* x, T* into) {
    const int64_t most = piece_ / static_cast<int64_t>(sizeof(T));
    const bool reduces = now_.op != Op::all_gather, gathers = now_.op != Op::reduce_scatter;
    const int64_t longest = shard_of(now_.n, 0, size(), now_.unit).size();
    const Shard own = shard_of(now_.n, rank(), size(), now_.unit);
    if (now_.op == Op::all_reduce) into = x + own.begin;
    if (reduces && longest > 0) {
      memory_.resize(static_cast<size_t>(2 * size() * piece_ / 8));
      for (int r : others()) behind_[static_cast<size_t>(r)] = sends_term(r, 0, most);
      send_terms(x, 0, most);
    }
    compare();
    if (reduces && longest > 0) receive_terms<T>(0, most);
    for (int64_t at = 0; at < longest; at += most) {
      if (reduces) {
        const bool more = at + most < longest;
        if (more) send_terms(x, at + most, most);
        if (more) receive_terms<T>(at + most, most);
        // All terms of this piece must be sent and received: a sum may be received where one was sent from.
        move_until([&](int r) {
          return links_->receives_left(r) <= (more && receives_term<T>(r, at + most, most)) &&
                 links_->sends_left(r) <= (more && sends_term(r, at + most, most));
        });
        add(x, into, own, at, most);
      }
      if (!gathers) continue;
      for (int r : others()) {
        const Shard to = part(r, at, most), mine = part(rank(), at, most);
        send(r, reinterpret_cast<const char*>(x + mine.begin), mine.size() * static_cast<int64_t>(sizeof(T)));
        receive(r, reinterpret_cast<char*>(x + to.begin), to.size() * static_cast<int64_t>(sizeof(T)));
      }
    }
  }
  // The elements of x that are a piece of rank r's shard.
  Shard part(int r, int64_t at, int64_t most) const {
    const Shard shard = shard_of(now_.n, r, size(), now_.unit);
    const int64_t begin = shard.begin + std::min(at, shard.size());
    return {begin, std::min(begin + most, shard.end)};
  }
  bool sends_term(int to, int64_t at, int64_t most) const {
    return rank() < now_.terms && part(to, at, most).size() > 0;
  }
  template <class T>
  bool receives_term(int from, int64_t at, int64_t most) const {
    return from < now_.terms && part(rank(), at, most).size() > 0;
  }
  template <class T>
  void send_terms(const T* x, int64_t at, int64_t most) {
    for (int r : others()) {
      const Shard to = part(r, at, most);
      if (!sends_term(r, at, most)) continue;
      send(r, reinterpret_cast<const char*>(x + to.begin), to.size() * static_cast<int64_t>(sizeof(T)));
    }
  }
  // Where the term of a rank arrives: two areas take turns.
  template <class T>
  T* term(int r, int64_t at, int64_t most) {
    const int64_t turn = at / most % 2;
    return reinterpret_cast<T*>(reinterpret_cast<char*>(memory_.data()) + (turn * size() + r) * piece_);
  }
  template <class T>
  void receive_terms(int64_t at, int64_t most) {
    const int64_t bytes = part(rank(), at, most).size() * static_cast<int64_t>(sizeof(T));
    for (int r : others()) {
      if (receives_term<T>(r, at, most)) receive(r, reinterpret_cast<char*>(term<T>(r, at, most)), bytes);
    }
  }
  template <class T>
  void add(const T* x, T* into, const Shard& own, int64_t at, int64_t most) {
    if constexpr (!std::is_same_v<T, uint8_t>) {
      const Shard mine = part(rank(), at, most);
      if (mine.size() == 0) return;
      T* sum = into + (mine.begin - own.begin);
      std::vector<const T*> terms;
      if (now_.add) terms.push_back(sum);
      for (int r = 0; r < now_.terms; ++r) terms.push_back(r == rank() ? x + mine.begin : term<T>(r, at, most));
      add_up(sum, terms.data(), static_cast<int>(terms.size()), mine.size());
    }
  }

  std::unique_ptr<Links> links_;
  MessageOptions options_;
  int64_t piece_;
  CollectiveCall now_;
  uint64_t number_ = 0;
  std::vector<CollectiveCall> calls_;   // of each rank
  std::vector<int> pids_;               // of the ranks on this machine; 0 for others
  std::vector<ActivityWatch> watches_;  // since something last moved between this rank and each other one
  std::vector<int64_t> left_;           // open messages then
  std::vector<int64_t> behind_;         // messages to each rank that may follow the call before it is compared
  std::vector<uint64_t> memory_;
};

}  // namespace

std::unique_ptr<Comm> message_rank(std::unique_ptr<Links> links, const MessageOptions& options) {
  return std::make_unique<MessageRank>(std::move(links), options);
}

}  // namespace pg
