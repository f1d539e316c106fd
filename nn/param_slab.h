#pragma once
// All parameters of a module in one block of memory, all gradients in a second of equal layout: the optimizer, the norm
// and the checkpoint each walk one array. bf16 parameters have f32 masters of the same layout, in which updates too
// small for bf16 add up (Micikevicius et al. 2018, arXiv:1710.03740), and f32 gradients.
#include <string>
#include <vector>

#include "nn/module.h"

namespace pg {

class ParamSlab {
 public:
  struct Segment {
    std::string name;
    Shape shape;
    int64_t begin = 0, end = 0;  // elements of the slab; gaps up to the next segment hold zeros
    bool decay = false;          // weight decay is for matrices (two or more dims), not for biases and norms
  };

  // Moves the parameters of `module` into the slab (their values stay) and gives each its piece of the gradient slab.
  // Each begins at a multiple of 256 elements. Error unless all have one floating dtype and one device. The module must
  // outlive the slab, and tensors copied from it earlier no longer are its parameters.
  explicit ParamSlab(Module& module);

  const std::vector<Segment>& segments() const { return segments_; }
  const Tensor& params() const { return params_; }  // [size()], what the optimizer updates: the masters of bf16
  // The bf16 parameters, from which the model computes; undefined for f32 and f64.
  const Tensor& rounded() const { return rounded_; }
  const Tensor& grads() const { return grads_; }  // [size()], complete after fill_missing_grads()
  int64_t size() const { return params_.numel(); }
  DType dtype() const { return params_.dtype(); }
  // The piece of a slab-shaped tensor that belongs to a segment, in its shape.
  static Tensor piece(const Tensor& slab, const Segment& segment);
  // A slab-shaped tensor of zeros, and its pieces as "prefix" + name.
  Tensor zeros() const;
  NamedTensors named_pieces(const Tensor& slab, const std::string& prefix) const;

  // The next backward overwrites every gradient; nothing is written now.
  void zero_grad() const;
  // Writes zeros for the parameters that received no gradient since zero_grad().
  void fill_missing_grads() const;
  // Rounds the masters into the model's bf16 parameters.
  void round_params() const;
  // Makes the masters equal to bf16 parameters that someone else rewrote (load_state_dict).
  void refresh_masters();
  // To be called after the parameters were rewritten: caches of packed weights notice.
  void bump_version();

 private:
  Tensor params_, grads_, rounded_;
  uint64_t version_ = 0;  // of the parameters that the masters match
  std::vector<Segment> segments_;
  std::vector<Tensor> leaves_;  // the parameters, in the order of the segments
};

// The sum of the squares of all gradients, f64 [1] beside them; those that are missing count as 0.
Tensor squared_grad_norm(const ParamSlab& slab);
// Its root. Error naming the first parameter with a gradient that is not finite.
double norm_of(const ParamSlab& slab, const Tensor& squared_norm);
// Global L2 norm of all gradients: both of the above.
double grad_norm(const ParamSlab& slab);
// The factor that brings a gradient of this norm down to max_norm: min(1, max_norm / (norm + 1e-6)), as in PyTorch.
double clip_scale(double norm, double max_norm);
// Scales the gradients in place so that their global norm is at most max_norm; returns the norm they had. Optimizers
// take the factor themselves (grad_scale) and save this pass.
double clip_grad_norm(const ParamSlab& slab, double max_norm);

}  // namespace pg
