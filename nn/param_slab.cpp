// All parameters in one block, all gradients in another; norm and clipping.
#include "nn/param_slab.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autograd/tape.h"
#include "tensor/kernels.h"

namespace pg {
namespace {

// The common elements of two ranges; none if begin >= end.
Shard common(const Shard& a, const Shard& b) { return {std::max(a.begin, b.begin), std::min(a.end, b.end)}; }

}  // namespace

ParamSlab::ParamSlab(Module& module, const Sharding& sharding) : sharding_(settled(sharding)) {
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
  check(zero() == 0 || device.on_host(), "ParamSlab: stage {} of ZeRO needs parameters on the CPU, they are on {}",
        zero(), to_string(device));
  share_out(end, static_cast<int64_t>(size_of(sum_type(dtype))));
  allocate(end, dtype, device);

  size_t next = 0;
  Visitor visitor([&](const std::string&, Tensor& parameter) {
    if (!parameter.requires_grad()) return;
    const Segment& segment = segments_[next++];
    Tensor moved = view_of(values(), segment);
    moved.copy_from(parameter.detach());
    moved.set_requires_grad();
    set_grad_buffer(moved, view_of(grads_, segment));
    parameter = moved;
    leaves_.push_back(moved);
  });
  module.visit(visitor);
  if (dtype == bf16) copy_own(params_, rounded_);
  if (zero() > 0) empty_cache(device);  // of the memory that the parameters have left
}

void ParamSlab::copy_own(const Tensor& to, const Tensor& from) const {
  for (const Shard& own : own_) to.view_slice(0, own.begin, own.end).copy_from(from.view_slice(0, own.begin, own.end));
}

void ParamSlab::round_params() const {
  if (rounded_.defined()) copy_own(rounded_, params_);
}

void ParamSlab::refresh_masters() {
  if (!rounded_.defined() || rounded_.storage()->version == version_) return;
  copy_own(params_, rounded_);
  version_ = rounded_.storage()->version;
}

void ParamSlab::bump_version() {
  Storage& storage = *values().storage();
  ++storage.writes;
  version_ = ++storage.version;
}

Tensor ParamSlab::view_of(const Tensor& slab, const Segment& segment) {
  return slab.view_slice(0, segment.begin, segment.end).view_reshape(segment.shape);
}

NamedTensors ParamSlab::named_views(const Tensor& slab, const std::string& prefix) const {
  NamedTensors result;
  for (const Segment& segment : segments_) {
    if (zero() == 0) {
      result.emplace_back(prefix + segment.name, view_of(slab, segment));
      continue;
    }
    for (const Shard& own : own_) {
      const Shard part = common(own, {segment.begin, segment.end});
      if (part.begin >= part.end) continue;
      result.emplace_back(
          fmt::format("{}{}[{}:{}]", prefix, segment.name, part.begin - segment.begin, part.end - segment.begin),
          slab.view_slice(0, part.begin, part.end));
    }
  }
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
    if (has_grad(leaves_[i])) continue;
    for (const Shard& own : own_) {
      const Shard part = common(own, {segments_[i].begin, segments_[i].end});
      if (part.begin < part.end) grads_.view_slice(0, part.begin, part.end).fill(0);
    }
  }
}

namespace {

Tensor sum_of_squares(const Tensor& x) {
  const Tensor sum = Tensor::empty({1}, f64, x.device());
  kernels(x.device()).sum_of_squares(sum, x);
  return sum;
}

// The first segment whose gradients are not finite, of those that this rank updates; the number of segments if there is
// none.
size_t first_not_finite(const ParamSlab& slab) {
  const auto& segments = slab.segments();
  for (size_t i = 0; i < segments.size(); ++i) {
    for (const Shard& own : slab.own()) {
      const Shard part = common(own, {segments[i].begin, segments[i].end});
      if (part.begin >= part.end) continue;
      if (!std::isfinite(sum_of_squares(slab.grads().view_slice(0, part.begin, part.end)).item())) return i;
    }
  }
  return segments.size();
}

}  // namespace

Tensor squared_grad_norm(const ParamSlab& slab) {
  slab.fill_missing_grads();
  return slab.zero() == 0 ? sum_of_squares(slab.grads()) : detail::squared_norm_over_ranks(slab);
}

double norm_of(const ParamSlab& slab, const Tensor& squared_norm) {
  const double norm = std::sqrt(squared_norm.item());
  if (std::isfinite(norm)) return norm;
  size_t first = first_not_finite(slab);
  if (slab.zero() > 0) first = detail::least_over_ranks(slab, first);
  check(first == slab.segments().size(),
        "grad_norm: the gradient of '{}' is not finite; lower the learning rate, or look at the loss and the data of "
        "this step",
        first < slab.segments().size() ? slab.segments()[first].name : "");
  return norm;
}

double grad_norm(const ParamSlab& slab) { return norm_of(slab, squared_grad_norm(slab)); }

double clip_scale(double norm, double max_norm) { return std::min(1.0, max_norm / (norm + 1e-6)); }

double clip_grad_norm(const ParamSlab& slab, double max_norm) {
  check(max_norm > 0, "clip_grad_norm: max_norm must be positive, got {}", max_norm);
  const double norm = grad_norm(slab);
  const double scale = clip_scale(norm, max_norm);
  for (const Shard& own : slab.own()) {
    const Tensor part = slab.grads().view_slice(0, own.begin, own.end);
    if (scale < 1) kernels(part.device()).unary(Unary::affine, part, part, {scale, 0});
  }
  return norm;
}

}  // namespace pg
