#include "nn/ranks/data_parallel.h"

#include "autograd/ops.h"
#include "autograd/tape.h"

namespace pg {

Tensor token_weighted_mean(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens) {
  check(means.size() == tokens.size(), "token_weighted_mean: {} means, {} counts of tokens", means.size(),
        tokens.size());
  NoGrad no_grad;
  int64_t total = 0;
  Tensor sum;
  for (size_t r = 0; r < means.size(); ++r) {
    check(tokens[r] >= 0, "token_weighted_mean: rank {} has {} tokens", r, tokens[r]);
    if (tokens[r] == 0) continue;
    total += tokens[r];
    const Tensor term = means[r] * static_cast<double>(tokens[r]);
    sum = sum.defined() ? sum + term : term;
  }
  check(total > 0, "token_weighted_mean: no rank has a token");
  return sum / static_cast<double>(total);
}

void all_reduce_token_mean(Comm& comm, const Tensor& mean, int64_t tokens) {
  NoGrad no_grad;
  const Tensor total = Tensor::full({1}, static_cast<double>(tokens), f64).to(comm.device());
  comm.all_reduce(total);
  check(total.item() > 0, "all_reduce_token_mean: no rank has a token");
  if (tokens == 0) {
    mean.fill(0);
  } else {
    mean.copy_from(mean * static_cast<double>(tokens));
  }
  comm.all_reduce(mean);
  mean.copy_from(mean / total.item());
}

std::vector<Shard> gradient_buckets(const std::vector<ParamSlab::Segment>& segments, int64_t least_bytes,
                                    int64_t element_bytes) {
  check(least_bytes >= 0 && element_bytes >= 1, "gradient_buckets: {} bytes of elements of {} bytes", least_bytes,
        element_bytes);
  std::vector<Shard> buckets;
  if (segments.empty()) return buckets;
  int64_t end = segments.back().end;
  for (size_t i = segments.size(); i-- > 0;) {
    const int64_t begin = i == 0 ? 0 : segments[i].begin;
    if (i > 0 && (end - begin) * element_bytes < least_bytes) continue;
    buckets.push_back({begin, end});
    end = begin;
  }
  return buckets;
}

}  // namespace pg
