// Collectives over shared memory. Each rank adds up one shard of every piece of the tensor and reads the others.
#include <algorithm>
#include <cstring>

#include "tensor/base/error.h"
#include "tensor/comm/host_comm.h"
#include "tensor/comm/shared_group.h"

namespace pg {
namespace {

using Op = CollectiveCall::Op;

class SharedMemoryRank : public HostComm {
 public:
  SharedMemoryRank(SharedGroup& group, int rank, bool owns) : group_(group), rank_(rank), owns_(owns) {}
  ~SharedMemoryRank() override {
    end_thread();
    if (!owns_) return;
    group_.set_left(rank_);
    group_.destroy();
  }

  int rank() const override { return rank_; }
  int size() const override { return group_.ranks(); }
  const char* name() const override { return "shared memory"; }

 protected:
  void give_up(const std::string& reason) override { group_.give_up(reason); }
  void run(const CollectiveCall& call, char* x, char* into) override {
    group_.begin(rank_, call);
    const auto dtype = static_cast<DType>(call.dtype);
    if (call.op == Op::broadcast) return broadcast(call, x, call.n * static_cast<int64_t>(size_of(dtype)));
    if (call.op == Op::barrier) return;
    visit(dtype,
          [&]<class T>(std::type_identity<T>) { run(call, reinterpret_cast<T*>(x), reinterpret_cast<T*>(into)); });
  }

 private:
  // Elements of a shard that are exchanged at a time.
  struct Part {
    Shard shard;     // all of it
    int64_t at = 0;  // of the part, in the shard
    int64_t size = 0;
  };

  void broadcast(const CollectiveCall& call, char* x, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += SharedGroup::kPieceBytes, turn_ ^= 1) {
      const auto length = static_cast<size_t>(std::min(SharedGroup::kPieceBytes, bytes - at));
      char* shared = group_.piece(call.root, call.root, turn_);
      if (rank_ == call.root) std::memcpy(shared, x + at, length);
      group_.step(rank_, call);
      if (rank_ != call.root) std::memcpy(x + at, shared, length);
    }
  }

  template <class T>
  void run(const CollectiveCall& call, T* x, T* into) {
    constexpr int64_t most = SharedGroup::kPieceBytes / static_cast<int64_t>(sizeof(T));
    const bool reduces = call.op != Op::all_gather, gathers = call.op != Op::reduce_scatter;
    const int64_t longest = shard_of(call.n, 0, size(), call.unit).size();
    const Shard own = shard_of(call.n, rank_, size(), call.unit);
    if (call.op == Op::all_reduce) into = x + own.begin;
    for (int64_t at = 0; at < longest; at += most, turn_ ^= 1) {
      const auto part = [&](int r) {
        const Shard shard = shard_of(call.n, r, size(), call.unit);
        return Part{shard, at, std::max<int64_t>(0, std::min(shard.size() - at, most))};
      };
      if (reduces) reduce(x, into, part, call);
      if (gathers) gather(x, part, call);
    }
  }
  template <class T>
  T* piece(int owner, int reader) const {
    return reinterpret_cast<T*>(group_.piece(owner, reader, turn_));
  }
  template <class T, class PartOf>
  void reduce(T* x, T* into, const PartOf& part, const CollectiveCall& call) {
    if constexpr (!std::is_same_v<T, uint8_t>) {
      for (int r = 0; r < size() && rank_ < call.terms; ++r) {
        const Part to = part(r);
        if (r != rank_) std::copy_n(x + to.shard.begin + to.at, to.size, piece<T>(rank_, r));
      }
      group_.step(rank_, call);
      const Part own = part(rank_);
      if (own.size == 0) return;
      const T* terms[kMostRanks + 1];
      int n = 0;
      if (call.add) terms[n++] = into + own.at;
      for (int r = 0; r < call.terms; ++r) {
        terms[n++] = r == rank_ ? x + own.shard.begin + own.at : piece<T>(r, rank_);
      }
      add_up(into + own.at, terms, n, own.size);
    }
  }
  template <class T, class PartOf>
  void gather(T* x, const PartOf& part, const CollectiveCall& call) {
    const Part own = part(rank_);
    std::copy_n(x + own.shard.begin + own.at, own.size, piece<T>(rank_, rank_));
    group_.step(rank_, call);
    for (int r = 0; r < size(); ++r) {
      const Part from = part(r);
      if (r != rank_) std::copy_n(piece<T>(r, r), from.size, x + from.shard.begin + from.at);
    }
  }

  SharedGroup& group_;
  int rank_;
  bool owns_;
  int turn_ = 0;  // which of the two areas the next piece takes
};

}  // namespace

std::unique_ptr<Comm> shared_memory_rank(SharedGroup& group, int rank, bool owns) {
  return std::make_unique<SharedMemoryRank>(group, rank, owns);
}

}  // namespace pg
