// What a program of pg_core alone has in the place of the rest: the plain kernels instead of the CPU's, one rank, and
// an error for every variant of the model. The target policygrad has the real functions.
#include "autograd/int8_linear.h"
#include "autograd/leaf.h"
#include "nn/param_slab.h"
#include "nn/transformer.h"
#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tensor/kernels.h"

namespace pg {
namespace {

[[noreturn]] void not_here(std::string_view what) { fail("{}: pg_core alone has none; link policygrad", what); }

}  // namespace

const Kernels& cpu_kernels() { return plain_kernels(); }
const Kernels& host_kernels(bool) { return plain_kernels(); }

const Backend& cuda_backend() {
  static const Backend none = [] {
    Backend b{};
    b.kernels = [](int) -> const Kernels& { not_here("a GPU"); };
    b.device_count = [] { return 0; };
    b.why_none = [] { return std::string("pg_core alone has no GPU; link policygrad"); };
    return b;
  }();
  return none;
}

Tensor checkpoint(std::function<Tensor(const Tensor&)>, const Tensor&, std::shared_ptr<Generator>) {
  not_here("activation checkpointing");
}
void detail::CapturedLeaves::note(const Tensor&) {}
Tensor int8_linear(const Tensor&, const Int8Weight&, const Tensor&) { not_here("8-bit weights"); }
void check_variants(const TransformerConfig& c, std::string_view) {
  if (c.latent()) not_here("latent attention");
  if (c.lora.rank != 0) not_here("adapters");
}
std::unique_ptr<AttentionVariant> attention_variant(const TransformerConfig&) { return nullptr; }
void attach_adapters(Transformer&, Generator*) { not_here("adapters"); }
Tensor Transformer::hidden_cached(const Tensor&, const KvCache&) const { not_here("a KV cache"); }

Sharding ParamSlab::settled(const Sharding& sharding) {
  if (sharding.comm || sharding.zero != 0) not_here("ranks");
  return {};
}
void ParamSlab::share_out(int64_t size, int64_t) { own_ = buckets_ = {{0, size}}; }
void ParamSlab::gather_params() const {}
Tensor detail::squared_norm_over_ranks(const ParamSlab&) { not_here("ranks"); }
size_t detail::least_over_ranks(const ParamSlab&, size_t number) { return number; }
void ParamSlab::allocate(int64_t size, DType dtype, Device device) {
  params_ = Tensor::zeros({size}, sum_type(dtype), device);
  grads_ = zeros();
  if (dtype == bf16) rounded_ = Tensor::zeros({size}, bf16, device);
}
Tensor ParamSlab::zeros() const { return Tensor::zeros({size()}, dtype(), params_.device()); }

}  // namespace pg
