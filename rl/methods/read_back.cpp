// Reading results of a device with one wait.
#include "rl/methods/read_back.h"

#include "autograd/ops.h"

namespace pg::rl {

std::vector<Tensor> read_back(const std::vector<Tensor>& xs) {
  NoGrad no_grad;
  std::vector<Tensor> copies(xs.size());
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!xs[i].defined() || copies[i].defined()) continue;
    if (xs[i].device().on_host()) {
      copies[i] = xs[i].detach();
      continue;
    }
    std::vector<size_t> alike;
    std::vector<Tensor> flat;
    for (size_t k = i; k < xs.size(); ++k) {
      if (!xs[k].defined() || xs[k].device() != xs[i].device() || xs[k].dtype() != xs[i].dtype()) continue;
      alike.push_back(k);
      flat.push_back(reshape(xs[k].detach(), {xs[k].numel()}));
    }
    const Tensor all = cat(flat).to(Device{});
    int64_t begin = 0;
    for (const size_t k : alike) {
      copies[k] = all.view_slice(0, begin, begin + xs[k].numel()).view_reshape(xs[k].shape());
      begin += xs[k].numel();
    }
  }
  return copies;
}

}  // namespace pg::rl
