// AdamW in one pass over parameters, gradients and both moment estimates; the formula is in tensor/adamw_update.h.
#include "tensor/adamw_update.h"
#include "tensor/cuda/base/array.h"
#include "tensor/cuda/base/kernels_cuda.h"
#include "tensor/cuda/base/scalar.h"

namespace pg::cuda {
namespace {

// rounded (may be null): p in bf16.
template <class T>
__global__ void adamw_kernel(T* p, const T* g, T* m, T* v, __nv_bfloat16* rounded, int64_t n, AdamWScalars scalars,
                             bool stochastic, bool aligned) {
  __shared__ AdamWUpdate<T> shared;  // computed by one thread: its f64 arithmetic is slow on most GPUs
  __shared__ bool ready;
  __shared__ uint64_t t;
  if (threadIdx.x == 0) {
    ready = scalars.read_device_scalars();
    shared = AdamWUpdate<T>(scalars);
    t = scalars.t;
  }
  __syncthreads();
  if (!ready) return;
  AdamWUpdate<T> update = shared;
  const T keep = update.keep;
  scalars.t = t;
  for (int64_t i = kPack * first_index(); i < n; i += kPack * index_step()) {
    update.keep = scalars.decays(i) ? keep : T(1);  // a pack is in one unit: `first` is a multiple of kPack
    T pi[kPack], gi[kPack], mi[kPack], vi[kPack];
    load_pack(pi, p, i, n, aligned);
    load_pack(gi, g, i, n, aligned);
    load_pack(mi, m, i, n, aligned);
    load_pack(vi, v, i, n, aligned);
    for (int k = 0; k < kPack; ++k) {
      Scalar<T> pk = pi[k], mk = mi[k], vk = vi[k];
      update(pk, Scalar<T>(gi[k]), mk, vk);
      pi[k] = pk.v, mi[k] = mk.v, vi[k] = vk.v;
    }
    store_pack(p, pi, i, n, aligned);
    store_pack(m, mi, i, n, aligned);
    store_pack(v, vi, i, n, aligned);
    if (!rounded) continue;
    if constexpr (std::is_same_v<T, float>) {
      if (stochastic) {
        uint32_t word[kPack];
        rounding_words(scalars, i, word);
        for (int k = 0; k < kPack; ++k)  // exact: the low half becomes 0, so that storing as bf16 does not round again
          pi[k] = std::bit_cast<float>(uint32_t{stochastic_bf16(pi[k], word[k])} << 16);
      }
    }
    store_pack(rounded, pi, i, n, aligned);
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
           rounded, n, AdamWScalars(args), args.stochastic_rounding, aligned);
  });
}

}  // namespace pg::cuda
