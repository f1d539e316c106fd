// AdamW: one pass over parameters p, gradients g and the running means m of g and v of g².
//   p -= lr·weight_decay·p        g' = grad_scale·g
//   m = beta1·m + (1 - beta1)·g'  v = beta2·v + (1 - beta2)·g'²
//   p -= lr/bias_correction1 · m / (sqrt(v)/sqrt(bias_correction2) + eps)
// Loshchilov and Hutter, arXiv:1711.05101, in the order of PyTorch's torch.optim.AdamW.
#include <cmath>

#include "tensor/cuda/kernels_cuda.h"
#include "tensor/cuda/pack.h"

namespace pg::cuda {
namespace {

template <class T>
struct Update {
  T keep, grad_scale, one_minus_beta1, beta2, one_minus_beta2, root_scale, eps, step;
  explicit Update(const AdamWArgs& a)
      : keep(static_cast<T>(1 - a.lr * a.weight_decay)),
        grad_scale(static_cast<T>(a.grad_scale)),
        one_minus_beta1(static_cast<T>(1 - a.beta1)),
        beta2(static_cast<T>(a.beta2)),
        one_minus_beta2(static_cast<T>(1 - a.beta2)),
        root_scale(static_cast<T>(1 / std::sqrt(a.bias_correction2))),
        eps(static_cast<T>(a.eps)),
        step(static_cast<T>(a.lr / a.bias_correction1)) {}

  __device__ void operator()(T& p, T g, T& m, T& v) const {
    g *= grad_scale;
    m = ::fma(g - m, one_minus_beta1, m);
    v = ::fma(g * one_minus_beta2, g, v * beta2);
    const T denominator = ::fma(::sqrt(v), root_scale, eps);
    p = p * keep - m / denominator * step;
  }
};

// rounded?: p in bf16.
template <class T>
__global__ void adamw_kernel(T* p, const T* g, T* m, T* v, __nv_bfloat16* rounded, int64_t n, Update<T> update,
                             bool aligned) {
  for (int64_t i = kPack * first_index(); i < n; i += kPack * index_step()) {
    T pi[kPack], gi[kPack], mi[kPack], vi[kPack];
    load_pack(pi, p, i, n, aligned);
    load_pack(gi, g, i, n, aligned);
    load_pack(mi, m, i, n, aligned);
    load_pack(vi, v, i, n, aligned);
    for (int k = 0; k < kPack; ++k) update(pi[k], gi[k], mi[k], vi[k]);
    store_pack(p, pi, i, n, aligned);
    store_pack(m, mi, i, n, aligned);
    store_pack(v, vi, i, n, aligned);
    if (rounded) store_pack(rounded, pi, i, n, aligned);
  }
}

}  // namespace

void adamw(const View& p, const View& g, const View& m, const View& v, const AdamWArgs& args) {
  if (g.dtype != p.dtype) fail_pair("adamw", p.dtype, g.dtype);
  visit_floating(p.dtype, "adamw", [&]<class T>(std::type_identity<T>) {
    const int64_t n = p.numel();
    auto* rounded = data_of<BFloat16>(args.rounded);
    const bool aligned = aligned_for_packs(p.as<T>(), g.as<T>(), m.as<T>(), v.as<T>(), rounded);
    launch(adamw_kernel<T>, blocks_for(packs_of(n)), kThreads, 0, stream(), p.as<T>(), g.as<T>(), m.as<T>(), v.as<T>(),
           rounded, n, Update<T>(args), aligned);
  });
}

}  // namespace pg::cuda
