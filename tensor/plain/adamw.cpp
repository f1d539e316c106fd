// AdamW (Loshchilov and Hutter, arXiv:1711.05101), in the order of PyTorch's torch.optim.AdamW.
#include "tensor/adamw_update.h"
#include "tensor/plain/access.h"

namespace pg::plain {

// g' = grad_scale·g;  m = beta1·m + (1 - beta1)·g';  v = beta2·v + (1 - beta2)·g'²;
// p = (1 - lr·weight_decay)·p - lr/bias_correction1·m / (√v/√bias_correction2 + eps)
// In step t, bias_correction1 is 1 - beta1^t and bias_correction2 is 1 - beta2^t.
void adamw(const View& p, const View& g, const View& m, const View& v, const AdamWArgs& args) {
  AdamWScalars a(args);
  if (!a.read_device_scalars()) return;
  uint32_t words[4] = {};
  for (int64_t i = 0; i < p.numel(); ++i) {
    const double gradient = a.grad_scale * get(g, i);
    const double new_m = a.beta1 * get(m, i) + (1 - a.beta1) * gradient;
    const double new_v = a.beta2 * get(v, i) + (1 - a.beta2) * gradient * gradient;
    const double decayed_p = get(p, i) * (a.decays(i) ? 1 - a.lr * a.weight_decay : 1);
    const double rate = a.lr / a.bias_correction1;
    put(m, i, new_m);
    put(v, i, new_v);
    put(p, i, decayed_p - rate * new_m / (std::sqrt(new_v) / std::sqrt(a.bias_correction2) + a.eps));
    if (!args.rounded) continue;
    if (i % 4 == 0) rounding_words(a, i, words);
    if (args.stochastic_rounding) {
      args.rounded.as<BFloat16>()[i].bits = stochastic_bf16(static_cast<float>(get(p, i)), words[i % 4]);
    } else {
      put(args.rounded, i, get(p, i));
    }
  }
}

}  // namespace pg::plain
