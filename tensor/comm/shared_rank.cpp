// Collectives over shared memory. Each rank adds up one shard of every piece of the tensor and reads the others.
#include "tensor/comm/shared_rank.h"

#include <algorithm>
#include <cstring>

#include "tensor/base/error.h"

namespace pg {
namespace {

// sum[i] = ((terms[0][i] + terms[1][i]) + …), each term added in the type of computation. sum may be one of the terms.
template <class T>
void add_up(T* sum, const T* const* terms, int n, int64_t count) {
  using C = std::conditional_t<std::is_same_v<T, int32_t>, uint32_t, computes_t<T>>;  // integers wrap around
  constexpr int64_t block = 512;
  C partial[block];
  for (int64_t at = 0; at < count; at += block) {
    const int64_t length = std::min(block, count - at);
    for (int64_t i = 0; i < length; ++i) partial[i] = static_cast<C>(terms[0][at + i]);
    for (int t = 1; t < n; ++t) {
      for (int64_t i = 0; i < length; ++i) partial[i] += static_cast<C>(terms[t][at + i]);
    }
    for (int64_t i = 0; i < length; ++i) sum[at + i] = static_cast<T>(partial[i]);
  }
}

class SharedMemoryRank : public Comm {
 public:
  SharedMemoryRank(SharedGroup& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_.ranks(); }
  void all_reduce(const Tensor& x) override { run("all_reduce", x, true, true); }
  void reduce_scatter(const Tensor& x) override { run("reduce_scatter", x, true, false); }
  void all_gather(const Tensor& x) override { run("all_gather", x, false, true); }
  void barrier() override { group_.begin(rank_, {"barrier"}); }
  void broadcast(const Tensor& x, int root) override {
    check_collective("broadcast", x);
    check(root >= 0 && root < size(), "broadcast: root {} is not one of the ranks, which are 0 to {}", root,
          size() - 1);
    const CollectiveCall call = begin("broadcast", x, root);
    const int64_t bytes = x.numel() * static_cast<int64_t>(size_of(x.dtype()));
    for (int64_t at = 0; at < bytes; at += SharedGroup::kPieceBytes, turn_ ^= 1) {
      const auto length = static_cast<size_t>(std::min(SharedGroup::kPieceBytes, bytes - at));
      char *own = data_of(x) + at, *shared = group_.piece(root, root, turn_);
      if (rank_ == root) std::memcpy(shared, own, length);
      group_.step(rank_, call);
      if (rank_ != root) std::memcpy(own, shared, length);
    }
  }

 private:
  static char* data_of(const Tensor& x) {
    return visit(x.dtype(),
                 [&]<class T>(std::type_identity<T>) { return reinterpret_cast<char*>(x.data<T>().data()); });
  }
  CollectiveCall begin(const char* op, const Tensor& x, int root = 0) {
    const CollectiveCall call{op, x.dtype(), x.numel(), root};
    group_.begin(rank_, call);
    return call;
  }

  void run(const char* op, const Tensor& x, bool reduces, bool gathers) {
    check_collective(op, x);
    check(!reduces || x.dtype() != u8, "{}: u8 cannot be added up without loss; convert to i32", op);
    const CollectiveCall call = begin(op, x);
    visit(x.dtype(), [&]<class T>(std::type_identity<T>) {
      T* data = x.data<T>().data();
      constexpr int64_t most = SharedGroup::kPieceBytes / static_cast<int64_t>(sizeof(T));
      const int64_t longest = shard_of(x.numel(), 0, size()).size();
      for (int64_t at = 0; at < longest; at += most, turn_ ^= 1) {
        const auto part = [&](int r) {  // of shard r, which may be an element shorter than the longest one
          const Shard shard = shard_of(x.numel(), r, size());
          return Shard{std::min(shard.begin + at, shard.end), std::min(shard.begin + at + most, shard.end)};
        };
        if (reduces) reduce(data, part, call);
        if (gathers) gather(data, part, call);
      }
    });
  }
  template <class T>
  T* piece(int owner, int reader) const {
    return reinterpret_cast<T*>(group_.piece(owner, reader, turn_));
  }
  template <class T, class Part>
  void reduce(T* x, const Part& part, const CollectiveCall& call) {
    for (int r = 0; r < size(); ++r) {
      if (r != rank_) std::copy_n(x + part(r).begin, part(r).size(), piece<T>(rank_, r));
    }
    group_.step(rank_, call);
    const Shard own = part(rank_);
    const T* terms[kMostRanks];
    for (int r = 0; r < size(); ++r) terms[r] = r == rank_ ? x + own.begin : piece<T>(r, rank_);
    add_up(x + own.begin, terms, size(), own.size());
  }
  template <class T, class Part>
  void gather(T* x, const Part& part, const CollectiveCall& call) {
    std::copy_n(x + part(rank_).begin, part(rank_).size(), piece<T>(rank_, rank_));
    group_.step(rank_, call);
    for (int r = 0; r < size(); ++r) {
      if (r != rank_) std::copy_n(piece<T>(r, r), part(r).size(), x + part(r).begin);
    }
  }

  SharedGroup& group_;
  int rank_;
  int turn_ = 0;  // which of the two areas the next piece takes
};

}  // namespace

std::unique_ptr<Comm> shared_memory_rank(SharedGroup& group, int rank) {
  return std::make_unique<SharedMemoryRank>(group, rank);
}

}  // namespace pg
