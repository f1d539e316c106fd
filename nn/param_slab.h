#pragma once
// All trainable parameters of a module in one block of memory, all gradients in a second block with equal layout: the
// optimizer, the norm and the checkpoint each walk one array. bf16 parameters have f32 masters with that layout, in
// which updates too small for bf16 accumulate (Micikevicius et al. 2018, arXiv:1710.03740), and f32 gradients.
#include <string>
#include <vector>

#include "nn/module.h"

namespace pg {

// The ranks that share out a slab get multiples of so many elements: sums over a slab are made of partial sums of them.
inline constexpr int64_t kShardUnit = 16384;

class ParamSlab {
 public:
  struct Segment {
    std::string name;
    Shape shape;
    int64_t begin = 0, end = 0;  // element range in the slab; gaps up to the next segment hold zeros
    bool decay = false;          // weight decay applies to matrices (two or more dims), not to biases and norms
  };

  // Moves the parameters of `module` that require a gradient into the slab (their values stay) and gives each its part
  // of the gradient slab; the others stay where they are. Each begins at a multiple of 256 elements. Error if there are
  // none, and unless all have one floating dtype and one device. The module must outlive the slab. Tensors copied from
  // the parameters earlier are no longer its parameters.
  explicit ParamSlab(Module& module);

  const std::vector<Segment>& segments() const { return segments_; }
  const Tensor& params() const { return params_; }  // [size()], what the optimizer updates: for bf16 the masters
  // The bf16 parameters, which the model uses; undefined for f32 and f64.
  const Tensor& rounded() const { return rounded_; }
  const Tensor& grads() const { return grads_; }  // [size()], complete after fill_missing_grads()
  int64_t size() const { return params_.numel(); }
  DType dtype() const { return params_.dtype(); }
  // The part of a slab-shaped tensor that belongs to a segment, in the segment's shape.
  static Tensor view_of(const Tensor& slab, const Segment& segment);
  // A slab-shaped tensor of zeros, and its parts, named `prefix` + segment name.
  Tensor zeros() const;
  NamedTensors named_views(const Tensor& slab, const std::string& prefix) const;

  // The parameters, in the order of the segments.
  const std::vector<Tensor>& leaves() const { return leaves_; }

  // Backward writes gradients into this slab from now on. They have no values yet.
  void set_grad_memory(const Tensor& slab) const;
  // Lets the next backward overwrite every gradient; writes nothing now.
  void zero_grad() const;
  // Writes zeros for the parameters that have received no gradient since zero_grad().
  void fill_missing_grads() const;
  // Rounds the masters into the model's bf16 parameters.
  void round_params() const;
  // Sets the masters to the bf16 parameters if other code rewrote those (load_state_dict).
  void refresh_masters();
  // Must be called after the parameters were rewritten: it invalidates caches of packed weights.
  void bump_version();

 private:
  Tensor params_, grads_, rounded_;
  uint64_t version_ = 0;  // version of the parameters that the masters match
  std::vector<Segment> segments_;
  std::vector<Tensor> leaves_;
};

// The sum of the squares of all gradients, f64 [1] on their device; missing gradients count as 0.
Tensor squared_grad_norm(const ParamSlab& slab);
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
