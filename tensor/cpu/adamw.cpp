// AdamW: one pass over parameters p, gradients g and the running means m of g and v of g².
//   p -= lr·weight_decay·p        g' = grad_scale·g
//   m = beta1·m + (1 - beta1)·g'  v = beta2·v + (1 - beta2)·g'²
//   p -= lr/bias_correction1 · m / (sqrt(v)/sqrt(bias_correction2) + eps)
// Loshchilov and Hutter, arXiv:1711.05101, in the order of PyTorch's torch.optim.AdamW.
#include <cmath>

#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/vec_bf16.h"
#include "tensor/parallel.h"

namespace pg::cpu {

namespace {

using simd::Vec;

template <class T>
struct Update {
  T keep, grad_scale, beta1, one_minus_beta1, beta2, one_minus_beta2, root_scale, eps, step;
  explicit Update(const AdamWArgs& a)
      : keep(static_cast<T>(1 - a.lr * a.weight_decay)),
        grad_scale(static_cast<T>(a.grad_scale)),
        beta1(static_cast<T>(a.beta1)),
        one_minus_beta1(static_cast<T>(1 - a.beta1)),
        beta2(static_cast<T>(a.beta2)),
        one_minus_beta2(static_cast<T>(1 - a.beta2)),
        root_scale(static_cast<T>(1 / std::sqrt(a.bias_correction2))),
        eps(static_cast<T>(a.eps)),
        step(static_cast<T>(a.lr / a.bias_correction1)) {}

  void operator()(Vec<T>& p, Vec<T> g, Vec<T>& m, Vec<T>& v) const {
    g *= Vec<T>(grad_scale);
    m = fma(g - m, one_minus_beta1, m);
    v = fma(g * one_minus_beta2, g, v * beta2);
    const Vec<T> denominator = fma(simd::sqrt(v), root_scale, eps);
    p = p * keep - m / denominator * step;
  }
};

}  // namespace

void adamw(const View& p, const View& g, const View& m, const View& v, const AdamWArgs& args) {
  visit_floating(p.dtype, "adamw", [&]<class T>(std::type_identity<T>) {
    constexpr int size = Vec<T>::size;
    // 16 K elements: about 20 µs, and the four arrays of a chunk fit in L2.
    parallel_for(p.numel(), 16384, [&](int64_t begin, int64_t end) {
      // Locals: stores to the arrays cannot change them.
      const Update<T> update(args);
      T *pp = p.as<T>(), *mp = m.as<T>(), *vp = v.as<T>();
      const T* gp = g.as<T>();
      for (int64_t i = begin; i < end; i += size) {
        const int64_t n = end - i;
        const auto at = [&](const T* x) { return n >= size ? simd::load(x + i) : simd::load(x + i, n); };
        const auto put = [&](T* x, Vec<T> y) { n >= size ? store(x + i, y) : store(x + i, y, n); };
        Vec<T> pi = at(pp), mi = at(mp), vi = at(vp);
        update(pi, at(gp), mi, vi);
        put(pp, pi);
        put(mp, mi);
        put(vp, vi);
      }
      if constexpr (std::is_same_v<T, float>) {  // while the chunk is in L2
        if (args.rounded) simd::convert(args.rounded.as<BFloat16>() + begin, pp + begin, end - begin);
      }
    });
  });
}

}  // namespace pg::cpu
