// All parameters in one block, all gradients in another; norm and clipping.
#include "nn/param_slab.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autograd/tape.h"

namespace pg {

constexpr int64_t kAlign = 256;  // elements

ParamSlab::ParamSlab(Module& module) {
  const NamedTensors parameters = trainable_parameters(module);
  check(!parameters.empty(), "ParamSlab: the module has no parameters that require a gradient");
  const DType dtype = parameters[0].second.dtype();
  const Device device = parameters[0].second.device();
  std::set<const GradNode*> seen;
  int64_t end = 0;
  for (const auto& [name, parameter] : parameters) {
    check(parameter.dtype() == dtype && is_floating(dtype),
          "ParamSlab: '{}' is {}, expected f32, f64 or bf16 and the {} of '{}'", name, parameter.dtype(), dtype,
          parameters[0].first);
    check(parameter.device() == device, "ParamSlab: '{}' is on {}, '{}' on {}; move the whole module with to()", name,
          to_string(parameter.device()), parameters[0].first, to_string(device));
    check(seen.insert(parameter.node().get()).second,
          "ParamSlab: '{}' was visited before under another name; visit a shared parameter once", name);
    const int64_t begin = (end + kAlign - 1) / kAlign * kAlign;
    end = begin + parameter.numel();
    segments_.push_back({name, parameter.shape(), begin, end, parameter.rank() >= 2});
  }
  params_ = Tensor::zeros({end}, sum_type(dtype), device);
  grads_ = zeros_like(params_);
  if (dtype == bf16) rounded_ = Tensor::zeros({end}, bf16, device);
  const Tensor& values = dtype == bf16 ? rounded_ : params_;

  size_t next = 0;
  Visitor visitor([&](const std::string&, Tensor& parameter) {
    if (!parameter.requires_grad()) return;
    const Segment& segment = segments_[next++];
    Tensor moved = view_of(values, segment);
    moved.copy_from(parameter.detach());
    moved.set_requires_grad();
    set_grad_buffer(moved, view_of(grads_, segment));
    parameter = moved;
    leaves_.push_back(moved);
  });
  module.visit(visitor);
  if (dtype == bf16) params_.copy_from(rounded_);
}

void ParamSlab::round_params() const {
  if (rounded_.defined()) rounded_.copy_from(params_);
}

void ParamSlab::refresh_masters() {
  if (!rounded_.defined() || rounded_.storage()->version == version_) return;
  params_.copy_from(rounded_);
  version_ = rounded_.storage()->version;
}

void ParamSlab::bump_version() {
  Storage& values = *(rounded_.defined() ? rounded_ : params_).storage();
  ++values.writes;
  version_ = ++values.version;
}

Tensor ParamSlab::view_of(const Tensor& slab, const Segment& segment) {
  return slab.view_slice(0, segment.begin, segment.end).view_reshape(segment.shape);
}

Tensor ParamSlab::zeros() const { return zeros_like(params_); }

NamedTensors ParamSlab::named_views(const Tensor& slab, const std::string& prefix) const {
  NamedTensors result;
  for (const Segment& segment : segments_) result.emplace_back(prefix + segment.name, view_of(slab, segment));
  return result;
}

void ParamSlab::set_grad_memory(const Tensor& slab) const {
  for (size_t i = 0; i < leaves_.size(); ++i) set_grad_buffer(leaves_[i], view_of(slab, segments_[i]));
}

void ParamSlab::zero_grad() const {
  for (const Tensor& leaf : leaves_) leaf.zero_grad();
}

void ParamSlab::fill_missing_grads() const {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (!has_grad(leaves_[i])) view_of(grads_, segments_[i]).fill(0);
  }
}

namespace {
Tensor sum_of_squares(const Tensor& x) {
  const Tensor sum = Tensor::empty({1}, f64, x.device());
  kernels(x.device()).sum_of_squares(sum, x);
  return sum;
}
}  // namespace

Tensor squared_grad_norm(const ParamSlab& slab) {
  slab.fill_missing_grads();
  return sum_of_squares(slab.grads());
}

double norm_of(const ParamSlab& slab, const Tensor& squared_norm) {
  const double norm = std::sqrt(squared_norm.item());
  if (std::isfinite(norm)) return norm;
  for (const auto& segment : slab.segments()) {
    const Tensor part = sum_of_squares(slab.grads().view_slice(0, segment.begin, segment.end));
    check(std::isfinite(part.item()),
          "grad_norm: the gradient of '{}' is not finite; lower the learning rate, or look at the loss and the data "
          "of this step",
          segment.name);
  }
  return norm;
}

double grad_norm(const ParamSlab& slab) { return norm_of(slab, squared_grad_norm(slab)); }

double clip_scale(double norm, double max_norm) { return std::min(1.0, max_norm / (norm + 1e-6)); }

double clip_grad_norm(const ParamSlab& slab, double max_norm) {
  check(max_norm > 0, "clip_grad_norm: max_norm must be positive, got {}", max_norm);
  const double norm = grad_norm(slab);
  const double scale = clip_scale(norm, max_norm);
  if (scale < 1) kernels(slab.grads().device()).unary(Unary::affine, slab.grads(), slab.grads(), {scale, 0});
  return norm;
}

}  // namespace pg
