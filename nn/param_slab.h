#pragma once
// All trainable parameters of a module in one block of memory, all gradients in a second block with equal layout: the
// optimizer, the norm and the checkpoint each walk one array. bf16 parameters have f32 masters with that layout, in
// which updates too small for bf16 accumulate (Micikevicius et al. 2018, arXiv:1710.03740), and f32 gradients.
#include <string>
#include <vector>

#include "nn/module.h"
#include "tensor/shape.h"

namespace pg {

class Comm;  // tensor/comm/comm.h

// The borders between ranks are multiples of this many elements: sums over a slab are made of partial sums of them.
inline constexpr int64_t kShardUnit = 16384;

// Which state of training each rank of a group holds (Rajbhandari et al. 2020, "ZeRO: Memory Optimizations Toward
// Training Trillion Parameter Models", arXiv:1910.02054). Stage 0: all of it. 1: its shard of the optimizer's state. 2:
// its shard of the gradients too. 3: its shard of the parameters too (nn/ranks/gathered_weights.h). A rank updates its
// shard. With one rank all stages are stage 0. What a slab does with other ranks is in nn/ranks/slab_ranks.cpp.
struct Sharding {
  Comm* comm = nullptr;  // null: one rank
  int zero = 0;          // the stage
  // Gradients are sent in ranges of at least this many bytes.
  int64_t bucket_bytes = int64_t{8} << 20;
};

class ParamSlab {
 public:
  static constexpr int64_t kAlign = 256;  // elements: each parameter begins at a multiple of it
  struct Segment {
    std::string name;
    Shape shape;
    int64_t begin = 0, end = 0;  // element range in the slab; gaps up to the next segment hold zeros
    bool decay = false;          // weight decay applies to matrices (two or more dims), not to biases and norms
  };

  // Moves the parameters of `module` that require a gradient into the slab (their values stay) and gives each its part
  // of the gradient slab; the others stay where they are. Error if there are none, and unless all have one floating
  // dtype and one device; for a stage of ZeRO that does not exist, and for one on a GPU. The module and the group must
  // outlive the slab. Tensors copied from the parameters earlier are no longer its parameters.
  explicit ParamSlab(Module& module, const Sharding& sharding = {});

  const std::vector<Segment>& segments() const { return segments_; }
  const Tensor& params() const { return params_; }  // [size()], what the optimizer updates: for bf16 the masters
  // The bf16 parameters, which the model uses; undefined for f32 and f64.
  const Tensor& rounded() const { return rounded_; }
  const Tensor& grads() const { return grads_; }  // [size()], complete after fill_missing_grads()
  int64_t size() const { return params_.numel(); }
  // What the model uses: rounded(), or params().
  const Tensor& values() const { return rounded_.defined() ? rounded_ : params_; }
  // The stage of ZeRO, and its group, which is null in stage 0. All slab-shaped tensors have size() elements, but in
  // stages 1 to 3 this rank has memory only for what it holds (tensor/paged_memory.h).
  int zero() const { return sharding_.zero; }
  Comm* comm() const { return sharding_.comm; }
  // The ranges of the slab that are reduced one after the other: those of gradient_buckets(), but each begins at a
  // multiple of kShardUnit, so that the first elements of a parameter may belong to the bucket that comes next.
  const std::vector<Shard>& buckets() const { return buckets_; }
  // The elements that this rank updates: its shard of each bucket, in increasing order. [0, size()) in stage 0.
  const std::vector<Shard>& own() const { return own_; }
  DType dtype() const { return params_.dtype(); }
  // The part of a slab-shaped tensor that belongs to a segment, in the segment's shape.
  static Tensor view_of(const Tensor& slab, const Segment& segment);
  // A slab-shaped tensor of zeros.
  Tensor zeros() const;
  // Its parts, named `prefix` + segment name. In stages 1 to 3 those that this rank updates: tensors of rank 1 with the
  // elements [begin, end) of a parameter in row-major order, named "h.0.attn.c_attn.weight[16384:32768]".
  NamedTensors named_views(const Tensor& slab, const std::string& prefix) const;

  // The parameters, in the order of the segments.
  const std::vector<Tensor>& leaves() const { return leaves_; }

  // Backward writes gradients into this slab from now on. They have no values yet.
  void set_grad_memory(const Tensor& slab) const;
  // Lets the next backward overwrite every gradient; writes nothing now.
  void zero_grad() const;
  // Writes zeros for the parameters that have received no gradient since zero_grad(), where this rank updates them.
  void fill_missing_grads() const;
  // Rounds the masters into the model's bf16 parameters, where this rank updates them.
  void round_params() const;
  // After an update: in stages 1 and 2 every rank receives the parameters that the others have updated. A collective.
  void gather_params() const;
  // Sets the masters to the bf16 parameters if other code rewrote those (load_state_dict).
  void refresh_masters();
  // Must be called after the parameters were rewritten: it invalidates caches of packed weights.
  void bump_version();

 private:
  static Sharding settled(const Sharding& sharding);  // stage 0 without a group, for one rank
  void share_out(int64_t size, int64_t element_bytes);
  void allocate(int64_t size, DType dtype, Device device);
  void copy_own(const Tensor& to, const Tensor& from) const;

  Sharding sharding_;
  std::vector<Shard> buckets_, own_;
  Tensor params_, grads_, rounded_;
  uint64_t version_ = 0;  // version of the parameters that the masters match
  std::vector<Segment> segments_;
  std::vector<Tensor> leaves_;
};

// The sum of the squares of all gradients, f64 [1] on their device; missing gradients count as 0. In stages 1 to 3 of
// ZeRO these three are collectives, with the same bits as in stage 0.
Tensor squared_grad_norm(const ParamSlab& slab);
namespace detail {
// The squared norm of the gradients of all ranks; the smallest number of all ranks.
Tensor squared_norm_over_ranks(const ParamSlab& slab);
size_t least_over_ranks(const ParamSlab& slab, size_t number);
}  // namespace detail
// The square root of `squared_norm`. An Error names the first parameter with a gradient that is not finite.
double norm_of(const ParamSlab& slab, const Tensor& squared_norm);
// Global L2 norm of all gradients: norm_of(squared_grad_norm()).
double grad_norm(const ParamSlab& slab);
// The factor that scales a gradient with this norm to at most max_norm: min(1, max_norm / (norm + 1e-6)), as in
// PyTorch.
double clip_scale(double norm, double max_norm);
// Scales the gradients in place so that their global norm is at most max_norm; returns the norm before scaling.
// Optimizers can apply the factor themselves (grad_scale), which saves this pass.
double clip_grad_norm(const ParamSlab& slab, double max_norm);

}  // namespace pg
