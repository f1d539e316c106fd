// What a slab of parameters does with the other ranks of its group: it shares out the state, gathers the parameters,
// and adds up norms.
#include <algorithm>

#include "nn/param_slab.h"
#include "nn/ranks/data_parallel.h"
#include "tensor/comm/comm.h"
#include "tensor/kernels.h"
#include "tensor/paged_memory.h"

namespace pg {

Sharding ParamSlab::settled(const Sharding& given) {
  check(given.zero >= 0 && given.zero <= 3, "ParamSlab: expected a stage of ZeRO from 0 to 3, got {}", given.zero);
  Sharding sharding = given;
  if (!given.comm || given.comm->size() == 1) sharding.zero = 0;
  if (sharding.zero == 0) sharding.comm = nullptr;
  return sharding;
}

namespace {

Tensor zeros_of(int64_t n, DType dtype, Device device, bool paged) {
  return paged ? paged_zeros({n}, dtype) : Tensor::zeros({n}, dtype, device);
}

}  // namespace

void ParamSlab::allocate(int64_t size, DType dtype, Device device) {
  const DType sums = sum_type(dtype);
  params_ = zeros_of(size, sums, device, zero() >= (dtype == bf16 ? 1 : 3));
  grads_ = zeros_of(size, sums, device, zero() >= 2);
  if (dtype == bf16) rounded_ = zeros_of(size, bf16, device, zero() >= 3);
  use_large_pages(grads_, 0, size);
  use_large_pages(values(), 0, size);
  for (const Shard& own : own_) use_large_pages(params_, own.begin, own.end);
}

Tensor ParamSlab::zeros() const {
  const Tensor slab = zeros_of(size(), dtype(), params_.device(), zero() >= 1);
  for (const Shard& own : own_) use_large_pages(slab, own.begin, own.end);
  return slab;
}

void ParamSlab::share_out(int64_t size, int64_t element_bytes) {
  int64_t end = size;
  for (const Shard& bucket : gradient_buckets(segments_, sharding_.bucket_bytes, element_bytes)) {
    const int64_t begin = (bucket.begin + kShardUnit - 1) / kShardUnit * kShardUnit;
    if (begin >= end) continue;
    buckets_.push_back({begin, end});
    end = begin;
  }
  own_.push_back({0, size});
  if (zero() == 0) return;
  own_.clear();
  for (auto bucket = buckets_.rbegin(); bucket != buckets_.rend(); ++bucket) {
    const Shard own = shard_of(bucket->size(), comm()->rank(), comm()->size(), kShardUnit);
    if (own.size() > 0) own_.push_back({bucket->begin + own.begin, bucket->begin + own.end});
  }
}

void ParamSlab::gather_params() const {
  if (zero() == 0 || zero() == 3) return;
  Comm::Ticket last = 0;
  for (const Shard& bucket : buckets_) {
    last = comm()->start_all_gather(values().view_slice(0, bucket.begin, bucket.end), kShardUnit);
  }
  comm()->wait(last);
}

// The kernel adds up the sums of kShardUnit elements in their order. Each rank computes those of its shards.
Tensor detail::squared_norm_over_ranks(const ParamSlab& slab) {
  const int64_t n = slab.size(), units = (n + kShardUnit - 1) / kShardUnit;
  const Tensor sums = Tensor::zeros({units}, f64);
  const Tensor one = Tensor::empty({1}, f64);
  const auto sum_of = sums.data<double>();
  for (const Shard& own : slab.own()) {
    for (int64_t begin = own.begin; begin < own.end; begin += kShardUnit) {
      const Tensor unit = slab.grads().view_slice(0, begin, std::min(begin + kShardUnit, own.end));
      kernels(unit.device()).sum_of_squares(one, unit);
      sum_of[static_cast<size_t>(begin / kShardUnit)] = one.item();
    }
  }
  slab.comm()->all_reduce(sums);
  double total = 0;
  for (const double sum : sums.data<const double>()) total += sum;
  return Tensor::full({1}, total, f64);
}

size_t detail::least_over_ranks(const ParamSlab& slab, size_t number) {
  const Tensor all = Tensor::zeros({slab.comm()->size()}, f64);
  all.data<double>()[static_cast<size_t>(slab.comm()->rank())] = static_cast<double>(number);
  slab.comm()->all_gather(all);
  const auto of_ranks = all.data<const double>();
  return static_cast<size_t>(*std::min_element(of_ranks.begin(), of_ranks.end()));
}

}  // namespace pg
