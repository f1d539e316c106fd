#pragma once
// Stage 3 of ZeRO: a rank keeps its shard of the parameters. Those of a part of the model are gathered before it is
// computed, forward and backward, and released when another part is computed.
#include <cstdint>
#include <vector>

#include "nn/param_slab.h"
#include "nn/transformer.h"
#include "tensor/comm/comm.h"

namespace pg {

// While it exists, the model gathers its parameters itself (Transformer::before_part). The parameters are complete at
// first. The slab must be that of the model and in stage 3; with another stage all functions do nothing. All functions
// but the destructor are collectives, and so is every call of the model unless the parameters are complete: all ranks
// call it as often, forward and backward, in the same order.
//
// The buckets of the slab are gathered (ParamSlab::buckets), those of the part that is computed and, while it is
// computed, those of the part that comes next: the one after it, or in a backward the one before it.
class GatheredWeights {
 public:
  GatheredWeights(Transformer& model, const ParamSlab& slab);
  ~GatheredWeights();  // what is released stays so
  GatheredWeights(const GatheredWeights&) = delete;

  // Gathers all parameters, which then stay complete until release().
  void gather_all();
  // Keeps this rank's shard of the parameters. The first call, and one after complete() was called, compares the
  // parameters of the ranks: an Error names a rank whose parameters differ. Must be called after every update.
  void release();
  // All parameters have been written, on every rank the same: from a checkpoint.
  void complete();
  bool whole() const { return whole_; }
  // The most bytes of other ranks' shards that this rank has held at a time while not whole().
  int64_t gathered_bytes() const { return peak_bytes_; }

 private:
  enum class State : uint8_t { released, coming, here };
  struct Bucket {
    Shard range, own;
    State state = State::here;
    Comm::Ticket ticket = 0;
  };
  bool active() const { return slab_.zero() == 3; }
  void use(size_t part);
  void gather(Bucket& bucket);
  void finish(Bucket& bucket);
  void drop(Bucket& bucket);
  int64_t bytes(int64_t elements) const;

  Transformer& model_;
  const ParamSlab& slab_;
  std::vector<Bucket> buckets_;
  std::vector<std::vector<char>> reads_;  // by part and bucket
  bool whole_ = true, compared_ = false;
  size_t last_ = 0;  // the part that was computed last
  int64_t held_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace pg
